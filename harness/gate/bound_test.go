package gate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// idle is a result in which nothing is saturated. The host has four CPUs, and the servers may use one.
func idle() *result.Result {
	r := base().result(1)
	for i := range r.Rounds {
		r.Rounds[i].Metrics[result.ServerCPUCores] = 0.3
		r.Rounds[i].Processes = []result.Process{{Name: "generator", CPUCores: 0.4}}
	}
	r.Manifest.Host.CPUs = 4
	r.Manifest.Scenario.Topology = scenario.Topology{Shards: 1, Procs: 1}
	r.Manifest.Scenario.Workloads = []scenario.Workload{{Procs: 1, Arrivals: scenario.Arrivals{Kind: scenario.Closed}}}
	r.Metrics = map[string]result.Metric{result.CycleLatencyMs + "_p50": {Median: 1}}
	return r
}

func TestBound(t *testing.T) {
	each := func(do func(*result.Round)) func(*result.Result) {
		return func(r *result.Result) {
			for i := range r.Rounds {
				do(&r.Rounds[i])
			}
		}
	}
	for name, test := range map[string]struct {
		change func(*result.Result)
		by     string
		says   string
	}{
		"nothing": {func(*result.Result) {}, result.BoundWaiting, "the load waits for answers, with as much in flight as its producers and workers allow: "},
		"a load with a schedule": {
			func(r *result.Result) {
				r.Manifest.Scenario.Workloads[0].Arrivals = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 100}}
			}, result.BoundWaiting, "the load arrives at its own rate",
		},
		"the servers' CPUs": {
			each(func(r *result.Round) { r.Metrics[result.ServerCPUCores] = 0.97 }),
			result.BoundServerCPU, "bound by server CPU: the servers keep 0.97 of 1 CPUs busy",
		},
		"the generator's": {
			each(func(r *result.Round) { r.Processes[0].CPUCores = 0.95 }),
			result.BoundClientCPU, "the load generator keeps 0.95 of 1 CPUs busy",
		},
		"all of the host's": {
			func(r *result.Result) {
				each(func(r *result.Round) { r.Metrics[result.ServerCPUCores], r.Processes[0].CPUCores = 2.1, 1.7 })(r)
				r.Manifest.Scenario.Topology.Procs, r.Manifest.Scenario.Workloads[0].Procs = 0, 0
			}, result.BoundServerCPU, "2.1 of 4 CPUs busy",
		},
		"one goroutine": {
			func(r *result.Result) {
				m := base()
				m.stagesUs["decide"], m.stagesUs["apply"] = 8, 10.5
				r.Rounds = m.result(1).Rounds
			}, result.BoundGoroutine, "the goroutine that decides for a shard works 9",
		},
		"the disk": {
			each(func(r *result.Round) { r.Metrics[result.StorageFsyncUsPerCycle] = 19 }),
			result.BoundDisk, "fsyncs take 9",
		},
		"the network": {
			func(r *result.Result) {
				r.Metrics[result.RaftCommitMsMean], r.Metrics[result.RaftAppendMsMean] = result.Metric{Median: 0.9}, result.Metric{Median: 0.2}
			}, result.BoundNetwork, "replication takes 70 % of a cycle's latency",
		},
		"a lock of the client": {
			func(r *result.Result) {
				r.Locks = []result.Lock{
					{Name: "runtime.sysmon", Kind: "runtime", WaitNsPerCycle: 9e6},
					{Name: "client.T.mu", Kind: "mutex", Node: result.GeneratorNode, WaitNsPerCycle: 6e5},
				}
			}, result.BoundLock, "waits for client.T.mu in the load generator take 60 % of a cycle's latency",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := idle()
			test.change(r)
			Describe(r)
			require.NotNil(t, r.Bound)
			assert.Equal(t, test.by, r.Bound.By, r.Bound.Sentence)
			assert.Contains(t, r.Bound.Sentence, test.says)
		})
	}
}

func TestBoundOfResultsThatLackThings(t *testing.T) {
	for _, r := range []*result.Result{{}, {Rounds: []result.Round{{WindowSeconds: 1, Cycles: 10}}}, {Points: []result.Point{{Number: 9}}}} {
		Describe(r)
		assert.Nil(t, r.Bound)
	}
}
