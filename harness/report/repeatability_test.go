package report_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

// later returns the fixture as another run, an hour later, with all rates multiplied by factor.
func later(t *testing.T, run string, factor float64) (*result.Result, []result.RoundHistograms) {
	t.Helper()
	r, hists := fixture(t, 7, 0)
	r.Run, r.Started = run, fixtureStart.Add(time.Hour)
	rate := r.Metrics[result.CyclesPerS]
	rate.Median, rate.Low, rate.High = rate.Median*factor, rate.Low*factor, rate.High*factor
	r.Metrics[result.CyclesPerS] = rate
	return r, hists
}

func published(t *testing.T, reports string, r *result.Result, hists []result.RoundHistograms) string {
	t.Helper()
	written, err := report.Publish(nil, stored(t, r, hists), reports)
	require.NoError(t, err)
	return contents(t, written)[result.Slug(r.Scenario)+".md"]
}

// repeatability returns the parts of a page about the repetitions of its run.
func repeatability(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "Repeatability") {
			b.WriteString(line)
		}
	}
	return b.String() + sections(page)["Repeatability"]
}

// An interval covers the rounds of one run. The page shows the differences between several runs,
// and publishing keeps the replaced runs.
func TestRepeatabilityOverRuns(t *testing.T) {
	reports := filepath.Join(t.TempDir(), "reports")
	first, hists := fixture(t, 7, 0)
	first.Repeated = []result.Round{{Number: 2, Verdict: result.Invalid}}
	page := published(t, reports, first, hists)
	s := sheet(t)
	s.Equal(t, "one run", repeatability(page))

	second, hists := later(t, "20260102T040405.000Z-fixture", 2)
	page = published(t, reports, second, hists)
	two := repeatability(page)
	s.Equal(t, "two runs", two)
	earlier := filepath.Join(reports, "data", "fixture", "earlier")
	kept, err := result.ReadResult(filepath.Join(earlier, first.Run+".json"))
	require.NoError(t, err)
	assert.Empty(t, kept.Rounds)
	assert.Empty(t, kept.Repeated)
	page = published(t, reports, second, hists)
	assert.Equal(t, two, repeatability(page), "publishing a run again does not count as another run")
	assert.NoFileExists(t, filepath.Join(earlier, second.Run+".json"))

	third, hists := later(t, "20260102T050405.000Z-fixture", 1.01)
	third.Manifest.Scenario.Topology.BusyPoll = true
	page = published(t, reports, third, hists)
	s.Equal(t, "other settings", repeatability(page))
}

// The same work as a point of another scenario is also a repetition, so that contradictions between
// pages become visible.
func TestRepeatabilityOverScenarios(t *testing.T) {
	reports := filepath.Join(t.TempDir(), "reports")
	first, hists := fixture(t, 7, 0)
	published(t, reports, first, hists)
	other, hists := later(t, "20260102T040405.000Z-other", 1.01)
	other.Scenario, other.Manifest.Scenario.Name = "other", "other"
	page := published(t, reports, other, hists)
	s := sheet(t)
	s.Equal(t, "second run", repeatability(page))

	data := filepath.Join(reports, "data", "fixture")
	written, err := report.Render(nil, data, report.PagesFolder(reports))
	require.NoError(t, err)
	page = contents(t, written)["fixture.md"]
	s.Equal(t, "the page of the first run has the second one, too", repeatability(page))
}
