package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

// Counts are exact, and other values have three digits.
func TestValues(t *testing.T) {
	t.Parallel()
	for unit, want := range map[string]string{"tasks": "1,845", "items": "1,845", "reads": "1,845", "calls": "1,845", "faults": "1,845", "1/s": "1,840", "ms": "1,840"} {
		assert.Equal(t, want, report.Value(unit, 1845), unit)
	}
	assert.Equal(t, "1.50", report.Value("tasks", 1.5), "a mean is not a count")
}

// The page has the headings that other pages link to.
func TestHeadingsOfFigures(t *testing.T) {
	r, hists := sweptFixture(t)
	page := rendered(t, r, hists)["fixture.md"]
	assert.Contains(t, page, "\n## "+report.SummaryHeading(r)+"\n")
	for _, point := range r.Points {
		assert.Contains(t, page, "\n### "+report.PointHeading(r, point)+"\n")
		assert.Equal(t, "2 × 10 s", report.Windows(r, point.Number), point.Name)
	}
	assert.Equal(t, "summary-durability-none", doc.Anchor(report.SummaryHeading(r)))
	assert.Equal(t, "8 timed rounds with a window of 10 s, 4 profiled rounds with a window of 10 s, over 4 points of the sweep in turn", report.Plan(r))
	assert.Equal(t, "`bin/prony run scenarios/fixture.hcl --out 'my runs'`", report.Command(r.Manifest))
	assert.Equal(t, "Invented CPU @ 2.0 GHz, 2 CPUs, linux 6.1.0-fixture, virtualisation not recorded, container not recorded", report.HostWords(r.Manifest.Host))
	s := soakFixture(t)
	summary, drift, ledger := report.SoakHeadings(s)
	assert.Equal(t, []string{"Summary, durability `none`", "Drift, durability `none`", "Ledger of all windows, durability `none`"}, []string{summary, drift, ledger})
	assert.Equal(t, "133 × 10 s", report.SoakWindows(s))
	assert.Equal(t, "none", report.PointDurability(r, result.Point{}))
}

// A command with many scenarios shows the file of the given one, and counts the others.
func TestCommandOfManyFiles(t *testing.T) {
	assert.Empty(t, report.Command(result.Manifest{}))
	m := result.Manifest{Command: []string{"prony", "publish", "--again", "a.hcl", "b.hcl", "c.hcl"}}
	assert.Equal(t, "`prony publish --again a.hcl b.hcl c.hcl`", report.Command(m), "the scenario's file is unknown")
	m.Scenario.File = "b.hcl"
	assert.Equal(t, "`prony publish --again b.hcl` and 2 other files", report.Command(m))
	m.Command = m.Command[:4]
	m.Scenario.File = "a.hcl"
	assert.Equal(t, "`prony publish --again a.hcl`", report.Command(m))
}
