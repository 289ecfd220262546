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
	s, page := sheet(t), rendered(t, r, hists)["fixture.md"]
	assert.Contains(t, page, "\n## "+report.SummaryHeading(r)+"\n")
	for _, point := range r.Points {
		assert.Contains(t, page, "\n### "+report.PointHeading(r, point)+"\n")
		s.Equal(t, "windows of "+point.Name, report.Windows(r, point.Number))
	}
	assert.Equal(t, "summary-durability-none", doc.Anchor(report.SummaryHeading(r)))
	s.Equal(t, "plan", report.Plan(r))
	s.Equal(t, "command", report.Command(r.Manifest))
	s.Equal(t, "host", report.HostWords(r.Manifest.Host))
	soak := soakFixture(t)
	summary, drift, ledger := report.SoakHeadings(soak)
	assert.Equal(t, []string{"Summary, durability `none`", "Drift, durability `none`", "Ledger of all windows, durability `none`"}, []string{summary, drift, ledger})
	s.Equal(t, "windows of a soak", report.SoakWindows(soak))
	assert.Equal(t, "none", report.PointDurability(r, result.Point{}))
}

// A command with many scenarios shows the file of the given one, and counts the others.
func TestCommandOfManyFiles(t *testing.T) {
	assert.Empty(t, report.Command(result.Manifest{}))
	m := result.Manifest{Command: []string{"prony", "publish", "--again", "a.hcl", "b.hcl", "c.hcl"}}
	s := sheet(t)
	s.Equal(t, "an unknown file", report.Command(m))
	m.Scenario.File = "b.hcl"
	s.Equal(t, "one of three files", report.Command(m))
	m.Command = m.Command[:4]
	m.Scenario.File = "a.hcl"
	s.Equal(t, "one file", report.Command(m))
}
