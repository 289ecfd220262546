package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const (
	// saturated is the least part of the CPUs, or of the time, from which on a resource limits the rate.
	saturated = 0.85
	// dominates is the least part of a cycle's latency from which on a wait limits the rate.
	dominates = 0.5
)

// Describe fills in where the time of a run goes, and what limits its rate or that of each point of a sweep. It fills in nothing
// without timed rounds.
func Describe(r *result.Result) {
	r.Causes = Costs(r)
	if len(r.Points) == 0 {
		r.Bound = boundBy(r, 0, r.Metrics, scenario.Point{Topology: r.Manifest.Scenario.Topology, Workloads: r.Manifest.Scenario.Workloads})
		return
	}
	plan := r.Manifest.Scenario.Plan()
	for i := range r.Points {
		if p := &r.Points[i]; p.Number >= 1 && p.Number <= len(plan) {
			p.Bound = boundBy(r, p.Number, p.Metrics, plan[p.Number-1])
		}
	}
}

// resource is something that may limit the rate.
type resource struct {
	by    string
	used  float64 // part of what there is
	least float64 // of used, from which on the resource limits the rate
	says  string
}

// boundBy names the resource that is used most among those that limit the rate. With none the load itself waits: for its own
// schedule, or for answers because no more may be in flight.
func boundBy(r *result.Result, point int, metrics map[string]result.Metric, setting scenario.Point) *result.Bound {
	var rounds []result.Round
	for _, round := range r.Rounds {
		if round.Point == point && round.Timed() && round.Cycles > 0 && round.WindowSeconds > 0 {
			rounds = append(rounds, round)
		}
	}
	if len(rounds) == 0 {
		return nil
	}
	all := slices.Concat(cpuUse(r.Manifest.Host, rounds, setting), timeUse(rounds, setting.Topology), waitsOf(r, point, metrics))
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b resource) int { return cmp.Compare(b.used/b.least, a.used/a.least) })
	evidence := make([]string, len(all))
	for i, u := range all {
		evidence[i] = u.says
	}
	says := strings.Join(evidence, ", ")
	if first := all[0]; first.used >= first.least {
		return &result.Bound{By: first.by, Sentence: "bound by " + first.by + ": " + says}
	}
	why := "no resource is saturated, and the load waits for answers, with as much in flight as its producers and workers allow"
	if scenario.Any(setting.Workloads, func(w scenario.Workload) bool { return w.Arrivals.Timed() }) {
		why = "no resource is saturated, and the load arrives at its own rate"
	}
	return &result.Bound{By: result.BoundWaiting, Sentence: "bound by waiting: " + why + ": " + says}
}

// cpuUse returns how much of their CPUs the servers and the load generator keep busy. Where both together keep all CPUs of the host
// busy, the side that uses more is what limits the rate.
func cpuUse(host result.Host, rounds []result.Round, setting scenario.Point) (all []resource) {
	cores := func(of func(*result.Round) float64) (sum float64) {
		for i := range rounds {
			sum += of(&rounds[i]) / float64(len(rounds))
		}
		return sum
	}
	server := cores(func(r *result.Round) float64 { return r.Metrics[result.ServerCPUCores] })
	client := cores(func(r *result.Round) float64 {
		if len(r.Processes) == 0 {
			return 0
		}
		return r.Processes[0].CPUCores
	})
	used := 0.0
	if host.CPUs > 0 {
		used = (server + client) / float64(host.CPUs)
	}
	add := func(by, who string, cores, other float64, procs int) {
		if procs <= 0 || host.CPUs > 0 && procs > host.CPUs {
			procs = host.CPUs
		}
		if cores <= 0 || procs == 0 {
			return
		}
		part := cores / float64(procs)
		if cores >= other {
			part = max(part, used)
		}
		all = append(all, resource{by, part, saturated, fmt.Sprintf("%s %s of %d CPUs busy", who, render.Digits(cores, 2), procs)})
	}
	nodes := max(1, len(rounds[0].Nodes))
	add(result.BoundServerCPU, "the servers keep", server, client, nodes*setting.Topology.Procs)
	procs := 0
	if len(setting.Workloads) > 0 {
		procs = setting.Workloads[0].Procs
	}
	add(result.BoundClientCPU, "the load generator keeps", client, server, procs)
	return all
}

// timeUse returns for which part of the time the shards' deciding goroutines work, and the disk syncs.
func timeUse(rounds []result.Round, topology scenario.Topology) (all []resource) {
	var cycles uint64
	var seconds float64
	for i := range rounds {
		cycles, seconds = cycles+rounds[i].Cycles, seconds+rounds[i].WindowSeconds
	}
	shards := max(1, topology.Shards)
	if b, ok := result.BudgetOf(result.MergeStages(rounds), cycles, seconds, shards); ok {
		if busy := b.DecideUs + b.ApplyUs; busy+b.RestUs > 0 {
			part := busy / (busy + b.RestUs)
			all = append(all, resource{result.BoundGoroutine, part, saturated, "the goroutine that decides for a shard works " + render.PercentTo(part, 0) + " of the time"})
		}
	}
	if us := meanOf(rounds, metricOf(result.StorageFsyncUsPerCycle)); us > 0 {
		part := us / meanCycleUs(rounds) / float64(shards*max(1, len(rounds[0].Nodes)))
		all = append(all, resource{result.BoundDisk, part, saturated, "fsyncs take " + render.PercentTo(part, 0) + " of the time of a shard"})
	}
	return all
}

// waitsOf returns for which part of a cycle's median latency a cluster replicates beyond its own disks, and goroutines wait for the
// lock that they wait for most.
func waitsOf(r *result.Result, point int, metrics map[string]result.Metric) (all []resource) {
	latency := metrics[result.CycleLatencyMs+"_p50"].Median
	if latency <= 0 {
		return nil
	}
	if ms := metrics[result.RaftCommitMsMean].Median - metrics[result.RaftAppendMsMean].Median; ms > 0 {
		part := min(1, ms/latency)
		all = append(all, resource{result.BoundNetwork, part, dominates, "replication takes " + render.PercentTo(part, 0) + " of a cycle's latency beyond the append to the log"})
	}
	var longest result.Lock
	for _, l := range r.Locks {
		if l.Point == point && l.Kind != "runtime" && l.WaitNsPerCycle > longest.WaitNsPerCycle {
			longest = l
		}
	}
	if longest.Name != "" {
		part := min(1, longest.WaitNsPerCycle/1e6/latency)
		of := ""
		if longest.Node == result.GeneratorNode {
			of = " in the load generator"
		}
		all = append(all, resource{result.BoundLock, part, dominates, fmt.Sprintf("waits for %s%s take %s of a cycle's latency", longest.Name, of, render.PercentTo(part, 0))})
	}
	return all
}
