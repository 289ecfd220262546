package report_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// duetFixture is an invented judgement of a duet with a finding of each kind.
func duetFixture() *result.Comparison {
	metric := func(v float64) result.Metric { return result.Metric{Median: v, Low: v * 0.99, High: v * 1.01, N: 7} }
	loss := func(estimate, low, high, margin float64, ratios ...float64) *result.Loss {
		l := &result.Loss{Estimate: estimate, Low: low, High: high, Margin: margin, Level: 0.0014, StdErr: 0.005, Generations: ratios}
		for i := range ratios {
			l.Numbers = append(l.Numbers, i+1)
		}
		return l
	}
	return &result.Comparison{
		Version: result.Version, Scenario: "fixture", Started: fixtureStart, Finished: fixtureStart.Add(2 * time.Minute),
		Verdict: result.Regressed, Reasons: []string{"server_cpu_us_per_cycle is worse by 5.20 %: by at least 3.10 %, p < 0.0001 after correction"},
		Warnings: []string{"1 of 8 generations do not count: generation 2: the host *stole* 30 % of the time"},
		Base:     result.Side{Name: "base", Commit: "0123456789ab", Server: "00ff", Rounds: 7, Bound: &result.Bound{By: result.BoundServerCPU, Sentence: "bound by server CPU: the servers keep 0.97 of 1 CPU busy"}},
		Change:   result.Side{Name: "change", Commit: "ba9876543210", Dirty: true, Server: "ff00", Rounds: 7, Bound: &result.Bound{By: result.BoundLock, Sentence: "bound by lock: waits for T.mu take 60 % of a *cycle*"}},
		Paired:   true, Blocks: 7, Dropped: 1,
		Metrics: []result.MetricDelta{
			{
				Metric: result.ServerCPUUsPerCycle, Unit: "us", Better: result.Lower, Base: metric(20), Change: metric(21.04),
				Ratio: 1.052, RatioLow: 1.041, RatioHigh: 1.063, ControlRatio: 1.001, ControlRatioLow: 0.997, ControlRatioHigh: 1.005,
				P: 0.00001, PAdjusted: 0.00003, Effect: 0.01, Detectable: 0.028, Outcome: result.Worsened,
				Because: "is worse by 5.20 %: by at least 3.10 %, p < 0.0001 after correction",
				Loss:    loss(0.052, 0.031, 0.061, 0.05, 1.04, 1.05, 1.06, 1.055, 1.05, 1.06, 1.049),
			},
			{
				Metric: result.CyclesPerS, Unit: "1/s", Better: result.Higher, Base: metric(150_000), Change: metric(148_000),
				Ratio: 0.987, RatioLow: 0.977, RatioHigh: 0.997, ControlRatio: 1.002, ControlRatioLow: 0.99, ControlRatioHigh: 1.01,
				P: 0.3, PAdjusted: 0.6, Effect: 0.01, Detectable: 0.03, Outcome: result.Same, Because: "is worse by 1.30 %: a loss of 2.20 % or more is excluded",
				Loss: loss(0.013, -0.01, 0.022, 0.05, 0.98, 0.99, 0.985, 1, 0.97, 0.99, 0.995),
			},
			{
				Metric: "cycle_latency_ms_p50", Unit: "ms", Better: result.Lower, Base: metric(0.4), Change: metric(0.3),
				Ratio: 0.75, RatioLow: 0.72, RatioHigh: 0.78, P: 1, PAdjusted: 1, Effect: 0.01, Detectable: 0.05, Outcome: result.Improved, Because: "is better by 25.00 %: p < 0.0001 after correction",
				Loss: loss(-0.25, -0.29, -0.22, 0.1, 0.75, 0.76, 0.74, 0.75, 0.75, 0.73, 0.77),
			},
			{
				Metric: "cycle_latency_ms_p99", Unit: "ms", Better: result.Lower, P: 1, PAdjusted: 1, Effect: 0.01, Outcome: result.Unclear,
				Because: "cannot be compared: the base has no such figure in generations [1]", Loss: &result.Loss{Margin: 0.25},
			},
			{
				Metric: result.StorageSetsPerCycle, Unit: "keys", Better: result.Lower, Base: result.Metric{Median: 2.1, N: 1}, Change: result.Metric{Median: 2.1, N: 1},
				Ratio: 1, Outcome: result.Same, Because: "is equal",
			},
		},
		Causes: []result.Cause{{Kind: "cpu", Name: "shard.spin", Sentence: "shard.spin takes 1 us more", Score: 1}},
		Search: &result.CauseSearch{
			Generations: 6, Seconds: 46.2, LookedAt: 43, Share: 1.0 / 3, Losses: []result.LostTime{{Of: "server CPU time", Us: 1.04}}, Confidence: 0.95,
		},
		Duet: &result.DuetJudgement{
			Look: 1, Looks: 3, Decided: true, Alpha: 0.004, AlphaAll: 0.005, Confidence: 0.95, Measured: 8, Seconds: 44.3,
			Durability: "none", SliceMs: 25, OpenPerS: 500, Layouts: 2, OwnClients: true,
			Settings: []scenario.Setting{{Path: "topology.listen", Value: "tcp", Default: "unix"}, {Path: "topology.kind", Value: "single"}},
			ServerSettings: []result.SidesSetting{
				{Name: "durability", Base: "none", Change: "none", BaseOrigin: "flag", ChangeOrigin: "flag"},
				{Name: "cache", Base: "64 MiB", Change: "128 MiB", BaseOrigin: "default", ChangeOrigin: "file"},
				{Name: "commit_wait", Change: "1ms", ChangeOrigin: "default", Only: "change"},
				{Name: "yield", Base: "true", BaseOrigin: "default", Only: "base"},
			},
			Shown: []result.DuetFigure{
				{Name: "median slice, server_cpu_us_per_cycle", Unit: "us", Base: 19.8, Change: 20.9},
				{Name: "server CPU used in slices of the other side", Unit: "%", Base: 1.2, Change: 1.3},
			},
			Marks:   []string{"generation 6: slice 17 *stalled*", "generation 6: 2", "generation 6: 3", "generation 6: 4", "generation 6: 5", "generation 6: 6"},
			Invalid: []string{"generation 2: the host *stole* 30 % of the time"},
		},
	}
}

// The text of a duet names the CPUs of its processes.
func TestCPUsOfADuet(t *testing.T) {
	c := duetFixture()
	c.Duet.Together = true
	c.Duet.CPUs = []result.SideCPUs{{Servers: []int{0, 4}, Generator: []int{1}}, {Servers: []int{2, 6}, Generator: []int{3}}}
	s, before := sheet(t), report.ComparisonText(duetFixture())
	s.Equal(t, "simultaneous slices", added(before, report.ComparisonText(c)))
	c.Duet.Together = false
	c.Duet.CPUs = []result.SideCPUs{{Servers: []int{0}, Generator: []int{1}}, {Servers: []int{1}, Generator: []int{0}}}
	s.Equal(t, "alternating slices", added(before, report.ComparisonText(c)))
}

func TestTextOfADuetIsReadAtAGlance(t *testing.T) {
	golden.Text(t, "testdata/golden/duet.txt", report.ComparisonText(duetFixture()))
	unjudged := &result.Comparison{
		Verdict: result.Misconfigured, Reasons: []string{"there is no duet to judge"}, Duet: &result.DuetJudgement{Look: 1, Looks: 3, Decided: true},
	}
	sheet(t).Equal(t, "no duet", report.ComparisonText(unjudged))
}

// For a loss without a cause, the page and the text say so and list what was tested.
func TestADuetWithoutACause(t *testing.T) {
	c := duetFixture()
	c.Causes, c.Search.Generations, c.Search.Losses, c.Search.Share = nil, 0, nil, 0.05
	written, err := report.Render(nil, storedDuet(t, c), t.TempDir())
	require.NoError(t, err)
	s := sheet(t)
	s.Equal(t, "text", added(report.ComparisonText(duetFixture()), report.ComparisonText(c)))
	whole, err := report.Render(nil, storedDuet(t, duetFixture()), t.TempDir())
	require.NoError(t, err)
	s.Equal(t, "page", added(contents(t, whole)["compare-fixture.md"], contents(t, written)["compare-fixture.md"]))
}

// storedDuet stores a judgement with its duet.
func storedDuet(t *testing.T, c *result.Comparison) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, result.WriteComparison(dir, c))
	r, _ := fixture(t, 1, 0)
	said := []result.ServerSettings{{Settings: []result.ServerSetting{{Name: "durability", Value: "none", Origin: "flag"}}}}
	require.NoError(t, result.WriteDuet(dir, &result.Duet{
		Version: result.DuetVersion, Scenario: "fixture", Manifest: r.Manifest,
		Sides: [2]result.DuetSide{
			{Name: "base", Commit: "0123456789ab", Servers: []string{"00ff", "11ff"}, Generator: "22ff", OwnClient: true, Settings: said},
			{Name: "change", Commit: "ba9876543210", Dirty: true, Servers: []string{"ff00", "ff11"}, Generator: "ff22", OwnClient: true, Env: []string{"GOGC=50"}, Settings: said},
		},
	}))
	return dir
}

func TestGoldenPageOfADuet(t *testing.T) {
	c := duetFixture()
	c.Scenario = "duet fixture"
	out := t.TempDir()
	written, err := report.Render(nil, storedDuet(t, c), out)
	require.NoError(t, err)
	assert.Equal(t, []string{"compare-duet-fixture.md", "compare-duet-fixture-ratios.svg"}, bases(written))
	asGolden(t, contents(t, written))
}

func TestDuetIsPublished(t *testing.T) {
	reports := filepath.Join(t.TempDir(), "reports")
	c := duetFixture()
	_, err := report.Publish(nil, storedDuet(t, c), reports)
	var refused *report.UnpublishableError
	require.ErrorAs(t, err, &refused)
	c.Change.Dirty = false
	written, err := report.Publish(nil, storedDuet(t, c), reports)
	require.NoError(t, err)
	data := filepath.Join(reports, "data", "compare-fixture")
	assert.FileExists(t, filepath.Join(data, result.DuetFile+result.PackedSuffix))
	again, err := report.Render(nil, data, t.TempDir())
	require.NoError(t, err)
	assert.Equal(t, contents(t, written), contents(t, again), "made from its own data, byte for byte")
}

// The page of a comparison without a stored limiting resource derives it from the duet.
func TestPageFindsWhatTheSidesOfADuetAreBoundBy(t *testing.T) {
	c := duetFixture()
	c.Change.Bound = nil
	dir := storedDuet(t, c)
	d, err := result.ReadDuet(dir)
	require.NoError(t, err)
	d.Manifest.Scenario.Topology.Procs = 1
	g := result.Generation{Number: 1, Verdict: result.Pass}
	g.Sides[1] = result.GenerationSide{Cycles: 1000, ServerCPUNs: 1.9e9, ClientCPUNs: 1e9, ActiveS: 2}
	d.Generations = append(d.Generations, g)
	require.NoError(t, result.WriteDuet(dir, d))
	written, err := report.Render(nil, dir, dir)
	require.NoError(t, err)
	sheet(t).Equal(t, "bounds", sections(contents(t, written)["comparison.md"])["What limits the rate"])
}

func TestNoFigureOfAnIncorrectDuet(t *testing.T) {
	c := duetFixture()
	c.Verdict = result.Incorrect
	written, err := report.Render(nil, storedDuet(t, c), t.TempDir())
	require.NoError(t, err)
	assert.Equal(t, []string{"compare-fixture.md"}, bases(written))
	assert.NotContains(t, contents(t, written)["compare-fixture.md"], "150,000")
}

func TestDuetThatCannotBeRead(t *testing.T) {
	dir := storedDuet(t, duetFixture())
	require.NoError(t, os.Remove(filepath.Join(dir, result.DuetFile)))
	_, err := report.Render(nil, dir, t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}
