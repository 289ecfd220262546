package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

// comparisonFixture is an invented comparison with a finding of each kind.
func comparisonFixture() *result.Comparison {
	metric := func(v float64) result.Metric { return result.Metric{Median: v, Low: v * 0.99, High: v * 1.01, N: 7} }
	return &result.Comparison{
		Version: result.Version, Scenario: "fixture", Started: fixtureStart, Finished: fixtureStart.Add(5 * time.Minute),
		Verdict: result.Regressed, Reasons: []string{"cycles_per_s fell by 12 %"}, Warnings: []string{"no *frequency*"},
		Base:   result.Side{Name: "base", Run: "runs/c/base", Commit: "0123456789ab", Server: "00ff", Rounds: 7, Bound: &result.Bound{By: result.BoundServerCPU, Sentence: "bound by server CPU: the servers keep 0.97 of 1 CPU busy"}},
		Change: result.Side{Name: "change", Run: "runs/c/change", Commit: "ba9876543210", Dirty: true, Server: "ff00", Rounds: 7, Bound: &result.Bound{By: result.BoundLock, Sentence: "bound by lock: waits for T.mu take 60 % of a *cycle*"}},
		Control: &result.Side{
			Name: "control", Run: "runs/c/control", Commit: "0123456789ab", Server: "00ff", Rounds: 7,
		},
		Paired: true, Blocks: 7, Dropped: 1,
		Metrics: []result.MetricDelta{
			{
				Metric: result.CyclesPerS, Unit: "1/s", Better: result.Higher, Base: metric(150_000), Change: metric(132_000),
				Ratio: 0.88, RatioLow: 0.87, RatioHigh: 0.89, ControlRatio: 1.002, ControlRatioLow: 0.99, ControlRatioHigh: 1.01,
				P: 0.008, PAdjusted: 0.03, Effect: 0.03, Detectable: 0.02, Outcome: result.Worsened, Because: "12.0 % less, beyond the control's 1.0 %",
			},
			{
				Metric: "cycle_latency_ms_p99", Unit: "ms", Better: result.Lower, Base: metric(0.45), Change: metric(0.46),
				Ratio: 1.02, RatioLow: 0.8, RatioHigh: 3.5, ControlRatio: 1, ControlRatioLow: 0.9, ControlRatioHigh: 1.2,
				P: 0.5, PAdjusted: 1, Effect: 0.05, Outcome: result.Unclear, Warnings: []string{"too few rounds"},
			},
			{
				Metric: result.StorageSetsPerCycle, Unit: "keys", Better: result.Lower, Base: metric(2.1), Change: metric(2.1),
				Ratio: 1, RatioLow: 1, RatioHigh: 1, ControlRatio: 1, ControlRatioLow: 1, ControlRatioHigh: 1, PAdjusted: 1, Effect: 0.01,
				Detectable: 0.001, Outcome: result.Same,
			},
			{Metric: result.WrittenBytesPerCycle, Unit: "bytes", Outcome: result.Unclear},
		},
		Causes: []result.Cause{{Kind: "lock", Name: "shard.commitMu", Sentence: "62 % of commit wait is shard.commitMu", Score: 18}},
		Profiles: []result.ProfileDelta{
			{Kind: "cpu", Function: "example.org/engine/shard.(*Shard).spin", Unit: "nanoseconds", Base: 0, Change: 5000, Low: 4500, High: 5500, BaseCum: 1000, ChangeCum: 6000},
		},
	}
}

// storedComparison stores a comparison with the run of its base.
func storedComparison(t *testing.T, c *result.Comparison) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, result.WriteComparison(dir, c))
	r, hists := fixture(t, 2, 0)
	require.NoError(t, os.Rename(stored(t, r, hists), filepath.Join(dir, "base")))
	return dir
}

func TestGoldenPageOfAComparison(t *testing.T) {
	dir := storedComparison(t, comparisonFixture())
	out := t.TempDir()
	written, err := report.Render(nil, dir, out)
	require.NoError(t, err)
	assert.Equal(t, []string{"compare-fixture.md", "compare-fixture-ratios.svg"}, bases(written))
	asGolden(t, contents(t, written))
}

func TestComparisonIntoItsFolder(t *testing.T) {
	dir := storedComparison(t, comparisonFixture())
	written, err := report.Render(nil, dir, dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"comparison.md", "compare-fixture-ratios.svg"}, bases(written))
	golden.Text(t, "testdata/golden/compare-fixture.md", contents(t, written)["comparison.md"])
}

func TestComparisonIsPublished(t *testing.T) {
	c := comparisonFixture()
	reports := filepath.Join(t.TempDir(), "reports")
	_, err := report.Publish(nil, storedComparison(t, c), reports)
	var refused *report.UnpublishableError
	require.ErrorAs(t, err, &refused)
	sheet(t).Equal(t, "uncommitted changes", strings.Join(refused.Reasons, "\n"))
	c.Change.Dirty = false
	written, err := report.Publish(nil, storedComparison(t, c), reports)
	require.NoError(t, err)
	data := filepath.Join(reports, "data", "compare-fixture")
	assert.FileExists(t, filepath.Join(data, "base", result.ResultFile+result.PackedSuffix))
	assert.NoFileExists(t, filepath.Join(data, "comparison.md"))
	again, err := report.Render(nil, data, t.TempDir())
	require.NoError(t, err)
	assert.Equal(t, contents(t, written), contents(t, again), "made from its own data, byte for byte")
}

// Two stored runs have neither pairs nor a control, and their folder has no run of the base.
func TestComparisonOfStoredRuns(t *testing.T) {
	c := comparisonFixture()
	c.Paired, c.Control, c.Blocks, c.Profiles = false, nil, 0, nil
	for i := range c.Metrics {
		c.Metrics[i].ControlRatio = 0
	}
	dir := t.TempDir()
	require.NoError(t, result.WriteComparison(dir, c))
	written, err := report.Render(nil, dir, t.TempDir())
	require.NoError(t, err)
	files := contents(t, written)
	sheet(t).Equal(t, "page", files["compare-fixture.md"])
	assert.NotContains(t, files["compare-fixture-ratios.svg"], "control")
}

func TestNoFigureOfAnIncorrectComparison(t *testing.T) {
	c := comparisonFixture()
	c.Verdict = result.Incorrect
	dir, out := storedComparison(t, comparisonFixture()), t.TempDir()
	_, err := report.Render(nil, dir, out)
	require.NoError(t, err)
	require.NoError(t, result.WriteComparison(dir, c))
	written, err := report.Render(nil, dir, out)
	require.NoError(t, err)
	assert.Equal(t, []string{"compare-fixture.md"}, bases(written))
	assert.NoFileExists(t, filepath.Join(out, "compare-fixture-ratios.svg"), "the plot of the earlier rendering is removed")
	assert.NotContains(t, contents(t, written)["compare-fixture.md"], "150,000")
}

func TestComparisonThatCannotBeRead(t *testing.T) {
	dir := storedComparison(t, comparisonFixture())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "base", result.ResultFile), []byte("{"), 0o600))
	_, err := report.Render(nil, dir, t.TempDir())
	s := sheet(t)
	s.Replace(dir, "FOLDER")
	s.Error(t, "a damaged run", err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, result.ComparisonFile), []byte("{}"), 0o600))
	_, err = report.Publish(nil, dir, t.TempDir())
	s.Error(t, "no version", err)
}

// A comparison that ran out of time before its last block has fewer rounds than requested.
func TestComparisonWithFewerBlocksIsNotPublished(t *testing.T) {
	c := comparisonFixture()
	c.Blocks, c.Dropped, c.Change.Dirty = 1, 0, false
	reports := filepath.Join(t.TempDir(), "reports")
	_, err := report.Publish(nil, storedComparison(t, c), reports)
	var refused *report.UnpublishableError
	require.ErrorAs(t, err, &refused)
	require.Len(t, refused.Reasons, 1)
	sheet(t).Equal(t, "few blocks", refused.Reasons[0])
	assert.NoDirExists(t, reports)
}
