package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/faults"
	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/report/stalls"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// chartLines and chartPerNine bound the data of a chart.
const (
	chartLines   = 16
	chartPerNine = 20
)

// Charts returns the data of the plots that show percentiles or time series, for the run or the
// soak in the folder in. Like the page, they have no figures if the verdict is incorrect. For other
// kinds of measurements it returns none.
func Charts(in string) ([]plots.Chart, error) {
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
	all = append(all, seriesChart(r, rateSeries), seriesChart(r, diskSeries), seriesChart(r, memorySeries), faultsChart(r), stallsChart(r))
	var drawn []plots.Chart
	for _, c := range all {
		if len(c.Lines) > 0 {
			c.Lines = c.Lines[:min(len(c.Lines), chartLines)]
			drawn = append(drawn, c)
		}
	}
	return drawn, nil
}

// newChart returns an empty chart of a plot of r.
func newChart(r *result.Result, plot, title, x, y string) plots.Chart {
	return plots.Chart{
		Plot: result.Slug(r.Scenario) + plot + ".svg", XLabel: x, YLabel: y,
		Title: fmt.Sprintf("%s: %s, durability %s%s", r.Scenario, title, r.Manifest.Durability(), runs.WithInvalid(r)),
	}
}

// latencyCharts returns the percentiles of the merged timed rounds: of each kind of latency, or of
// each point's cycles, and of each workload's.
func latencyCharts(r *result.Result, hists []result.RoundHistograms) ([]plots.Chart, error) {
	var charts []plots.Chart
	for _, of := range []struct {
		plot, title string
		curves      func(*result.Result, []result.RoundHistograms) ([]curve, error)
	}{{"-latency", "latency by percentile", latencyCurves}, {"-workloads", "cycle latency of each workload", workloadCurves}} {
		c := newChart(r, of.plot, of.title, "percentile", "latency (ms)")
		c.Nines = true
		curves, err := of.curves(r, hists)
		if err != nil && !errors.Is(err, plots.ErrNothing) {
			return nil, err
		}
		for _, curve := range curves {
			points, err := curve.points(chartPerNine)
			if err != nil {
				return nil, err
			}
			if len(points) == 0 {
				continue
			}
			line := plots.Line{
				Name: curve.name, Samples: uint64(curve.histogram.TotalCount()), Step: 1.0 / chartPerNine, Last: plots.Value(points[len(points)-1].X),
			}
			for _, p := range points {
				line.Y = append(line.Y, plots.Value(p.Y))
			}
			c.Lines = append(c.Lines, line)
		}
		charts = append(charts, c)
	}
	return charts, nil
}

// seriesChart returns a quantity of the timed rounds over their windows. If only one round has
// samples, its flushes and compactions are added.
func seriesChart(r *result.Result, s seriesKind) plots.Chart {
	c := newChart(r, s.plot, s.title, "time in the window (s)", s.label)
	for _, round := range r.Rounds {
		if len(round.Series) == 0 {
			continue
		}
		line := plots.Line{Name: fmt.Sprintf("round %d", round.Number)}
		if len(r.Points) > 0 {
			line.Name += ", " + runs.PointName(r, round.Point)
		}
		for _, sample := range round.Series {
			line.X, line.Y = append(line.X, plots.Value(sample.AtS)), append(line.Y, plots.Value(s.of(sample)))
		}
		c.Lines = append(c.Lines, line)
		c.Bands = workBands(round)
	}
	if len(c.Lines) > 1 {
		c.Bands = nil
	}
	return c
}

// faultsChart returns the rate of the round that faultsPlot draws, with its faults and the
// background work of the stores.
func faultsChart(r *result.Result) plots.Chart {
	c := newChart(r, "-faults", "cycles per second under faults", "time in the window (s)", "cycles per second (1/s)")
	round, found := faults.Shown(r)
	if !found {
		return c
	}
	f := round.Faults
	line := plots.Line{Name: fmt.Sprintf("round %d", round.Number), From: plots.Value(f.SlotS / 2), Step: plots.Value(f.SlotS)}
	for _, cycles := range f.Cycles {
		line.Y = append(line.Y, plots.Value(cycles/f.SlotS))
	}
	c.Lines = append(c.Lines, line)
	for _, e := range f.Events {
		name := fmt.Sprintf("%s %s", e.Kind, strings.Join(e.Nodes, ", "))
		c.Bands = append(c.Bands, plots.Band{Kind: "fault", Name: strings.TrimSpace(name), From: plots.Value(e.BeganS), To: plots.Value(e.HealedS)})
	}
	c.Bands = append(c.Bands, workBands(round)...)
	return c
}

// stallsChart returns the slow commits of the round that stallsPlot draws.
func stallsChart(r *result.Result) plots.Chart {
	listed := stalls.Slowest(r)
	if len(listed) == 0 {
		return plots.Chart{}
	}
	worst := *listed[0].Round
	c := newChart(r, "-stalls", fmt.Sprintf("slow commits of round %d", worst.Number), "time in the window (s)", "time of a commit (ms)")
	c.Dots = true
	line := plots.Line{Name: fmt.Sprintf("a commit of more than %s ms, at its start", render.Number(worst.Stalls.SlowMs))}
	for _, commit := range worst.Stalls.Commits {
		line.X, line.Y = append(line.X, plots.Value(commit.AtS)), append(line.Y, plots.Value(commit.Ms))
		line.Notes = append(line.Notes, fmt.Sprintf("shard %s: %s", stalls.Place(commit), stalls.Parts(commit)))
	}
	c.Lines = []plots.Line{line}
	c.Bands = workBands(worst)
	return c
}

// workBands returns the flushes and compactions of a round.
func workBands(round result.Round) (bands []plots.Band) {
	if round.Stalls == nil {
		return nil
	}
	for _, w := range round.Stalls.Work {
		if w.Kind != "flush" && w.Kind != "compaction" {
			continue
		}
		name := fmt.Sprintf("%s of store %s", w.Kind, strings.TrimPrefix(w.Node+"/"+w.Store, "/"))
		from, to := max(0, w.AtS), min(round.WindowSeconds, w.AtS+w.Ms/1e3)
		bands = append(bands, plots.Band{Kind: w.Kind, Name: name, From: plots.Value(from), To: plots.Value(to)})
	}
	return bands
}

// soakCharts returns the figures of a soak over its measured time.
func soakCharts(s *result.Soak) (all []plots.Chart) {
	if s.Verdict == result.Incorrect {
		return nil
	}
	for _, of := range scenario.SoakFigures {
		if c := soakChart(s, of); len(c.Lines[0].Y) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// perMinute is the number of seconds of the unit of a soak's time axis.
const perMinute = 60

func soakChart(s *result.Soak, of string) plots.Chart {
	label := soakTitles[of]
	line := plots.Line{Name: label.title}
	for _, point := range s.Points {
		if value, has := point.Figures[of]; has {
			line.X, line.Y = append(line.X, plots.Value(point.AtS/perMinute)), append(line.Y, plots.Value(value))
		}
	}
	return plots.Chart{
		Plot:   fmt.Sprintf("%s-%s.svg", result.Slug(s.Scenario), strings.ReplaceAll(of, "_", "-")),
		Title:  fmt.Sprintf("%s: %s, durability %s", s.Scenario, label.title, s.Manifest.Durability()),
		XLabel: "measured time (minutes)", YLabel: label.label, Lines: []plots.Line{line},
	}
}
