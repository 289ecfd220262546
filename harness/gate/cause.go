package gate

import (
	"cmp"
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// Kinds of causes.
const (
	causeLock       = "lock"
	causeChannel    = "channel"
	causeCPU        = "cpu"
	causeAllocation = "allocation"
	causeFsync      = "fsync"
	causeTimer      = "timer"
	causeRPC        = "rpc"
	causeScan       = "scan"
)

// causesMax bounds the causes that are named.
const causesMax = 5

// partMin is the least part of the base's time per cycle that a cause explains.
const partMin = 0.04

// candidate is a possible cause.
type candidate struct {
	result.Cause
	functions []string // functions whose CPU time the candidate explains
}

// Causes says why a cycle takes longer in a change than in its base, the most likely cause first. It returns nothing without clear
// evidence. It needs the counters, stages and profiles of both sides; a missing one yields no cause.
//
// Each rule needs evidence that load and host do not change by themselves: a count per cycle, the median of a stage, or the growth
// of a function in a profile beyond the growth of all functions. A noisy host therefore yields no cause for identical builds.
// What one cause explains is not counted again for another: the CPU time of allocating belongs to the allocations, and the CPU
// time of a lock's holders and waiters belongs to the lock.
func Causes(base, change *result.Result) []result.Cause {
	b, hasBase := gather(base)
	c, hasChange := gather(change)
	if !hasBase || !hasChange {
		return nil
	}
	d := diagnosis{b: b, c: c, grown: growths(b.functions, c.functions)}
	for _, rule := range []func(*diagnosis) []candidate{
		fsyncRule, allocationRule, scanRule, lockRule, cpuRule, timerRule, rpcRule,
	} {
		d.candidates = append(d.candidates, rule(&d)...)
	}
	out := make([]result.Cause, 0, len(d.candidates))
	for _, s := range d.candidates {
		if s.Score >= partMin*b.us {
			out = append(out, s.Cause)
		}
	}
	slices.SortStableFunc(out, func(x, y result.Cause) int { return cmp.Compare(y.Score, x.Score) })
	return out[:min(len(out), causesMax)]
}

// diagnosis is the state of Causes. The rules run in order: a later rule ignores what an earlier one explained.
type diagnosis struct {
	b, c       evidence
	grown      map[string]growth // CPU, by function
	candidates []candidate
}

// growth is how much more CPU time a function takes for each cycle than in the base.
type growth struct {
	excess  float64 // beyond the growth of all other functions together
	plain   float64 // in all
	sure    bool    // it is larger than sampling noise
	callers []string
}

const (
	// sigmas is how many standard deviations of sampled counts a growth must be.
	sigmas = 3.5
	// samplesMin is how many samples a function needs to be a cause.
	samplesMin = 8
)

// growths compares the functions of two profiles. On a host that is slower for a while all functions take proportionally more; only
// growth beyond that counts.
func growths(b, c charges) map[string]growth {
	out := map[string]growth{}
	if b.total <= 0 || c.total <= 0 {
		return out
	}
	for function, now := range c.of {
		was := b.of[function]
		others := 1.0
		if rest := b.total - was.value; rest > 0 {
			others = max(1, (c.total-now.value)/rest)
		}
		g := growth{excess: now.value - was.value*others, plain: now.value - was.value, callers: now.callers}
		// The base's count in cycles of the change, with its own chance.
		scale := 0.0
		if was.samples > 0 && now.samples > 0 && now.value > 0 {
			scale = was.value * others / now.value * now.samples / was.samples
		}
		expected := was.samples * scale
		chance := now.samples + expected*scale
		g.sure = now.samples >= samplesMin && (now.samples-expected)*(now.samples-expected) >= sigmas*sigmas*chance && now.samples > expected
		out[function] = g
	}
	return out
}

// cpuOf selects the functions that is accepts and that no candidate explains yet. It returns by how much their CPU time per cycle
// has grown, and their names, the largest growth first.
func (d *diagnosis) cpuOf(is func(function string, g growth) bool) (us float64, functions []string) {
	for function, g := range d.grown {
		if g.excess > 0 && !d.charged(function) && is(function, g) {
			us += g.excess
			functions = append(functions, function)
		}
	}
	slices.SortFunc(functions, func(x, y string) int { return cmp.Compare(d.grown[y].excess, d.grown[x].excess) })
	return us, functions
}

func (d *diagnosis) charged(function string) bool {
	return slices.ContainsFunc(d.candidates, func(s candidate) bool { return slices.Contains(s.functions, function) })
}

// explained returns the time that candidates of some kinds explain.
func (d *diagnosis) explained(kinds ...string) (us float64) {
	for _, s := range d.candidates {
		if slices.Contains(kinds, s.Kind) {
			us += s.Score
		}
	}
	return us
}
