package result

import "maps"

// Rounds returns what a side did in the generations that count, as rounds of a run.
func (d *Duet) Rounds(side int) (rounds []Round) {
	for i := range d.Generations {
		if g := &d.Generations[i]; g.Verdict == Pass {
			rounds = append(rounds, g.Round(side))
		}
	}
	return rounds
}

// Round returns what a side did in the generation, as a round of a run, whose window is the slices of the side. The side completed at least
// one cycle.
func (g *Generation) Round(side int) Round {
	s := &g.Sides[side]
	cycles := float64(s.Cycles)
	r := Round{
		Number: g.Number, Verdict: g.Verdict, Started: g.Started, Cycles: s.Cycles, WindowSeconds: s.ActiveS, Ledger: s.Ledger, Stages: s.Stages,
		Metrics: map[string]float64{
			CyclesPerS:          cycles / s.ActiveS,
			ServerCPUCores:      float64(s.ServerCPUNs-s.IdleCPUNs) / 1e9 / s.ActiveS,
			ServerCPUUsPerCycle: float64(s.ServerCPUNs) / 1e3 / cycles,
			ClientCPUUsPerCycle: float64(s.ClientCPUNs) / 1e3 / cycles,
		},
	}
	maps.Copy(r.Metrics, s.PerCycle)
	return r
}
