package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report/anatomy"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/faults"
	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/report/rates"
	"github.com/pronybench/prony/harness/report/stalls"
	"github.com/pronybench/prony/harness/result"
)

// RunPage is the name of a run's page in the run's own folder.
const RunPage = "report.md"

// Renderer renders several pages. It reads the other published runs only once, so the data must not
// change while it is used. It is not safe for concurrent use.
type Renderer struct {
	limits    *gate.Baselines
	published map[string][]measurement // by data folder
}

// NewRenderer returns a renderer whose pages judge runs by limits, which may be nil.
func NewRenderer(limits *gate.Baselines) *Renderer { return &Renderer{limits: limits} }

// Render renders one page: see Renderer.Render.
func Render(limits *gate.Baselines, in, out string) ([]string, error) {
	return NewRenderer(limits).Render(in, out)
}

// Render writes the page and the plots of the run stored in the folder in into the folder out,
// which it creates if needed. in is a run folder or a folder under reports/data. It returns the
// paths of the written files, the page first.
//
// The page is <scenario>.md, or report.md if out is in; the plots are <scenario>-throughput.svg,
// <scenario>-latency.svg and the like. The page of a comparison is compare-<scenario>.md, or
// comparison.md. The page of a soak is named like that of a run, and that of a serial budget is
// serial.md. Render writes no plot without data, and none if the verdict is incorrect; it removes
// such a plot of an earlier rendering.
//
// The page shows the verdict of Judge. If the result has no limiting resource, the page derives it
// from the figures as far as possible. The page of an incomplete run shows the stored rounds.
func (x *Renderer) Render(in, out string) ([]string, error) {
	switch resultFile(in) {
	case result.ComparisonFile:
		return renderComparison(in, out)
	case result.SoakFile:
		return renderSoak(in, out)
	case result.SerialFile:
		return renderSerial(in, out)
	}
	r, hists, err := result.ReadStored(in)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	judged := Judge(x.limits, r) // first, because an incorrect run has no figures to show
	gate.DescribeBound(r)
	name := result.Slug(r.Scenario)
	plots, err := figures(r, hists, name)
	if err != nil {
		return nil, fmt.Errorf("report on %s: %w", in, err)
	}
	published, err := x.measurementsBeside(in)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	kept, err := findProfiles(r, in, out)
	if err != nil {
		return nil, fmt.Errorf("report on %s: %w", in, err)
	}
	return write(in, out, name, RunPage, plots, runPage(r, judged, plots, repeats(r, published), kept))
}

// RenderData renders the pages of all published data below reportsDir into the folder out. It skips
// folders without a result.
func RenderData(limits *gate.Baselines, reportsDir, out string) error {
	folders, err := os.ReadDir(filepath.Join(reportsDir, dataDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("report: %w", err)
	}
	x := NewRenderer(limits)
	for _, folder := range folders {
		dir := filepath.Join(reportsDir, dataDir, folder.Name())
		if !folder.IsDir() {
			continue
		}
		has, err := result.Exists(dir, resultFile(dir))
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
		if !has {
			continue
		}
		if _, err := x.Render(dir, out); err != nil {
			return err
		}
	}
	return nil
}

// write writes a page and its plots into the folder out, which it creates. The page is <name>.md,
// or own if in, the folder of its data, is out.
func write(in, out, name, own string, figures []doc.Figure, p *doc.Document) ([]string, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	same, err := sameFolder(in, out)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	file := name + ".md"
	if same {
		file = own
	}
	return doc.Write(out, file, figures, p.Markdown())
}

// PagesFolder returns the folder of the pages that are made from data alone, one for each folder of
// the data, and of their plots.
func PagesFolder(reportsDir string) string { return filepath.Join(reportsDir, pagesDir) }

// DataFolder returns the folder of the data of a scenario's published page.
func DataFolder(reportsDir, scenario string) string {
	return filepath.Join(reportsDir, dataDir, result.Slug(scenario))
}

// copyFiles copies files from one folder to another, which it creates.
func copyFiles(from, to string, names []string) error {
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := result.WriteFile(path, content); err != nil {
			return err
		}
	}
	return nil
}

// copyPacked copies JSON documents of one folder to another, which it creates, in the compressed
// form.
func copyPacked(from, to string, names []string) error {
	for _, name := range names {
		content, err := result.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, content); err != nil {
			return fmt.Errorf("read %s: corrupt: %w", filepath.Join(from, name), err)
		}
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := result.WritePacked(path, compact.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// figures makes the plots of r, whose file names start with name.
func figures(r *result.Result, hists []result.RoundHistograms, name string) (all []doc.Figure, err error) {
	of := func(draw func(*result.Result) ([]byte, error)) func() ([]byte, error) {
		return func() ([]byte, error) { return draw(r) }
	}
	series := func(kind seriesKind) func() ([]byte, error) {
		return func() ([]byte, error) { return seriesPlot(r, kind) }
	}
	for _, f := range []struct {
		kind, caption string
		draw          func() ([]byte, error)
	}{
		{"sweep", "Cycles per second of each point: medians and their intervals", of(rates.Sweep)},
		{"throughput", "Cycles per second of each round", of(rates.Rounds)},
		{"load", "Cycle latency against offered load: the percentiles of each point, with the lowest and the highest round", of(rates.Load)},
		{"latency", latencyCaption(r), func() ([]byte, error) { return latencyPlot(r, hists) }},
		{"anatomy", "The parts of the mean cycle: its time, and the servers' CPU time", of(anatomy.Plot)},
		{"workloads", "Cycle latency by percentile of each workload, all timed rounds merged", func() ([]byte, error) { return workloadsPlot(r, hists) }},
		{"series-rate", "Cycles per second over each timed round's window", series(rateSeries)},
		{"faults", "Cycles per second over the first timed round's window, shaded during faults", of(faults.Plot)},
		{"series-disk", "Size of the server's data folder over each timed round's window", series(diskSeries)},
		{"series-memory", "Resident memory of the server over each timed round's window", series(memorySeries)},
		{"stalls", "Slow commits over the window of the timed round with the longest one, with flushes and compactions", of(stalls.Plot)},
	} {
		figure, err := drawn(r.Verdict, name+"-"+f.kind+".svg", f.caption, f.draw)
		if err != nil {
			return nil, err
		}
		all = append(all, figure)
	}
	return all, nil
}

// drawn returns a plot. It has no SVG without data, or if the verdict is incorrect.
func drawn(v result.Verdict, file, caption string, draw func() ([]byte, error)) (f doc.Figure, err error) {
	f = doc.Figure{File: file, Caption: caption}
	if v == result.Incorrect {
		return f, nil
	}
	if f.SVG, err = draw(); errors.Is(err, plots.ErrNothing) {
		err = nil
	}
	return f, err
}

func latencyCaption(r *result.Result) string {
	if len(r.Points) > 0 {
		return "Cycle latency by percentile of each point, its timed rounds merged"
	}
	return "Latency by percentile, all timed rounds merged"
}

// mergeTimed merges the histograms of a point's timed rounds; 0 is the point of a run without a
// sweep.
func mergeTimed(rounds []result.Round, hists []result.RoundHistograms, point int) (result.Histograms, error) {
	timed := make(map[int]bool)
	for _, round := range rounds {
		timed[round.Number] = round.Timed() && round.Point == point
	}
	var sets []result.Histograms
	for _, h := range hists {
		if timed[h.Round] {
			sets = append(sets, h.Histograms)
		}
	}
	if len(sets) == 0 {
		return result.Histograms{}, plots.ErrNothing
	}
	return result.Merge(sets...)
}

func sameFolder(a, b string) (bool, error) {
	infoA, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	infoB, err := os.Stat(b)
	if err != nil {
		return false, err
	}
	return os.SameFile(infoA, infoB), nil
}
