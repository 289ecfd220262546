package gate

import (
	"cmp"
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// evidence describes where the time of a run is spent, in microseconds per cycle unless a comment
// states another unit.
type evidence struct {
	us      float64 // of wall time
	stages  map[string]stageEvidence
	fsyncs  float64 // a cycle
	fsyncUs float64
	sides   [2]sideEvidence // of the servers, and of the load generator
}

// sideEvidence contains the evidence from the profiles of the servers or of the load generator.
type sideEvidence struct {
	locks     map[string]result.Lock
	functions charges // CPU
}

type stageEvidence struct {
	us     float64 // per cycle
	meanUs float64 // per batch
	p50Us  float64 // of the merged histogram
}

// charges contains the charges of profiles to functions, per cycle.
type charges struct {
	of    map[string]chargeEvidence
	total float64
}

type chargeEvidence struct {
	value   float64
	samples float64
	callers []string
}

// gather reads the evidence of a result. ok is false for a run with a sweep, because its points
// differ, and for a run without cycles.
func gather(r *result.Result) (e evidence, ok bool) {
	rounds := timedRounds(r)
	if e.us = meanCycleUs(rounds); e.us == 0 {
		return e, false
	}
	cover := result.StagesCover(rounds)
	e.fsyncs, e.fsyncUs = meanOf(rounds, metricOf(result.StorageFsyncsPerCycle)), meanOf(rounds, metricOf(result.StorageFsyncUsPerCycle))
	e.stages = map[string]stageEvidence{}
	for _, s := range result.MergeStages(rounds) {
		// The time in which the stages were recorded may contain no cycles although the window
		// does.
		if cover.Cycles == 0 {
			break
		}
		e.stages[s.Name] = stageEvidence{us: 1e3 * s.SumMs / float64(cover.Cycles), meanUs: 1e3 * s.MeanMs(), p50Us: 1e3 * s.P50Ms}
	}
	for i, generator := range []bool{false, true} {
		side := sideEvidence{locks: map[string]result.Lock{}, functions: charged(r, "cpu", generator, 1e-3)}
		for _, l := range r.Locks {
			if (l.Node == result.GeneratorNode) == generator {
				side.locks[l.Name] = addLock(side.locks[l.Name], l)
			}
		}
		e.sides[i] = side
	}
	return e, true
}

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

// charged adds up the charges per cycle of all profiles of a kind, either of the servers or of the
// generator, and multiplies them by scale. The cycles are those completed during the recording of a
// profile or, in results of earlier versions, in the windows of the profiled rounds.
func charged(r *result.Result, kind string, generator bool, scale float64) charges {
	c := charges{of: map[string]chargeEvidence{}}
	var windows uint64
	for i := range r.Rounds {
		if r.Rounds[i].Profiled {
			windows += r.Rounds[i].Cycles
		}
	}
	for _, p := range r.Profiles {
		cycles := cmp.Or(p.Cycles, windows)
		if p.Kind != kind || (p.Node == result.GeneratorNode) != generator || cycles == 0 {
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
		}
	}
	return c
}
