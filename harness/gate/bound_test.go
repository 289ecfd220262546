package gate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// idle returns a result in which no resource is saturated. The host has four CPUs, and the servers
// may use one.
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

// waiting returns a change of a round in which a thread waited for a CPU for the given percentage
// of the time.
func waiting(percent float64) func(*result.Round) {
	return func(r *result.Round) { r.Signals = &result.Signals{PressureCPUPercent: &percent} }
}

func TestBound(t *testing.T) {
	each := func(do func(*result.Round)) func(*result.Result) {
		return func(r *result.Result) {
			for i := range r.Rounds {
				do(&r.Rounds[i])
			}
		}
	}
	s := golden.Cases(t, "testdata/bounds.golden")
	for name, test := range map[string]struct {
		change func(*result.Result)
		by     string
	}{
		"nothing": {func(*result.Result) {}, result.BoundWaiting},
		"a load with a schedule": {
			func(r *result.Result) {
				r.Manifest.Scenario.Workloads[0].Arrivals = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 100}}
			}, result.BoundWaiting,
		},
		"the servers' CPUs": {
			each(func(r *result.Round) { r.Metrics[result.ServerCPUCores] = 0.97 }),
			result.BoundServerCPU,
		},
		"the generator's": {
			each(func(r *result.Round) { r.Processes[0].CPUCores = 0.95 }),
			result.BoundClientCPU,
		},
		"all of the host's": {
			func(r *result.Result) {
				each(func(r *result.Round) { r.Metrics[result.ServerCPUCores], r.Processes[0].CPUCores = 2.1, 1.7 })(r)
				r.Manifest.Scenario.Topology.Procs, r.Manifest.Scenario.Workloads[0].Procs = 0, 0
			}, result.BoundServerCPU,
		},
		"CPUs that threads wait for": {
			func(r *result.Result) {
				each(waiting(46))(r)
				r.Manifest.Host.CPUs = 1
			}, result.BoundHostCPU,
		},
		"CPUs that threads seldom wait for": {
			func(r *result.Result) {
				each(waiting(20))(r)
				r.Manifest.Host.CPUs = 1
			}, result.BoundWaiting,
		},
		"idle CPUs that threads wait for": {
			each(waiting(46)), result.BoundWaiting,
		},
		"CPUs that no thread waits for": {each(waiting(0.4)), result.BoundWaiting},
		"one side's CPUs and waiting threads": {
			each(func(r *result.Round) {
				waiting(60)(r)
				r.Metrics[result.ServerCPUCores] = 0.97
			}), result.BoundServerCPU,
		},
		"waiting threads with a scheduled load": {
			func(r *result.Result) {
				each(waiting(60))(r)
				r.Manifest.Scenario.Workloads[0].Arrivals = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 100}}
			}, result.BoundWaiting,
		},
		"waiting threads on the generator's separate host": {
			func(r *result.Result) {
				each(waiting(60))(r)
				r.Manifest.Scenario.Topology.Kind = scenario.Remote
				r.Manifest.Hosts = []result.ServerHost{{GOMAXPROCS: 8}}
			}, result.BoundWaiting,
		},
		"servers on separate hosts": {
			func(r *result.Result) {
				each(func(r *result.Round) { r.Metrics[result.ServerCPUCores], r.Processes[0].CPUCores = 14.1, 0.9 })(r)
				r.Manifest.Scenario.Topology.Kind, r.Manifest.Scenario.Workloads[0].Procs = scenario.Remote, 0
				r.Manifest.Hosts = []result.ServerHost{{GOMAXPROCS: 8}, {GOMAXPROCS: 8}}
			}, result.BoundServerCPU,
		},
		"a generator with servers on separate hosts": {
			func(r *result.Result) {
				each(func(r *result.Round) { r.Metrics[result.ServerCPUCores], r.Processes[0].CPUCores = 3.9, 3.8 })(r)
				r.Manifest.Scenario.Topology.Kind, r.Manifest.Scenario.Workloads[0].Procs = scenario.Remote, 0
				r.Manifest.Hosts = []result.ServerHost{{GOMAXPROCS: 8}}
			}, result.BoundClientCPU,
		},
		"a client without a figure of its process": {
			each(func(r *result.Round) {
				r.Processes = nil
				r.Metrics[result.ClientCPUUsPerCycle] = 0.95e6 * r.WindowSeconds / float64(r.Cycles)
			}),
			result.BoundClientCPU,
		},
		"a server that is busier than an unknown client": {
			each(func(r *result.Round) {
				r.Metrics[result.ServerCPUCores], r.Processes = 0.97, nil
				r.Stages = nil
			}),
			result.BoundServerCPU,
		},
		"one goroutine": {
			func(r *result.Result) {
				m := base()
				m.stagesUs["decide"], m.stagesUs["apply"] = 8, 10.5
				r.Rounds = m.result(1).Rounds
			}, result.BoundGoroutine,
		},
		"the disk": {
			each(func(r *result.Round) { r.Metrics[result.StorageFsyncUsPerCycle] = 19 }),
			result.BoundDisk,
		},
		"the network": {
			func(r *result.Result) {
				r.Metrics[result.RaftCommitMsMean], r.Metrics[result.RaftAppendMsMean] = result.Metric{Median: 0.9}, result.Metric{Median: 0.2}
			}, result.BoundNetwork,
		},
		"a group of one node, which has no network": {
			func(r *result.Result) {
				r.Manifest.Scenario.Topology.Nodes = 1
				r.Metrics[result.RaftCommitMsMean] = result.Metric{Median: 0.9}
			}, result.BoundWaiting,
		},
		"the disk of a cluster's log": {
			func(r *result.Result) {
				r.Manifest.Scenario.Topology.Durability = "sync"
				r.Metrics[result.RaftCommitMsMean], r.Metrics[result.RaftAppendMsMean] = result.Metric{Median: 0.7}, result.Metric{Median: 0.6}
			}, result.BoundDisk,
		},
		"a lock without waits": {
			func(r *result.Result) {
				r.Locks = []result.Lock{{Name: "client.T.mu", Kind: "mutex", WaitNsPerCycle: 9e3}}
			}, result.BoundWaiting,
		},
		"a lock of the client": {
			func(r *result.Result) {
				r.Locks = []result.Lock{
					{Name: "runtime.sysmon", Kind: "runtime", WaitNsPerCycle: 9e6},
					{Name: "client.T.mu", Kind: "mutex", Node: result.GeneratorNode, WaitNsPerCycle: 6e5},
				}
			}, result.BoundLock,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := idle()
			test.change(r)
			Describe(r)
			require.NotNil(t, r.Bound)
			assert.Equal(t, test.by, r.Bound.By)
			s.Equal(t, name, r.Bound.Sentence)
			assert.NotContains(t, r.Bound.Sentence, " 0 %")
		})
	}
}

// If a figure is missing, the run may be bound by the resource that the figure describes, so the
// bound is unknown.
func TestBoundOfResultsThatLackThings(t *testing.T) {
	for _, r := range []*result.Result{{}, {Rounds: []result.Round{{WindowSeconds: 1, Cycles: 10}}}, {Points: []result.Point{{Number: 9}}}} {
		Describe(r)
		assert.Nil(t, r.Bound)
	}
	for name, change := range map[string]func(*result.Result, *result.Round){
		"the servers' CPUs":                  func(_ *result.Result, r *result.Round) { delete(r.Metrics, result.ServerCPUCores) },
		"the generator's CPUs":               func(_ *result.Result, r *result.Round) { r.Processes = nil },
		"the generator's, marked as unknown": func(_ *result.Result, r *result.Round) { r.Processes[0].Unknown = []string{"cpu_cores"} },
		"stages":                             func(_ *result.Result, r *result.Round) { r.Stages = nil },
		"fsyncs":                             func(_ *result.Result, r *result.Round) { delete(r.Metrics, result.StorageFsyncUsPerCycle) },
		"replication":                        func(r *result.Result, _ *result.Round) { r.Manifest.Scenario.Topology.Nodes = 3 },
		"a server that polls": func(r *result.Result, round *result.Round) {
			r.Manifest.Scenario.Topology.BusyPoll, round.Metrics[result.ServerCPUCores] = true, 0.97
		},
		"a generator that polls": func(r *result.Result, round *result.Round) {
			r.Manifest.Scenario.Workloads[0].BusyPoll, round.Processes[0].CPUCores = true, 0.97
		},
		"a server that polls while threads wait": func(r *result.Result, round *result.Round) {
			r.Manifest.Scenario.Topology.BusyPoll = true
			waiting(60)(round)
		},
	} {
		r := idle()
		for i := range r.Rounds {
			change(r, &r.Rounds[i])
		}
		DescribeBound(r)
		assert.Nil(t, r.Bound, name)
	}
}

// A polling side whose CPUs are not saturated has idle time.
func TestBoundOfASideThatPollsAndIsIdle(t *testing.T) {
	r := idle()
	r.Manifest.Scenario.Topology.BusyPoll = true
	DescribeBound(r)
	require.NotNil(t, r.Bound)
	assert.Equal(t, result.BoundWaiting, r.Bound.By)
}

// A stored bound is not replaced, because the run may have had more figures than the stored result.
func TestBoundThatIsKnown(t *testing.T) {
	r := idle()
	said := &result.Bound{By: result.BoundDisk, Sentence: "bound by disk"}
	r.Bound = said
	DescribeBound(r)
	assert.Same(t, said, r.Bound)

	r = idle()
	r.Points = []result.Point{{Number: 1, Bound: said}}
	r.Manifest.Scenario.Points = []scenario.Point{{}}
	DescribeBound(r)
	assert.Same(t, said, r.Points[0].Bound)
	assert.Nil(t, r.Bound, "only the points of a sweep have one")
}

// Earlier builds ignored CPU pressure and reported that no resource was saturated.
func TestBoundOfAStoredRunWhoseThreadsWaitedForCPUs(t *testing.T) {
	said := &result.Bound{By: result.BoundWaiting, Sentence: "bound by waiting: no measured resource is saturated, and the load waits: so said"}
	r := idle()
	for i := range r.Rounds {
		waiting(46)(&r.Rounds[i])
	}
	r.Manifest.Host.CPUs = 1
	r.Bound = said
	DescribeBound(r)
	assert.Equal(t, result.BoundHostCPU, r.Bound.By)

	lacking := &result.Result{Bound: said}
	DescribeBound(lacking)
	assert.Equal(t, &result.Bound{By: result.BoundWaiting, Sentence: "not saturated: no measured resource is at its limit, and the load waits: so said"}, lacking.Bound,
		"its figures cannot show the bound")
}

// Points of a stored run get their settings from their values, because the scenario is stored
// without its points.
func TestBoundOfThePointsOfAStoredSweep(t *testing.T) {
	r := idle()
	for i := range r.Rounds {
		r.Rounds[i].Point = 1 + i%2
		r.Rounds[i].Metrics[result.ServerCPUCores] = 0.9
	}
	r.Manifest.Scenario.Workloads[0].Name = "main"
	for i, procs := range []string{"1", "4"} {
		r.Points = append(r.Points, result.Point{Number: i + 1, Metrics: r.Metrics, Values: []result.Value{{Path: "topology.procs", Text: procs}}})
	}
	r.Points = append(r.Points, result.Point{Number: 3, Values: []result.Value{{Path: "workload.main.arrivals", Text: `rate("1k/s")`}}})
	DescribeBound(r)
	assert.Equal(t, result.BoundServerCPU, r.Points[0].Bound.By)
	assert.Equal(t, result.BoundWaiting, r.Points[1].Bound.By)
	assert.Contains(t, r.Points[1].Bound.Sentence, "the servers keep 0.9 of 4 CPUs busy")
	assert.Nil(t, r.Points[2].Bound)
}
