package gate

import (
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// DescribeDuet adds to a comparison what limits the closed load of each side of its duet, unless
// the comparison already has it. arms contains the profiles of base and change, in this order; it
// is nil without profiles. DescribeDuet sets no bound if the valid generations do not show a limit,
// or if the verdict is incorrect or misconfigured.
func DescribeDuet(c *result.Comparison, d *result.Duet, arms []result.Arm) {
	if c.Verdict == result.Incorrect || c.Verdict == result.Misconfigured {
		return
	}
	for i, side := range []*result.Side{&c.Base, &c.Change} {
		if side.Bound != nil {
			continue
		}
		var locks []result.Lock
		if i < len(arms) {
			locks = arms[i].Result.Locks
		}
		l := limitsOfSide(d, i, locks)
		side.Bound = l.bound()
	}
}

// limitsOfSide treats the closed phase of each valid generation like a round. It ignores the CPU
// time that the servers use in slices of the other side.
func limitsOfSide(d *result.Duet, side int, locks []result.Lock) limits {
	s := &d.Manifest.Scenario
	l := limits{host: d.Manifest.Host, setting: scenario.Point{Topology: s.Topology, Workloads: s.Workloads}, locks: locks}
	for _, round := range d.Rounds(side) {
		if round.Cycles > 0 && round.WindowSeconds > 0 {
			l.rounds = append(l.rounds, round)
		}
	}
	return l
}
