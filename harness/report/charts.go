package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

// Chart is the data of a page's plot, for readers who need the values and for documents that draw
// it again.
type Chart struct {
	Plot   string // file name of the plot on the page
	Title  string
	XLabel string
	YLabel string
	Nines  bool // the x axis has percentiles at stat.Nines, the y axis is logarithmic
	Dots   bool // the points of a line are not connected
	Lines  []ChartLine
	Bands  []ChartBand
}

// ChartLine is one line. Point i is at From + i*Step if Step is above 0, and at X[i] otherwise; the
// last point is at Last if that is above 0.
type ChartLine struct {
	Name             string
	Samples          uint64 // number of samples of a percentile curve
	From, Step, Last float64
	X, Y             []float64
	Notes            []string // one for each point; nil if no point has one
}

// ChartBand is a time range with concurrent activity.
type ChartBand struct {
	Kind     string // "fault", "flush" or "compaction"
	Name     string
	From, To float64
}

// chartLines and chartPerNine bound the data of a chart.
const (
	chartLines   = 16
	chartPerNine = 20
)

// Charts returns the data of the plots that show percentiles or time series, for the run or the
// soak in the folder in. Like the page, they have no figures if the verdict is incorrect. For other
// kinds of measurements it returns none.
func Charts(in string) ([]Chart, error) {
	if soaked, err := result.IsSoak(in); err != nil || soaked {
		if err != nil {
			return nil, fmt.Errorf("read charts: %w", err)
		}
		s, err := result.ReadSoak(in)
		if err != nil {
			return nil, fmt.Errorf("read charts: %w", err)
		}
		return soakCharts(s), nil
	}
	if exists, err := result.Exists(in, result.ResultFile); err != nil || !exists {
		return nil, err
	}
	r, hists, err := result.Read(in)
	if err != nil {
		return nil, fmt.Errorf("read charts: %w", err)
	}
	if r.Verdict == result.Incorrect {
		return nil, nil
	}
	all, err := latencyCharts(r, hists)
	if err != nil {
		return nil, fmt.Errorf("read charts of %s: %w", in, err)
	}
	all = append(all, seriesCharts(r)...)
	all = append(all, faultsChart(r), stallsChart(r))
	var drawn []Chart
	for _, c := range all {
		if len(c.Lines) > 0 {
			c.Lines = c.Lines[:min(len(c.Lines), chartLines)]
			drawn = append(drawn, c)
		}
	}
	return drawn, nil
}

// newChart returns an empty chart of a plot of r.
func newChart(r *result.Result, plot, title, x, y string) Chart {
	return Chart{
		Plot: result.Slug(r.Scenario) + plot + ".svg", XLabel: x, YLabel: y,
		Title: fmt.Sprintf("%s: %s, durability %s%s", r.Scenario, title, r.Manifest.Durability(), withInvalid(r)),
	}
}

// latencyCharts returns the percentiles of the merged timed rounds: of each kind of latency, or of
// each point's cycles, and of each workload's.
func latencyCharts(r *result.Result, hists []result.RoundHistograms) ([]Chart, error) {
	latency := newChart(r, "-latency", "latency by percentile", "percentile", "latency (ms)")
	latency.Nines = true
	workloads := newChart(r, "-workloads", "cycle latency of each workload", "percentile", "latency (ms)")
	workloads.Nines = true
	var err error
	for _, c := range workloadCurves(r, hists) {
		err = errors.Join(err, workloads.curve(c.name, c.cycle))
	}
	if len(r.Points) > 0 {
		for _, point := range r.Points {
			err = errors.Join(err, latency.curve(point.Name, func() (*hdrhistogram.Histogram, error) {
				merged, err := mergeTimed(r.Rounds, hists, point.Number)
				return merged.Cycle, err
			}))
		}
		return []Chart{latency, workloads}, err
	}
	merged, err := mergeTimed(r.Rounds, hists, 0)
	if errors.Is(err, errNothingToPlot) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, kind := range merged.Kinds() {
		name := curveStyles[kind.Name].name
		if merged.Slip != nil && openNames[kind.Name] != "" {
			name = openNames[kind.Name]
		}
		err = errors.Join(err, latency.curve(name, func() (*hdrhistogram.Histogram, error) { return kind.Histogram, nil }))
	}
	return []Chart{latency, workloads}, err
}

// curve adds the percentiles of a histogram in nanoseconds, if it has samples.
func (c *Chart) curve(name string, of func() (*hdrhistogram.Histogram, error)) error {
	h, err := of()
	if errors.Is(err, errNothingToPlot) || err == nil && (h == nil || h.TotalCount() == 0) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	points, err := stat.Curve(h, chartPerNine)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	line := ChartLine{
		Name: name, Samples: uint64(h.TotalCount()), Step: 1.0 / chartPerNine, Last: points[len(points)-1].Nines,
	}
	for _, p := range points {
		line.Y = append(line.Y, max(p.Value/1e6, measurableMs))
	}
	c.Lines = append(c.Lines, line)
	return nil
}

// seriesCharts returns the series of the timed rounds over their windows. If only one round has
// samples, its flushes and compactions are added.
func seriesCharts(r *result.Result) []Chart {
	var all []Chart
	for _, s := range []struct {
		plot string
		seriesKind
	}{{"-series-rate", rateSeries}, {"-series-disk", diskSeries}, {"-series-memory", memorySeries}} {
		c := newChart(r, s.plot, s.title, "time in the window (s)", s.label)
		for _, round := range r.Rounds {
			if len(round.Series) == 0 {
				continue
			}
			line := ChartLine{Name: fmt.Sprintf("round %d", round.Number)}
			if len(r.Points) > 0 {
				line.Name += ", " + pointName(r, round.Point)
			}
			for _, sample := range round.Series {
				line.X, line.Y = append(line.X, sample.AtS), append(line.Y, s.of(sample))
			}
			c.Lines = append(c.Lines, line)
			c.Bands = workBands(round)
		}
		if len(c.Lines) > 1 {
			c.Bands = nil
		}
		all = append(all, c)
	}
	return all
}

// faultsChart returns the rate of the round that faultsPlot draws, with its faults and the
// background work of the stores.
func faultsChart(r *result.Result) Chart {
	c := newChart(r, "-faults", "cycles per second under faults", "time in the window (s)", "cycles per second (1/s)")
	for _, round := range r.Rounds {
		f := round.Faults
		if f == nil || !round.Timed() || len(f.Cycles) == 0 || f.SlotS <= 0 {
			continue
		}
		line := ChartLine{Name: fmt.Sprintf("round %d", round.Number), From: f.SlotS / 2, Step: f.SlotS}
		for _, cycles := range f.Cycles {
			line.Y = append(line.Y, cycles/f.SlotS)
		}
		c.Lines = append(c.Lines, line)
		for _, e := range f.Events {
			name := fmt.Sprintf("%s %s", e.Kind, strings.Join(e.Nodes, ", "))
			c.Bands = append(c.Bands, ChartBand{Kind: "fault", Name: strings.TrimSpace(name), From: e.BeganS, To: e.HealedS})
		}
		c.Bands = append(c.Bands, workBands(round)...)
		break
	}
	return c
}

// stallsChart returns the slow commits of the round that stallsPlot draws.
func stallsChart(r *result.Result) Chart {
	listed := slowest(r)
	if len(listed) == 0 {
		return Chart{}
	}
	worst := *listed[0].round
	c := newChart(r, "-stalls", fmt.Sprintf("slow commits of round %d", worst.Number), "time in the window (s)", "time of a commit (ms)")
	c.Dots = true
	line := ChartLine{Name: fmt.Sprintf("a commit of more than %s ms, at its start", render.Number(worst.Stalls.SlowMs))}
	for _, commit := range worst.Stalls.Commits {
		line.X, line.Y = append(line.X, commit.AtS), append(line.Y, commit.Ms)
		line.Notes = append(line.Notes, fmt.Sprintf("shard %s: %s", StallPlace(commit), StallParts(commit)))
	}
	c.Lines = []ChartLine{line}
	c.Bands = workBands(worst)
	return c
}

// workBands returns the flushes and compactions of a round.
func workBands(round result.Round) (bands []ChartBand) {
	if round.Stalls == nil {
		return nil
	}
	for _, w := range round.Stalls.Work {
		if w.Kind != "flush" && w.Kind != "compaction" {
			continue
		}
		name := fmt.Sprintf("%s of store %s", w.Kind, strings.TrimPrefix(w.Node+"/"+w.Store, "/"))
		from, to := max(0, w.AtS), min(round.WindowSeconds, w.AtS+w.Ms/1e3)
		bands = append(bands, ChartBand{Kind: w.Kind, Name: name, From: from, To: to})
	}
	return bands
}

// soakCharts returns the figures of a soak over its measured time.
func soakCharts(s *result.Soak) (all []Chart) {
	if s.Verdict == result.Incorrect {
		return nil
	}
	for _, of := range scenario.SoakFigures {
		label := soakTitles[of]
		line := ChartLine{Name: label.title}
		const perMinute = 60
		for _, point := range s.Points {
			if value, has := point.Figures[of]; has {
				line.X, line.Y = append(line.X, point.AtS/perMinute), append(line.Y, value)
			}
		}
		if len(line.Y) == 0 {
			continue
		}
		all = append(all, Chart{
			Plot:   fmt.Sprintf("%s-%s.svg", result.Slug(s.Scenario), strings.ReplaceAll(of, "_", "-")),
			Title:  fmt.Sprintf("%s: %s, durability %s", s.Scenario, label.title, s.Manifest.Durability()),
			XLabel: "measured time (minutes)", YLabel: label.label, Lines: []ChartLine{line},
		})
	}
	return all
}
