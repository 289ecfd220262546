package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// tooHigh returns a limit that every run breaks.
func tooHigh() []scenario.Limit {
	return []scenario.Limit{{Metric: result.CyclesPerS, Min: new(1e9), Because: "nothing does that", Where: "fixture.hcl:1:1"}}
}

// floorOf returns baselines with a floor on the rate of the fixture.
func floorOf(t *testing.T, more string) *gate.Baselines {
	t.Helper()
	dir := t.TempDir()
	text := "baseline \"fixture\" {\n" + more + "  floor \"cycles_per_s\" {\n    min     = 1e8\n    because = \"it did once\"\n  }\n}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "fixture.hcl"), []byte(text), 0o600))
	limits, err := gate.LoadBaselines(dir)
	require.NoError(t, err)
	return limits
}

// The head of a page has the verdict by the checked-in limits and the broken limits. Neither is
// stored, so other limits result in another page of the same data.
func TestThePageIsJudgedByTheLimits(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	reports := t.TempDir()
	limits := floorOf(t, "")
	written, err := report.Publish(limits, stored(t, r, hists), reports)
	require.NoError(t, err)
	head, _, _ := strings.Cut(contents(t, written)["fixture.md"], "\n## ")
	s := sheet(t)
	s.Equal(t, "a broken limit", head)

	data := report.DataFolder(reports, "fixture")
	kept, err := result.ReadResult(filepath.Join(data, result.ResultFile))
	require.NoError(t, err)
	assert.Equal(t, result.Pass, kept.Verdict)
	assert.Empty(t, kept.Reasons)
	again, err := report.Render(nil, data, t.TempDir())
	require.NoError(t, err)
	head, _, _ = strings.Cut(contents(t, again)["fixture.md"], "\n## ")
	s.Equal(t, "no limits", head)
}

// A broken limit on lost tasks removes all figures from the page.
func TestAPageWithoutFiguresByTheLimits(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	r.Rounds[1].Ledger.Lost = 2
	files := rendered(t, r, hists)
	assert.Len(t, files, 1, "no plot")
	assert.Contains(t, files["fixture.md"], "Verdict: **incorrect**")
	assert.Contains(t, files["fixture.md"], "- lost 2 is above the ceiling 0: an acknowledged task is never lost")
	assert.NotContains(t, files["fixture.md"], "cycles_per_s")
	head, _, _ := strings.Cut(files["fixture.md"], "\n## ")
	sheet(t).Equal(t, "lost tasks", head)
}

// Open judges every kind of stored result.
func TestOpenJudgesEachKind(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	r.Manifest.Scenario.Limits = tooHigh()
	s, err := report.Open(nil, stored(t, r, hists))
	require.NoError(t, err)
	assert.Equal(t, result.Regressed, s.Judged.Verdict)
	assert.Equal(t, result.Regressed, s.Run.Verdict)
	assert.Equal(t, s.Judged.Reasons, s.Run.Reasons)
	require.Len(t, report.Broken(s.Judged), 1)
	assert.Equal(t, report.Broken(s.Judged)[0], report.Why(s.Judged))

	dir := t.TempDir()
	soak := soakFixture(t)
	soak.Verdict, soak.Reasons = result.Regressed, []string{"it was too short", "memory rose"}
	soak.Drifts = []result.SoakDrift{{Verdict: result.Inconclusive, Sentence: "it was too short"}, {Verdict: result.Regressed, Sentence: "memory rose"}}
	require.NoError(t, result.WriteSoak(dir, soak))
	s, err = report.Open(nil, dir)
	require.NoError(t, err)
	assert.Equal(t, result.Regressed, s.Judged.Verdict)
	assert.Equal(t, "memory rose", report.Why(s.Judged), "the reason for the verdict, and not for a better one")

	dir = t.TempDir()
	require.NoError(t, result.WriteSerial(dir, &result.Serial{Version: result.SerialVersion}))
	s, err = report.Open(nil, dir)
	require.NoError(t, err)
	assert.Equal(t, "serial", s.Judged.Scenario)
	assert.Equal(t, result.Pass, s.Judged.Verdict)

	dir = t.TempDir()
	require.NoError(t, result.WriteComparison(dir, &result.Comparison{Version: result.Version, Scenario: "compared", Verdict: result.Regressed}))
	s, err = report.Open(nil, dir)
	require.NoError(t, err)
	assert.Equal(t, result.Regressed, s.Judged.Verdict)
	assert.Empty(t, report.Why(s.Judged))

	_, err = report.Open(nil, t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Every run with a verdict on its build is published. Others are refused, and no file changes.
func TestTheLatestCompleteRunIsPublished(t *testing.T) {
	s := sheet(t)
	for name, c := range map[string]struct {
		limits  *gate.Baselines
		change  func(*result.Result)
		refused bool
	}{
		"pass":         {},
		"regressed":    {change: func(r *result.Result) { r.Manifest.Scenario.Limits = tooHigh() }},
		"inconclusive": {change: func(r *result.Result) { r.Verdict = result.Inconclusive }},
		"incorrect":    {change: func(r *result.Result) { r.Verdict, r.Rounds[0].Verdict = result.Incorrect, result.Invalid }},
		"incorrect in rounds that are valid, of other servers": {change: func(r *result.Result) {
			r.Verdict, r.Manifest.Scenario.Topology.Kind = result.Incorrect, scenario.ByProgram
		}},
		"incorrect beside invalid rounds, of other servers": {change: func(r *result.Result) {
			r.Verdict, r.Rounds[0].Verdict, r.Manifest.Scenario.Topology.Kind = result.Incorrect, result.Invalid, scenario.ByProgram
		}, refused: true},
		"invalid": {change: func(r *result.Result) {
			r.Verdict, r.Reasons = result.Invalid, []string{"the host slept"}
		}, refused: true},
		"limits of another configuration": {
			limits: floorOf(t, "  configuration = \"0123456789ab\"\n\n"), refused: true,
		},
		"earlier": {
			change: func(r *result.Result) { r.Started = r.Started.Add(-time.Hour) }, refused: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			reports := t.TempDir()
			r, hists := fixture(t, 3, 0)
			_, err := report.Publish(nil, stored(t, r, hists), reports)
			require.NoError(t, err)
			if c.change != nil {
				c.change(r)
			}
			r.Run, r.Title = "the-second", "The second run"
			_, err = report.Publish(c.limits, stored(t, r, hists), reports)
			page, readErr := os.ReadFile(filepath.Join(report.PagesFolder(reports), "fixture.md"))
			require.NoError(t, readErr)
			assert.Equal(t, !c.refused, strings.Contains(string(page), "# The second run"))
			if !c.refused {
				require.NoError(t, err)
				assert.Contains(t, string(page), "# The second run")
				return
			}
			var unpublishable *report.UnpublishableError
			require.ErrorAs(t, err, &unpublishable)
			reason, _, _ := strings.Cut(strings.Join(unpublishable.Reasons, "\n"), ", but the run has ") // a checksum of the settings
			s.Equal(t, name, reason)
			kept, err := result.ReadResult(filepath.Join(report.DataFolder(reports, "fixture"), result.ResultFile))
			require.NoError(t, err)
			assert.NotEqual(t, "the-second", kept.Run)
			assert.NoDirExists(t, report.EarlierFolder(report.DataFolder(reports, "fixture")))
		})
	}
}
