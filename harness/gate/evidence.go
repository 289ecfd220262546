package gate

import (
	"cmp"
	"math"
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// evidence is where the time of a result goes, in microseconds for each cycle unless a comment says otherwise.
type evidence struct {
	us        float64 // of wall time
	cpuCores  float64 // that the servers kept busy
	cpu       float64 // of the servers
	enqueue   float64 // median latency
	settle    float64 // median latency
	batches   float64 // a cycle
	stages    map[string]stageEvidence
	fsyncs    float64 // a cycle
	fsyncUs   float64
	scanned   float64 // keys a cycle
	locks     map[string]result.Lock
	functions charges // CPU
	allocs    charges // bytes
}

type stageEvidence struct {
	us     float64 // a cycle
	meanUs float64 // a batch
	p50Us  float64
}

// charges are what a profile charges to functions, for each cycle.
type charges struct {
	of      map[string]chargeEvidence
	total   float64
	samples float64
}

type chargeEvidence struct {
	value   float64
	samples float64
	callers []string
}

// gather reads the evidence of a result. ok is false for a run with a sweep, because its points differ.
func gather(r *result.Result) (e evidence, ok bool) {
	if r == nil || len(r.Points) > 0 {
		return e, false
	}
	var seconds float64
	var cycles uint64
	for i := range r.Rounds {
		if round := &r.Rounds[i]; round.Timed() {
			seconds += round.WindowSeconds
			cycles += round.Cycles
		}
	}
	if cycles == 0 || seconds <= 0 {
		return e, false
	}
	e.us = 1e6 * seconds / float64(cycles)
	e.cpuCores, e.cpu = mean(r, result.ServerCPUCores), mean(r, result.ServerCPUUsPerCycle)
	e.enqueue = 1e3 * mean(r, result.EnqueueLatencyMs+"_p50")
	e.settle = 1e3 * mean(r, result.SettleLatencyMs+"_p50")
	e.fsyncs, e.fsyncUs, e.scanned = mean(r, result.StorageFsyncsPerCycle), mean(r, result.StorageFsyncUsPerCycle), mean(r, result.StorageScannedPerCycle)
	e.stages = map[string]stageEvidence{}
	for _, s := range result.MergeStages(r.Rounds) {
		e.stages[s.Name] = stageEvidence{us: 1e3 * s.SumMs / float64(cycles), meanUs: 1e3 * s.MeanMs(), p50Us: 1e3 * s.P50Ms}
		if s.Name == result.StageDecide {
			e.batches = float64(s.Count) / float64(cycles)
		}
	}
	e.functions = charged(r, "cpu", 1e-3)
	e.allocs = charged(r, "allocs", 1)
	e.locks = map[string]result.Lock{}
	for _, l := range r.Locks {
		if l.Node != result.GeneratorNode {
			e.locks[l.Name] = addLock(e.locks[l.Name], l)
		}
	}
	return e, true
}

// addLock adds up one lock of two nodes.
func addLock(a, b result.Lock) result.Lock {
	if a.Name == "" {
		return b
	}
	a.WaitNs += b.WaitNs
	a.WaitNsPerCycle += b.WaitNsPerCycle
	a.Waits += b.Waits
	a.Holders, a.Waiters = slices.Concat(a.Holders, b.Holders), slices.Concat(a.Waiters, b.Waiters)
	return a
}

// charged adds up, for each cycle, the charges of all servers' profiles of a kind, each multiplied by scale. The cycles are those of
// the time that a profile covers, or, in results of earlier versions, of the windows of the profiled rounds.
func charged(r *result.Result, kind string, scale float64) charges {
	c := charges{of: map[string]chargeEvidence{}}
	var windows uint64
	for i := range r.Rounds {
		if r.Rounds[i].Profiled {
			windows += r.Rounds[i].Cycles
		}
	}
	for _, p := range r.Profiles {
		cycles := cmp.Or(p.Cycles, windows)
		if p.Kind != kind || p.Node == result.GeneratorNode || cycles == 0 {
			continue
		}
		unit := scale / float64(cycles)
		c.total += p.Total * unit
		for _, x := range p.Charges {
			was := c.of[x.Function]
			was.value += x.Value * unit
			was.samples += float64(x.Samples)
			if was.callers == nil {
				was.callers = x.Callers
			}
			c.of[x.Function] = was
			c.samples += float64(x.Samples)
		}
	}
	return c
}

// mean returns a metric's mean over the timed rounds that have it, and 0 without such a round.
func mean(r *result.Result, metric string) float64 {
	sum, n := 0.0, 0
	for i := range r.Rounds {
		if v, has := r.Rounds[i].Metrics[metric]; has && r.Rounds[i].Timed() && !math.IsNaN(v) && !math.IsInf(v, 0) {
			sum, n = sum+v, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}
