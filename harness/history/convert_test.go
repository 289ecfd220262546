package history_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/history"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// measured returns a result of two timed rounds and a profiled one.
func measured() *result.Result {
	covered := []result.Covered{{Of: result.CoveredCPU, ToS: 10}}
	return &result.Result{
		Version: result.Version, Run: "20261121T171500.123Z-rest", Scenario: "rest", Started: begin.Add(123 * time.Millisecond), Verdict: result.Pass,
		Manifest: result.Manifest{
			Scenario: scenario.Scenario{Name: "rest", Topology: scenario.Topology{Kind: "single", Shards: 1, Durability: "sync"}},
			Host:     result.Host{Arch: "amd64", CPUs: 2, CgroupCPUMax: "max", Virtualisation: "kvm", Filesystem: "ext4", CPUModel: "AMD EPYC"},
			Build:    result.Build{Commit: "0123456789abcdef"},
		},
		Rounds: []result.Round{{Number: 1, Covered: covered}, {Number: 2, Covered: covered}, {Number: 3, Profiled: true}},
		Metrics: map[string]result.Metric{
			result.CyclesPerS: {Median: 1000, Low: 900, High: 1100, N: 2}, result.ServerCPUUsPerCycle: {Median: 4, Low: 3, High: 5, N: 2},
			result.StorageFsyncsPerCycle: {N: 2}, result.ServerRSSMBMax: {Median: 100, Low: 90, High: 110, N: 2},
			result.Lost: {N: 3}, result.SlipMs + "_p99": {Median: 1, N: 2}, result.ClientCPUUsPerCycle: {},
		},
		References: []result.Reference{{
			Name: scenario.ReferenceEcho, PerS: result.Metric{Median: 5000, Low: 4000, High: 6000}, CPUUs: result.Metric{Median: 20, Low: 10, High: 30},
		}},
	}
}

func TestTheRecordOfAResult(t *testing.T) {
	r := measured()
	tagged := history.Commit{Committed: begin.Add(-time.Hour), Tag: "v1"}
	records, err := history.FromResult(r, tagged)
	require.NoError(t, err)
	assert.Equal(t, []history.Record{{
		Version: history.Version, Scenario: "rest", Run: r.Run, Measured: begin, Commit: "0123456789abcdef", Committed: tagged.Committed, Tag: "v1",
		HostClass: "2-cpus-amd64-virtual-ext4", CPUModel: "AMD EPYC", Durability: "sync", Settings: r.Manifest.Scenario.Configuration(), Rounds: 2, Verdict: result.Pass,
		Metrics: map[string]history.Figure{
			result.CyclesPerS: {Median: 1000, Low: 900, High: 1100}, result.ServerCPUUsPerCycle: {Median: 4, Low: 3, High: 5},
			result.StorageFsyncsPerCycle: {}, result.ServerRSSMBMax: {Median: 100, Low: 90, High: 110},
		},
		References: map[string]history.Reference{
			"echo": {PerS: history.Figure{Median: 5000, Low: 4000, High: 6000}, CPUUs: history.Figure{Median: 20, Low: 10, High: 30}},
		},
	}}, records, "a figure of 0 is kept, a metric without rounds and other figures are not")
	require.NoError(t, history.Append(t.TempDir(), records...))
}

// A record has the bare data path if its conditions match those of the record's point.
func TestARecordHasTheBareDataPathOfItsConditions(t *testing.T) {
	r := measured()
	metric := func(v float64) result.Metric { return result.Metric{Median: v, Low: v, High: v, N: 8} }
	r.Manifest.Scenario.Workloads = []scenario.Workload{{Name: "main", Batch: 1}}
	r.References = append(r.References, result.Reference{
		Name: scenario.ReferenceBare, Batch: 1, Durability: "sync", PerS: metric(2000), CPUUs: metric(3), ServerCPUUs: new(metric(2)), ClientCPUUs: new(metric(1)),
	})
	records, err := history.FromResult(r, history.Commit{})
	require.NoError(t, err)
	figure := func(v float64) history.Figure { return history.Figure{Median: v, Low: v, High: v} }
	assert.Equal(t, history.Reference{PerS: figure(2000), CPUUs: figure(3), ServerCPUUs: new(figure(2)), ClientCPUUs: new(figure(1))}, records[0].References["bare"])
	dir := t.TempDir()
	require.NoError(t, history.Append(dir, records...))
	read, err := history.ReadAll(dir)
	require.NoError(t, err)
	assert.Equal(t, records[0].References, read[0].References)

	r.References[1].Durability = "none"
	records, err = history.FromResult(r, history.Commit{})
	require.NoError(t, err)
	assert.NotContains(t, records[0].References, "bare")
	assert.Contains(t, records[0].References, "echo")
}

// Figures per cycle are too small in results that do not record the covered time.
func TestFiguresThatDoNotCoverTheWindowAreLeftOut(t *testing.T) {
	r := measured()
	r.Rounds[1].Covered = nil
	records, err := history.FromResult(r, history.Commit{})
	require.NoError(t, err)
	assert.Equal(t, map[string]history.Figure{
		result.CyclesPerS: {Median: 1000, Low: 900, High: 1100}, result.ServerRSSMBMax: {Median: 100, Low: 90, High: 110},
	}, records[0].Metrics)
	assert.True(t, records[0].Committed.IsZero())
}

// For a sweep, the first and the last point have records, each with its own settings, durability
// and rounds.
func TestTheRecordsOfASweep(t *testing.T) {
	r := measured()
	r.Manifest.Scenario.Sweeps = []scenario.Sweep{{Path: "topology.durability", Values: []string{"sync", "interval", "none"}}}
	rate := map[string]result.Metric{result.CyclesPerS: {Median: 7, Low: 6, High: 8, N: 1}}
	for i, value := range []string{"sync", "interval", "none"} {
		r.Points = append(r.Points, result.Point{
			Number: i + 1, Name: "durability=" + value, Metrics: rate, Values: []result.Value{{Path: "topology.durability", Key: "durability", Text: value}},
		})
		r.Rounds[i].Point = i + 1
	}
	r.Rounds[2].Profiled = false
	records, err := history.FromResult(r, history.Commit{})
	require.NoError(t, err)
	require.Len(t, records, 2)
	assert.Equal(t, "durability=sync", records[0].Point)
	assert.Equal(t, "sync", records[0].Durability)
	assert.Equal(t, "durability=none", records[1].Point)
	assert.Equal(t, "none", records[1].Durability)
	assert.Equal(t, 1, records[1].Rounds)
	assert.NotEqual(t, records[0].Settings, records[1].Settings)
	require.NoError(t, history.Append(t.TempDir(), records...))
}

func TestResultsWithoutARecord(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*result.Result)
		reason string
	}{
		"misconfigured":  {func(r *result.Result) { r.Verdict = result.Misconfigured }, "its verdict is misconfigured, so its figures are not valid"},
		"invalid":        {func(r *result.Result) { r.Verdict = result.Invalid }, "its verdict is invalid, so its figures are not valid"},
		"a dirty tree":   {func(r *result.Result) { r.Manifest.Build.Dirty = true }, "measured from a tree with uncommitted changes"},
		"fewer rounds":   {func(r *result.Result) { r.Manifest.Scenario.FileRounds = 9 }, "0 rounds instead of the 9 of the scenario's file"},
		"no commit":      {func(r *result.Result) { r.Manifest.Build.Commit = "" }, `commit is "": it must be 7 to 64 hexadecimal digits`},
		"no scenario":    {func(r *result.Result) { r.Manifest.Scenario = scenario.Scenario{} }, "its scenario was not recorded, so it cannot be compared"},
		"other hosts":    {func(r *result.Result) { r.Manifest.Scenario.Topology.Kind = scenario.Remote }, "its servers were not on the generator's host, whose class is the only one known"},
		"other products": {func(r *result.Result) { r.Manifest.Scenario.Topology.Kind = scenario.ByProgram }, "its servers are other products, which no commit changes"},
		"no headline":    {func(r *result.Result) { r.Metrics = nil }, "it has no headline figure"},
	} {
		t.Run(name, func(t *testing.T) {
			r := measured()
			c.change(r)
			records, err := history.FromResult(r, history.Commit{})
			require.Error(t, err)
			assert.Equal(t, c.reason, history.Dropped(err))
			assert.Nil(t, records)
		})
	}
	assert.Empty(t, history.Dropped(nil))
}

// A run is recorded with any valid verdict; an incorrect one without figures, because they mean
// nothing.
func TestRecordsOfRunsThatDoNotPass(t *testing.T) {
	for _, v := range []result.Verdict{result.Regressed, result.Inconclusive, result.Incorrect} {
		r := measured()
		r.Verdict = v
		records, err := history.FromResult(r, history.Commit{})
		require.NoError(t, err)
		require.Len(t, records, 1)
		assert.Equal(t, v, records[0].Verdict)
		assert.Equal(t, v != result.Incorrect, len(records[0].Metrics) > 0, v)
		assert.Equal(t, v != result.Incorrect, len(records[0].References) > 0, v)
		dir := t.TempDir()
		require.NoError(t, history.Append(dir, records...))
		read, err := history.ReadAll(dir)
		require.NoError(t, err)
		assert.Equal(t, records, read)
	}
}
