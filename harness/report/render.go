// Package report writes the pages: Markdown with plots, made from stored runs and from nothing else, so that
// the same data yields the same bytes at any time and on any machine.
package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pronybench/prony/harness/result"
)

// RunPage is the name of the page of a run that is rendered into its own folder.
const RunPage = "report.md"

// Render writes the page and the plots of the run stored in the folder in, which is a run folder or a folder
// under reports/data, into the folder out, which it makes if need be. The page is <scenario>.md, or report.md
// where out is in itself; the plots are <scenario>-throughput.svg and <scenario>-latency.svg. It returns the
// paths of the files it wrote, the page first. A plot that the data cannot fill, or that must not be shown since
// the verdict is incorrect, is not written, and one from an earlier rendering is removed.
func Render(in, out string) ([]string, error) {
	r, hists, err := result.Read(in)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	name := result.Slug(r.Scenario)
	plots, err := figures(r, hists, name)
	if err != nil {
		return nil, fmt.Errorf("report on %s: %w", in, err)
	}
	pageName := name + ".md"
	same, err := sameFolder(in, out)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if same {
		pageName = RunPage
	}
	written := []string{filepath.Join(out, pageName)}
	for _, p := range plots {
		path := filepath.Join(out, p.file)
		if p.svg == nil {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("report: remove a plot of an earlier rendering: %w", err)
			}
			continue
		}
		if err := result.WriteFile(path, p.svg); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		written = append(written, path)
	}
	// The page comes last: what it shows is there when it is.
	if err := result.WriteFile(written[0], []byte(markdown(r, plots))); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return written, nil
}

// Publish copies the data of the run in the folder run that its page is made from to reportsDir/data/<scenario>,
// renders the page from the copy into reportsDir, and returns the paths of the page and its plots.
func Publish(run, reportsDir string) ([]string, error) {
	r, _, err := result.Read(run) // what cannot be read again is not published
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	data := filepath.Join(reportsDir, "data", result.Slug(r.Scenario))
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	for _, name := range []string{result.HistogramsFile, result.ResultFile} {
		content, err := os.ReadFile(filepath.Join(run, name))
		if err != nil {
			return nil, fmt.Errorf("publish: %w", err)
		}
		if err := result.WriteFile(filepath.Join(data, name), content); err != nil {
			return nil, fmt.Errorf("publish: %w", err)
		}
	}
	return Render(data, reportsDir)
}

// figure is a plot of a page. svg is nil where there is none to show.
type figure struct {
	file    string
	caption string
	svg     []byte
}

// figures makes the plots of r, whose files start with name.
func figures(r *result.Result, hists []result.RoundHistograms, name string) ([]figure, error) {
	throughput := figure{file: name + "-throughput.svg", caption: "Cycles per second of each round"}
	latency := figure{file: name + "-latency.svg", caption: "Latency by percentile, all timed rounds merged"}
	if r.Verdict == result.Incorrect {
		return []figure{throughput, latency}, nil
	}
	var err error
	if throughput.svg, err = throughputPlot(r); err != nil && !errors.Is(err, errNothingToPlot) {
		return nil, err
	}
	timed := make(map[int]bool)
	for _, round := range r.Rounds {
		timed[round.Number] = !round.Profiled
	}
	var sets []result.Histograms
	for _, h := range hists {
		if timed[h.Round] {
			sets = append(sets, h.Histograms)
		}
	}
	if len(sets) > 0 {
		merged, err := result.Merge(sets...)
		if err != nil {
			return nil, err
		}
		if latency.svg, err = latencyPlot(r, merged); err != nil && !errors.Is(err, errNothingToPlot) {
			return nil, err
		}
	}
	return []figure{throughput, latency}, nil
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
