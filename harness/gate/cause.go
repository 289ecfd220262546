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

// causesMax is how many causes are named: more than a few are none.
const causesMax = 5

// partMin is the part of the base's time per cycle that a cause must explain to be one.
const partMin = 0.04

// suspect is a cause with what it is charged with.
type suspect struct {
	result.Cause
	functions []string // whose CPU time is the suspect's
}

// Causes says why a change takes longer for a cycle than its base, the most likely cause first, or nothing where there is no
// clear evidence of any. It needs the counters, stages and profiles of both; what is missing accuses nobody.
//
// Each rule asks for something that load and host do not change by themselves: a count per cycle, the median of a stage, the
// part of a function in a profile beyond what all functions grew by. So a change that is the same as its base is not
// accused by a noisy host. What one cause explains is not counted again for another: the CPU time that allocating takes is
// the allocations', and that spent in the holder of a lock, or of who waits for it, is the lock's.
func Causes(base, change *result.Result) []result.Cause {
	b, hasBase := gather(base)
	c, hasChange := gather(change)
	if !hasBase || !hasChange {
		return nil
	}
	d := diagnosis{b: b, c: c, grown: growths(b.functions, c.functions)}
	for _, rule := range []func(*diagnosis) []suspect{
		fsyncRule, allocationRule, scanRule, lockRule, cpuRule, timerRule, rpcRule,
	} {
		d.suspects = append(d.suspects, rule(&d)...)
	}
	out := make([]result.Cause, 0, len(d.suspects))
	for _, s := range d.suspects {
		if s.Score >= partMin*b.us {
			out = append(out, s.Cause)
		}
	}
	slices.SortStableFunc(out, func(x, y result.Cause) int { return cmp.Compare(y.Score, x.Score) })
	return out[:min(len(out), causesMax)]
}

// diagnosis is a comparison under way. Rules run in order: the later ones leave alone what earlier ones explain.
type diagnosis struct {
	b, c     evidence
	grown    map[string]growth // CPU, by function
	suspects []suspect
}

// growth is how much more a function takes for each cycle than in the base.
type growth struct {
	excess  float64 // beyond what all other functions together grew by
	plain   float64 // in all
	sure    bool    // it is larger than the chance of sampling
	callers []string
}

const (
	// sigmas is how many standard deviations of sampled counts a growth must be.
	sigmas = 3.5
	// samplesMin is how many samples a function needs to be accused.
	samplesMin = 8
)

// growths compares the functions of two profiles. On a host that is slower for a while everything takes more, each function
// its part of that: what counts is what one takes beyond it.
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

// cpuOf is how much more CPU time functions take for each cycle that no suspect is charged with yet, and which of them do.
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
	return slices.ContainsFunc(d.suspects, func(s suspect) bool { return slices.Contains(s.functions, function) })
}

// explained is what suspects of some kinds explain.
func (d *diagnosis) explained(kinds ...string) (us float64) {
	for _, s := range d.suspects {
		if slices.Contains(kinds, s.Kind) {
			us += s.Score
		}
	}
	return us
}
