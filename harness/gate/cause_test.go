package gate

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// made is a result with a second of load, 50,000 cycles, and some seconds of profile, whose every figure a test may change.
type made struct {
	cycles   float64 // a second
	profiled float64 // seconds
	metrics  map[string]float64
	stagesUs map[string]float64 // a batch
	cpuUs    map[string]float64 // a cycle, by function
	allocs   map[string]float64 // bytes a cycle, by function
	locks    []result.Lock
}

const (
	own   = module + "engine/"
	batch = 7 // cycles
)

func base() *made {
	return &made{
		cycles: 50_000, profiled: 1,
		metrics: map[string]float64{
			result.ServerCPUCores: 0.5, result.ServerCPUUsPerCycle: 10,
			result.EnqueueLatencyMs + "_p50": 0.12, result.SettleLatencyMs + "_p50": 0.12,
			result.StorageFsyncsPerCycle: 1e-4, result.StorageFsyncUsPerCycle: 0.2, result.StorageScannedPerCycle: 0,
		},
		stagesUs: map[string]float64{"inbox": 12, "decide": 6, "apply": 10, "commit_wait": 3, "commit": 5, "reply": 9},
		cpuUs: map[string]float64{
			own + "storage.(*Store).apply": 2.5, own + "rpc.(*produceStream).receive": 2, own + "queue.(*State).Enqueue": 1.5,
			"syscall": 2, result.ChargeScheduling: 1.5, result.ChargeGC: 0.5,
		},
		allocs: map[string]float64{own + "rpc.leasedTasks": 300, own + "queue.(*State).addLease": 1300},
		locks: []result.Lock{{
			Name: "shard.inbox.mu", Kind: "mutex", WaitNsPerCycle: 4, Share: 1,
			Holders: []result.LockSite{{Function: own + "shard.(*inbox).put"}}, Waiters: []result.LockSite{{Function: own + "shard.(*inbox).take"}},
		}},
	}
}

// result makes the result, with counts as a profiler would sample them.
func (m *made) result(seed uint64) *result.Result {
	random := rand.New(rand.NewPCG(seed, seed))
	cycles := uint64(m.cycles)
	timed := result.Round{Number: 1, WindowSeconds: 1, Cycles: cycles, Metrics: m.metrics}
	for _, name := range []string{"inbox", "decide", "apply", "commit_wait", "commit", "reply"} {
		buckets := make([]uint64, 25)
		us, i := m.stagesUs[name], 0
		for bound := 1.0; bound < us && i < 24; i++ {
			bound *= 2
		}
		buckets[i] = cycles / batch
		timed.Stages = append(timed.Stages, result.StageOf(name, us*float64(cycles)/batch/1e3, buckets))
	}
	r := &result.Result{Rounds: []result.Round{timed, {Number: 2, Profiled: true, WindowSeconds: m.profiled, Cycles: uint64(m.cycles * m.profiled)}}, Locks: m.locks}
	const period = 1e4 // us a sample
	cpu := result.Profile{Kind: "cpu"}
	for _, f := range slices.Sorted(maps.Keys(m.cpuUs)) {
		us := m.cpuUs[f]
		n := poisson(random, us*m.cycles*m.profiled/period)
		c := result.Charge{Function: f, Value: n * period * 1e3, Samples: uint64(n)}
		if f == own+"x.work" {
			c.Callers = []string{own + "x.(*T).caller"}
		}
		cpu.Charges = append(cpu.Charges, c)
		cpu.Total += c.Value
	}
	allocs := result.Profile{Kind: "allocs"}
	for f, n := range m.allocs {
		c := result.Charge{Function: f, Value: n * m.cycles * m.profiled, Samples: uint64(m.cycles)}
		if f == own+"x.work" {
			c.Callers = []string{own + "x.(*T).caller"}
		}
		allocs.Charges = append(allocs.Charges, c)
		allocs.Total += c.Value
	}
	r.Profiles = []result.Profile{cpu, allocs}
	return r
}

func poisson(r *rand.Rand, mean float64) (n float64) {
	for left := mean; ; n++ {
		if left -= r.ExpFloat64(); left < 0 {
			return n
		}
	}
}

// slower scales all that a slower host makes slower.
func (m *made) slower(by float64) *made {
	m.cycles /= by
	for _, name := range []string{result.ServerCPUUsPerCycle, result.EnqueueLatencyMs + "_p50", result.SettleLatencyMs + "_p50", result.StorageFsyncUsPerCycle} {
		m.metrics[name] *= by
	}
	for _, of := range []map[string]float64{m.stagesUs, m.cpuUs} {
		for name := range of {
			of[name] *= by
		}
	}
	for i := range m.locks {
		m.locks[i].WaitNsPerCycle *= by
	}
	return m
}

// A build beside itself is accused of nothing, on whatever host, and however the samples fall. The draws are always the same
// ones: chance accuses of a profile of a second once in some thousands, which would fail a test of fresh draws now and then.
func TestTheSameBuildIsNotAccused(t *testing.T) {
	const draws = 600
	random := rand.New(rand.NewPCG(1, 1))
	for draw := range draws {
		by := 0.5 + 1.5*float64(draw)/draws // how much slower the host is
		same, beside := base(), base().slower(by)
		same.profiled = []float64{1, 10, 60}[draw%3] // seconds
		beside.profiled = same.profiled
		require.Empty(t, Causes(same.result(random.Uint64()), beside.result(random.Uint64())), "draw %d", draw)
	}
}

func TestCausesNameWhatChanged(t *testing.T) {
	tests := map[string]struct {
		change func(*made)
		kind   string
		name   string
		says   []string
	}{
		"an fsync per cycle": {func(m *made) {
			m.cycles = 2_000
			m.metrics[result.StorageFsyncsPerCycle], m.metrics[result.StorageFsyncUsPerCycle] = 1, 400
			m.metrics[result.ServerCPUUsPerCycle], m.metrics[result.ServerCPUCores] = 40, 0.1
			m.stagesUs["decide"], m.metrics[result.EnqueueLatencyMs+"_p50"] = 2_800, 6
		}, "fsync", "prony_storage_fsyncs_total", []string{"1 fsyncs a cycle, next to none before", "400 µs each"}},
		"a function that allocates": {func(m *made) {
			m.cycles = 20_000
			m.allocs[own+"x.work"], m.cpuUs[own+"x.work"], m.cpuUs[result.ChargeGC] = 64<<10, 15, 8
		}, "allocation", own + "x.work", []string{"x.work, called by x.(*T).caller, allocates 65.5 kB a cycle, 0 B before"}},
		"a scan": {func(m *made) {
			m.metrics[result.StorageScannedPerCycle] = 500
			m.cpuUs[own+"storage.(*Store).scan"] = 14
		}, "scan", own + "storage.(*Store).scan", []string{"scans in storage.(*Store).scan step over 500 keys a cycle", "none before"}},
		"a lock whose holder computes": {func(m *made) {
			m.cpuUs[own+"x.work"] = 4
			m.locks = append(m.locks, result.Lock{
				Name: "x.T.mu", Kind: "mutex", WaitNsPerCycle: 150, Share: 0.62,
				Holders: []result.LockSite{{Function: own + "x.(*T).caller"}}, Waiters: []result.LockSite{{Function: own + "x.(*T).other"}},
			})
		}, "lock", "x.T.mu", []string{"62 % of all waiting for locks is for x.T.mu, held by x.(*T).caller and wanted by x.(*T).other: 150 ns of waiting a cycle", "µs of CPU a cycle"}},
		"a lock that is waited for": {
			func(m *made) { m.locks[0].WaitNsPerCycle = 5_000 },
			"lock", "shard.inbox.mu",
			[]string{"held by shard.(*inbox).put", "5.00 µs of waiting a cycle, 35.0 µs a batch"},
		},
		"a full channel": {func(m *made) {
			m.locks = append(m.locks, result.Lock{
				Name: "x.T.c", Kind: "channel", WaitNsPerCycle: 6_000, Share: 0.9, Waiters: []result.LockSite{{Function: own + "x.send"}},
			})
		}, "channel", "x.T.c", []string{"90 % of all waiting for locks is for x.T.c and filled by x.send"}},
		"a function that computes": {
			func(m *made) { m.cpuUs[own+"x.work"] = 5 },
			"cpu", own + "x.work",
			[]string{"x.work, called by x.(*T).caller, takes", "of CPU a cycle, 0 ns before"},
		},
		"a timer": {func(m *made) {
			m.cycles = 1_500
			m.metrics[result.ServerCPUUsPerCycle], m.metrics[result.ServerCPUCores] = 70, 0.1
			m.stagesUs["apply"], m.metrics[result.EnqueueLatencyMs+"_p50"] = 2_100, 4
		}, "timer", "apply", []string{"stage apply takes 2.10 ms a batch, 10.0 µs before", "a timer or a sleep"}},
		"a sleep outside the stages": {func(m *made) {
			m.cycles = 2_000
			m.metrics[result.ServerCPUUsPerCycle], m.metrics[result.ServerCPUCores] = 60, 0.12
			m.metrics[result.SettleLatencyMs+"_p50"] = 4
		}, "rpc", "settle", []string{"a call to settle takes 4.00 ms, 120 µs before", "outside the shards' stages"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			changed := base()
			test.change(changed)
			causes := Causes(base().result(1), changed.result(2))
			require.NotEmpty(t, causes)
			assert.Equal(t, test.kind, causes[0].Kind, "%+v", causes)
			assert.Equal(t, test.name, causes[0].Name)
			for _, says := range test.says {
				assert.Contains(t, causes[0].Sentence, says)
			}
			assert.Len(t, causes, 1, "what one cause explains is not another's: %+v", causes)
			assert.Empty(t, Causes(changed.result(3), base().result(4)), "what is gone is no cause")
		})
	}
}

// What is missing accuses nobody, and breaks nothing.
func TestCausesOfResultsThatLackThings(t *testing.T) {
	full := base().result(1)
	slow := base().slower(10).result(2)
	bare := &result.Result{Rounds: []result.Round{{WindowSeconds: 1, Cycles: 10}}}
	for _, r := range []*result.Result{nil, {}, bare, {Rounds: []result.Round{{Profiled: true, Cycles: 5}}}, {Points: []result.Point{{}}}} {
		assert.Empty(t, Causes(full, r))
		assert.Empty(t, Causes(r, slow))
		assert.Empty(t, Costs(r))
	}
}

func TestCostsSayWhereTheTimeGoes(t *testing.T) {
	m := base()
	m.locks[0].WaitNsPerCycle = 900
	m.metrics[result.StorageFsyncsPerCycle], m.metrics[result.StorageFsyncUsPerCycle] = 0.01, 4
	costs := Costs(m.result(1))
	require.NotEmpty(t, costs)
	var all strings.Builder
	for i, c := range costs {
		all.WriteString(c.Sentence + "\n")
		if i > 0 {
			assert.LessOrEqual(t, c.Score, costs[i-1].Score, "the largest first")
		}
	}
	for _, says := range []string{
		"stage apply takes 10.0 µs a batch", "fsyncs take 4.00 µs a cycle, 400 µs each", "storage.(*Store).apply takes", "held by shard.(*inbox).put and wanted by shard.(*inbox).take: 900 ns of waiting a cycle",
	} {
		assert.Contains(t, all.String(), says)
	}
}

// The diagnosis finds faults by what they do: it knows nothing of those that tests plant.
func TestNoRuleKnowsThePlantedFaults(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	seen := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || !strings.HasPrefix(file, "cause") && file != "evidence.go" && file != "costs.go" {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NotContains(t, strings.ToLower(string(text)), "planted", file)
		seen++
	}
	assert.Equal(t, 5, seen)
}
