package gate

import (
	"maps"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// DescribeDuet fills in what limits the closed load of both sides of a duet, unless the comparison says it already. arms have the
// profiles of base and change, in this order, and are nil if none were taken. DescribeDuet fills in nothing if the generations that
// count do not tell, or if the verdict is that no figure holds.
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

// limitsOfSide takes the closed phase of each generation that counts as a round, whose window is the slices of the side. What the
// servers use in the slices of the other side limits nothing.
func limitsOfSide(d *result.Duet, side int, locks []result.Lock) limits {
	s := &d.Manifest.Scenario
	l := limits{host: d.Manifest.Host, setting: scenario.Point{Topology: s.Topology, Workloads: s.Workloads}, locks: locks}
	for i := range d.Generations {
		g := &d.Generations[i]
		of := &g.Sides[side]
		if g.Verdict != result.Pass || of.Cycles == 0 || of.ActiveS <= 0 {
			continue
		}
		round := result.Round{Number: g.Number, Cycles: of.Cycles, WindowSeconds: of.ActiveS, Stages: of.Stages, Metrics: map[string]float64{
			result.ServerCPUCores:      float64(of.ServerCPUNs-of.IdleCPUNs) / 1e9 / of.ActiveS,
			result.ClientCPUUsPerCycle: usPerCycle(of.ClientCPUNs, of.Cycles),
		}}
		maps.Copy(round.Metrics, of.PerCycle)
		l.rounds = append(l.rounds, round)
	}
	return l
}
