package gate

import (
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// DescribeDuet fills in the bound of the closed load of both sides of a duet, unless the comparison
// already has it. arms have the profiles of base and change, in this order, or are nil without
// profiles. DescribeDuet fills in nothing if the generations that count cannot show the limit, or
// if the verdict is incorrect or misconfigured.
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

// limitsOfSide treats the closed phase of each generation that counts as a round. It ignores what
// the servers use in the slices of the other side.
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
