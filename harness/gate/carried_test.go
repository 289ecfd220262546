package gate

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// carrying returns a good result whose scenario carries the limits and has no baseline.
func carrying(limits ...scenario.Limit) *result.Result {
	r := good()
	r.Scenario = "carrier"
	r.Manifest.Scenario.Limits = limits
	return r
}

func floorAt(min float64, where string) scenario.Limit {
	return scenario.Limit{Metric: "cycles_per_s", Min: &min, Because: "it matters", Where: where}
}

// A stored run without a baseline is judged by the limits that its scenario carried. There is no
// warning about the missing baseline.
func TestCheckByCarriedLimits(t *testing.T) {
	b, err := baselines(t, testBaseline)
	require.NoError(t, err)
	rate := good().Metrics["cycles_per_s"].Median
	report := Check(b, carrying(floorAt(rate, "s.hcl:1:1")))
	assert.Equal(t, result.Pass, report.Verdict, report.Reasons)
	assert.Empty(t, report.Warnings)
	require.Len(t, report.Findings, 4)
	assert.Equal(t, "it matters", report.Findings[0].Because)

	report = Check(b, carrying(floorAt(rate+1, "s.hcl:1:1")))
	assert.Equal(t, result.Regressed, report.Verdict)
	report = Check(b, carrying(scenario.Limit{Metric: "cycle_latency_ms_p99", Max: new(0.001), Because: "x"}))
	assert.Equal(t, result.Regressed, report.Verdict, "a max is a ceiling")
	report = Check(nil, carrying(floorAt(rate+1, "s.hcl:1:1")))
	assert.Equal(t, result.Regressed, report.Verdict)

	ratio := carrying(scenario.Limit{Metric: "cycles_per_s", OfBaseline: new(0.9), Because: "x"})
	report = Check(b, ratio)
	assert.Equal(t, result.Pass, report.Verdict, "no baseline build was measured")
	assert.False(t, report.Findings[0].Judged)
	golden.Text(t, "testdata/notcompared.golden", strings.Join(report.Warnings, "\n")+"\n")

	none := carrying(floorAt(rate, "s.hcl:1:1"))
	none.Rounds, none.Metrics = nil, nil
	assert.Equal(t, result.Regressed, Check(b, none).Verdict, "a run without figures breaks the limits that it carries")
}

// The limits of a baseline and of a scenario are judged together. A limit in both is refused with
// both places.
func TestCheckByBoth(t *testing.T) {
	b, err := baselines(t, testBaseline)
	require.NoError(t, err)
	r := good()
	own := scenario.Limit{Metric: "storage_gets_per_cycle", Max: new(0.0), Because: "x", Where: "s.hcl:3:3"}
	r.Manifest.Scenario.Limits = []scenario.Limit{own}
	delete(r.Metrics, own.Metric)
	smoke, _ := b.For("smoke")
	report := Check(b, r)
	assert.Equal(t, result.Regressed, report.Verdict)
	assert.False(t, report.Findings[slices.IndexFunc(report.Findings, func(f Finding) bool { return f.Metric == own.Metric })].OK)
	require.Greater(t, len(report.Findings), len(smoke.Limits))

	r = good()
	r.Manifest.Scenario.Limits = []scenario.Limit{floorAt(1, "s.hcl:3:3")}
	report = Check(b, r)
	assert.Equal(t, result.Misconfigured, report.Verdict)
	require.NotEmpty(t, report.Reasons)
	assert.Regexp(t, `^cycles_per_s has two limits, at .*one\.hcl:\d+:3 and at s\.hcl:3:3: keep one of the two$`, report.Reasons[0])

	// A run of another configuration is judged by the limits that it carried.
	b, _ = withConfiguration(t, good())
	r = carrying(floorAt(1e9, "s.hcl:3:3"))
	r.Scenario = "smoke"
	r.Manifest.Scenario.Phases.Window = 5
	report = Check(b, r)
	assert.Equal(t, result.Misconfigured, report.Verdict)
	assert.Len(t, report.Findings, 4)
	assert.False(t, report.Findings[0].OK)
}

// A limit that cannot be judged prevents a pass.
func TestCarriedLimitsThatCantBeJudged(t *testing.T) {
	s := golden.Cases(t, "testdata/carried.golden")
	for name, c := range map[string]struct {
		limit scenario.Limit
	}{
		"unknown":    {scenario.Limit{Metric: "colour", Min: new(1.0)}},
		"wrong side": {scenario.Limit{Metric: "cycles_per_s", Max: new(1.0)}},
		"other side": {scenario.Limit{Metric: "cpu_us_per_cycle", Min: new(1.0)}},
		"no bound":   {scenario.Limit{Metric: "cpu_us_per_cycle"}},
		"both":       {scenario.Limit{Metric: "cpu_us_per_cycle", Min: new(1.0), Max: new(1.0)}},
		"ledger":     {scenario.Limit{Metric: "lost", Max: new(1.0)}},
		"zero":       {scenario.Limit{Metric: "cpu_us_per_cycle", Max: new(0.0)}},
	} {
		c.limit.Where = "s.hcl:3:3"
		report := Check(nil, carrying(c.limit))
		assert.Equal(t, result.Misconfigured, report.Verdict, name)
		require.Len(t, report.Reasons, 1, name)
		s.Equal(t, name, report.Reasons[0])
	}
}

// Checked-in scenarios have no limit that their baseline has too, and all their limits can be
// judged.
func TestLimitsOfTheRepository(t *testing.T) {
	b, err := LoadBaselines("../../baselines")
	require.NoError(t, err)
	files, err := scenario.Find("../../scenarios")
	require.NoError(t, err)
	all, err := scenario.LoadChecked(nil, scenario.Checks{Limit: CheckLimit}, files...)
	require.NoError(t, err)
	for _, s := range all {
		own, unfit := carried(&result.Result{Manifest: result.Manifest{Scenario: *s}})
		assert.Empty(t, unfit, s.Name)
		baseline, _ := b.For(s.Name)
		_, twice := joined(baseline, own)
		assert.Empty(t, twice, filepath.Base(s.File))
	}
}

// A floor on fsyncs protects the promised durability, although fewer fsyncs are cheaper.
func TestFloorOnWhatIsPromised(t *testing.T) {
	b, err := baselines(t, testBaseline)
	require.NoError(t, err)
	fsyncs := scenario.Limit{Metric: result.StorageFsyncsPerCycle, Min: new(0.002), Because: "each acknowledgement waits for one"}
	most := fsyncs
	most.Min, most.Max = nil, new(0.006)
	for value, verdict := range map[float64]result.Verdict{0.003: result.Pass, 0.001: result.Regressed, 0.007: result.Regressed} {
		r := carrying(fsyncs, most)
		r.Metrics[result.StorageFsyncsPerCycle] = result.Metric{Median: value, Low: value, High: value, N: 3}
		assert.Equal(t, verdict, Check(b, r).Verdict, value)
	}
}
