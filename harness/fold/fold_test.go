package fold

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// part returns an instance whose cycles all took the given time.
func part(t *testing.T, name string, share float64, cycles int, took time.Duration) *k6run.Instance {
	t.Helper()
	h := result.NewHistograms()
	for _, kind := range h.Kinds() {
		require.NoError(t, kind.Histogram.RecordValues(int64(took), int64(cycles)))
	}
	histograms, err := h.Encode()
	require.NoError(t, err)
	return &k6run.Instance{
		Version: k6run.Version, Name: name, Share: share, Arrivals: scenario.Arrivals{Kind: scenario.Closed},
		Phases: scenario.Phases{Warmup: time.Second, Window: 10 * time.Second, Drain: time.Second},
		Outcome: k6run.Outcome{
			Cycles: uint64(cycles), Enqueued: uint64(cycles), Histograms: histograms, Drained: true,
			Ledger: result.Ledger{Enqueued: uint64(cycles) + 5, Completed: uint64(cycles) + 5},
		},
	}
}

// Percentiles are computed from all cycles together: here the slow instance has one of 101 cycles.
func TestFold(t *testing.T) {
	t.Parallel()
	f, err := Fold([]*k6run.Instance{part(t, "i1", 0.25, 20, 100*time.Millisecond), part(t, "i0", 0.75, 980, time.Millisecond)})
	require.NoError(t, err)
	assert.Equal(t, result.Pass, f.Verdict, f.Reasons)
	assert.Equal(t, []Part{
		{Name: "i0", Share: 0.75, Cycles: 980, CyclesPerS: 98, Enqueued: 985, Completed: 985},
		{Name: "i1", Share: 0.25, Cycles: 20, CyclesPerS: 2, Enqueued: 25, Completed: 25},
	}, f.Instances)
	assert.Equal(t, uint64(1000), f.Cycles)
	assert.InEpsilon(t, 100, f.Metrics[result.CyclesPerS], 1e-9)
	assert.Equal(t, uint64(1010), f.Ledger.Completed)
	assert.InEpsilon(t, 1, f.Metrics["cycle_latency_ms_p50"], 0.01)
	assert.InEpsilon(t, 100, f.Metrics["cycle_latency_ms_p99"], 0.01, "not the mean of 1 and 100 ms")
	merged, err := result.DecodeHistograms(f.Histograms)
	require.NoError(t, err)
	assert.Equal(t, int64(1000), merged.Cycle.TotalCount())
}

// Accounts that do not balance, of one instance or in total, are reported with the instance.
func TestFoldChecksTheAccounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*k6run.Instance)
		verdict result.Verdict
		says    string
	}{
		"lost": {func(i *k6run.Instance) {
			i.Outcome.Ledger.Lost, i.Outcome.Ledger.Samples = 1, []string{"lost: a"}
		}, result.Incorrect, "i1: the ledger does not balance: 1 lost, 0 duplicated, 0 corrupted of 25 tasks enqueued; the first: lost: a"},
		"not drained": {func(i *k6run.Instance) { i.Outcome.Drained = false }, result.Incorrect, "i1: not all tasks were completed within 1s after the window"},
		"refused": {
			func(i *k6run.Instance) { i.Outcome.RefusedCompletions = load.Refusals{Count: 2, First: "gone"} }, result.Incorrect,
			"i1: the server refused 2 completions of tasks that it had leased: gone",
		},
		"failed":          {func(i *k6run.Instance) { i.Outcome.FailedCalls = load.Refusals{Count: 2, First: "cut"} }, result.Invalid, "i1: 2 calls of the script failed; the first: cut"},
		"too many cycles": {func(i *k6run.Instance) { i.Outcome.Cycles = 100 }, result.Incorrect, "1080 cycles were completed in the windows, but the ledgers have 1010 completions"},
	} {
		bad := part(t, "i1", 0.5, 20, time.Millisecond)
		c.change(bad)
		f, err := Fold([]*k6run.Instance{part(t, "i0", 0.5, 980, time.Millisecond), bad})
		require.NoError(t, err, name)
		assert.Equal(t, c.verdict, f.Verdict, name)
		assert.Equal(t, []string{c.says}, f.Reasons, name)
	}
}

// Parts of different loads are an error.
func TestFoldRefusesPartsOfOtherLoads(t *testing.T) {
	t.Parallel()
	one := part(t, "i0", 0.5, 10, time.Millisecond)
	for says, other := range map[string]func(*k6run.Instance){
		"two instances are named i0":                                     func(i *k6run.Instance) { i.Name = "i0" },
		"i0 and i1 have different phases":                                func(i *k6run.Instance) { i.Phases.Window++ },
		"i0 and i1 have different arrivals":                              func(i *k6run.Instance) { i.Arrivals.Kind = scenario.Open },
		"i0 and i1 are not both open loads":                              func(i *k6run.Instance) { i.Outcome.Open = &result.Arrivals{} },
		"the instances have 0.75 of the load in total, expected 1: pass": func(i *k6run.Instance) { i.Share = 0.25 },
		"the histograms of i1: ":                                         func(i *k6run.Instance) { i.Outcome.Histograms["cycle"] = "nonsense" },
	} {
		second := part(t, "i1", 0.5, 10, time.Millisecond)
		other(second)
		_, err := Fold([]*k6run.Instance{one, second})
		require.ErrorContains(t, err, says)
	}
	_, err := Fold(nil)
	require.ErrorContains(t, err, "there is no instance")
}

// The arrivals of an open load are added up, and the sums must balance.
func TestFoldOfAnOpenLoad(t *testing.T) {
	t.Parallel()
	open := func(name string, a result.Arrivals) *k6run.Instance {
		i := part(t, name, 0.5, 10, time.Millisecond)
		h := result.NewHistograms()
		h.Slip, h.Service = result.NewHistogram(), result.NewHistogram()
		for _, kind := range h.Kinds() {
			require.NoError(t, kind.Histogram.RecordValues(int64(time.Millisecond), 10))
		}
		var err error
		i.Outcome.Histograms, err = h.Encode()
		require.NoError(t, err)
		i.Outcome.Open = &a
		return i
	}
	f, err := Fold([]*k6run.Instance{open("i0", result.Arrivals{PerSecond: 1, Scheduled: 10, Finished: 9, Dropped: 1}), open("i1", result.Arrivals{PerSecond: 1, Scheduled: 10, Finished: 10})})
	require.NoError(t, err)
	assert.Equal(t, result.Pass, f.Verdict, f.Reasons)
	assert.Equal(t, &result.Arrivals{PerSecond: 2, Scheduled: 20, Finished: 19, Dropped: 1}, f.Arrivals)
	assert.InEpsilon(t, 2, f.Metrics[result.OfferedPerS], 1e-9)
	f, err = Fold([]*k6run.Instance{open("i0", result.Arrivals{Scheduled: 10, Finished: 9}), open("i1", result.Arrivals{Scheduled: 10, Finished: 10})})
	require.NoError(t, err)
	assert.Equal(t, result.Incorrect, f.Verdict)
	assert.Equal(t, []string{"20 arrivals were scheduled, but the account has 19"}, f.Reasons)
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, v any) string {
		path := filepath.Join(dir, name)
		text, err := json.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return path
	}
	one := part(t, "i0", 1, 10, time.Millisecond)
	read, err := Read(write("good", one))
	require.NoError(t, err)
	assert.Equal(t, one, read)
	old := *one
	old.Version = 1
	nameless := *one
	nameless.Name = ""
	for says, path := range map[string]string{
		"PRONY_OUTCOME names the file":   filepath.Join(dir, "missing"),
		"is not the file of an instance": write("text", "text"),
		"has version 1":                  write("old", old),
		"lacks its name":                 write("nameless", nameless),
	} {
		_, err := Read(path)
		require.ErrorContains(t, err, says)
	}
}
