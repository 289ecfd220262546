package report

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const (
	// dataDir has a folder for each page, below the folder of all reports.
	dataDir = "data"
	// pagesDir has these pages, below the same folder.
	pagesDir = "scenarios"
	// earlierDir is a subfolder of a page's data with the results of replaced runs: <run>.json,
	// without rounds, profiles, locks and causes.
	earlierDir = "earlier"
)

// measurement is one run of some work: a run without a sweep, or a point of a run with one.
type measurement struct {
	*result.Result
	work    string // the work with its settings: scenario.Work
	point   string // name of the point; "" without a sweep
	metrics map[string]result.Metric
}

// measurements returns the publishable measurements of a run that have a rate.
func measurements(r *result.Result) (all []measurement) {
	add := func(point result.Point) {
		var values []scenario.Value
		for _, v := range point.Values {
			values = append(values, scenario.Value{Path: v.Path, Text: v.Text})
		}
		if _, found := point.Metrics[result.CyclesPerS]; found {
			all = append(all, measurement{r, r.Manifest.Scenario.Work(values), point.Name, point.Metrics})
		}
	}
	if r.Verdict == result.Incorrect || r.Verdict == result.Invalid {
		return nil
	}
	if len(r.Points) == 0 {
		add(result.Point{Metrics: r.Metrics})
	}
	for _, point := range r.Points {
		add(point)
	}
	return all
}

// measurementsBeside returns the measurements of all runs that are published in the same place as
// the one in the folder in, by time. It returns nothing for a run folder.
func (x *Renderer) measurementsBeside(in string) ([]measurement, error) {
	folder, err := filepath.Abs(in)
	if err != nil {
		return nil, fmt.Errorf("find the data beside %s: %w", in, err)
	}
	if filepath.Base(filepath.Dir(folder)) != dataDir {
		return nil, nil
	}
	folder = filepath.Dir(folder)
	if known, has := x.published[folder]; has {
		return known, nil
	}
	var files []string
	for _, pattern := range []string{filepath.Join("*", result.ResultFile), filepath.Join("*", earlierDir, "*.json")} {
		found, err := result.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	var all []measurement
	for _, file := range files {
		r, err := result.ReadResult(file)
		if err != nil {
			return nil, err
		}
		withoutParts(r)
		all = append(all, measurements(r)...)
	}
	slices.SortStableFunc(all, func(a, b measurement) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Run, b.Run))
	})
	if x.published == nil {
		x.published = map[string][]measurement{}
	}
	x.published[folder] = all
	return all, nil
}

// withoutParts removes everything from a result except its metrics and its manifest.
func withoutParts(r *result.Result) {
	r.Rounds, r.Repeated, r.Profiles, r.Locks, r.Causes = []result.Round{}, nil, nil, nil, nil
}

// EarlierFolder returns the subfolder of a page's data with replaced runs: one result without
// rounds for each.
func EarlierFolder(data string) string { return filepath.Join(data, earlierDir) }

// keepEarlier stores the result that another run is about to replace in the folder data, if there
// is one.
func keepEarlier(data, run string) error {
	r, err := result.ReadResult(filepath.Join(data, result.ResultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || r.Run == run {
		return err
	}
	withoutParts(r)
	if err := os.MkdirAll(EarlierFolder(data), 0o755); err != nil {
		return err
	}
	return result.WriteResultPacked(filepath.Join(EarlierFolder(data), r.Run+".json"), r)
}

// repeated are the measurements of the same work as one of a page's run.
type repeated struct {
	own  measurement
	runs []measurement // including own
}

// repeats finds, for each measurement of r, the measurements of the same work in other runs.
func repeats(r *result.Result, all []measurement) (found []repeated) {
	for _, own := range measurements(r) {
		same := repeated{own: own}
		for _, m := range all {
			if m.work == own.work && (m.Run != r.Run || m.point == own.point) {
				same.runs = append(same.runs, m)
			}
		}
		if slices.ContainsFunc(same.runs, func(m measurement) bool { return m.Run != r.Run }) {
			found = append(found, same)
		}
	}
	return found
}

func (s repeated) medians() (low, high float64) {
	for i, m := range s.runs {
		median := m.metrics[result.CyclesPerS].Median
		if i == 0 {
			low, high = median, median
		}
		low, high = min(low, median), max(high, median)
	}
	return low, high
}

// disjoint returns two runs whose intervals of the rate do not overlap, if there are any.
func (s repeated) disjoint() (a, b measurement, found bool) {
	for i, a := range s.runs {
		for _, b := range s.runs[i+1:] {
			x, y := a.metrics[result.CyclesPerS], b.metrics[result.CyclesPerS]
			if x.High < y.Low || y.High < x.Low {
				return a, b, true
			}
		}
	}
	return a, b, false
}

// words describes the range of the medians, and the probability that a further run is in it.
func (s repeated) words() string {
	low, high := s.medians()
	k := len(s.runs)
	text := fmt.Sprintf("the medians of %s of this work are between %s and %s cycles/s, the largest %s times the smallest; if runs are independent, a"+
		" further one is in this range with a probability of %s",
		render.Plural(k, "run"), render.Number(low), render.Number(high), render.Digits(high/low, 3), render.Percent(float64(k-1)/float64(k+1)))
	if a, b, found := s.disjoint(); found {
		text += fmt.Sprintf(". The intervals of %s and %s do not overlap: the interval of one run does not cover another run", doc.Code(a.Run), doc.Code(b.Run))
	}
	return text
}

// repeatabilityOpening shows after the verdict how much the rate differs between runs, because no
// interval of the page covers that.
func repeatabilityOpening(p *doc.Document, r *result.Result, found []repeated) {
	for _, same := range found {
		name := "Repeatability"
		if same.own.point != "" {
			name += " at " + doc.Code(same.own.point)
		}
		p.Paragraph("%s, durability %s%s: %s.", name, doc.Code(r.Manifest.Durability()), runs.Polling(r), same.words())
	}
}

// repeatabilitySection lists the runs of the same work.
func repeatabilitySection(p *doc.Document, r *result.Result, found []repeated) {
	p.Heading(2, "Repeatability, durability %s", doc.Code(r.Manifest.Durability()))
	if len(found) == 0 {
		p.Paragraph("Unknown: no other run of this work with these settings is published. The intervals of this page cover one run, and are no" +
			" statement about another day.")
		return
	}
	p.Paragraph("All published runs of the same work with the same settings, of this scenario and of points of others. The low and high of a run" +
		" are those of its own rounds. Between runs, the time, the build and the host's state differ too. CPU per cycle of both sides helps to find the cause: the" +
		" generator's depends on the host and on the client's code, not on the server's.")
	for _, same := range found {
		if same.own.point != "" {
			p.Heading(3, "%s, durability %s", doc.Code(same.own.point), doc.Code(r.Manifest.Durability()))
		}
		var rows [][]string
		for _, m := range same.runs {
			rate := m.metrics[result.CyclesPerS]
			rows = append(rows, append([]string{
				doc.Code(m.Run), orNone(m.point), words.Moment(m.Started), doc.Code(m.Manifest.Build.Revision()), words.Machine(m.Manifest.Host), fmt.Sprint(rate.N),
				render.Number(rate.Median), render.Number(rate.Low), render.Number(rate.High),
			}, cells(repeatedColumns, m.metrics, median)...))
		}
		p.Table(append([]string{"run", "point", "started (UTC)", "revision", "host", ">n", ">cycles/s", ">low", ">high"}, repeatedColumns.headers()...), rows)
	}
}

func orNone(name string) string {
	if name == "" {
		return doc.None
	}
	return doc.Code(name)
}

var repeatedColumns = columns{
	{">server CPU, µs/cycle", result.ServerCPUUsPerCycle},
	{">client CPU, µs/cycle", result.ClientCPUUsPerCycle},
	{">cycle p50, ms", result.CycleLatencyMs + "_p50"},
	{">cycle p99, ms", result.CycleLatencyMs + "_p99"},
}
