package result

import (
	"fmt"
	"maps"
	"strings"
)

// Rounds returns a side's valid generations as rounds of a run.
func (d *Duet) Rounds(side int) (rounds []Round) {
	for i := range d.Generations {
		if g := &d.Generations[i]; g.Verdict == Pass {
			rounds = append(rounds, g.Round(side))
		}
	}
	return rounds
}

// Round returns a side's generation as a round of a run whose window is the slices of the side. If
// no cycle was completed, the round has no figures per cycle.
func (g *Generation) Round(side int) Round {
	s := &g.Sides[side]
	cycles := float64(s.Cycles)
	r := Round{
		Number: g.Number, Verdict: g.Verdict, Started: g.Started, Cycles: s.Cycles, WindowSeconds: s.ActiveS, Ledger: s.Ledger, Stages: s.Stages,
		Metrics: map[string]float64{},
	}
	if s.ActiveS > 0 {
		r.Metrics[CyclesPerS] = cycles / s.ActiveS
		r.Metrics[ServerCPUCores] = float64(s.ServerCPUNs-s.IdleCPUNs) / 1e9 / s.ActiveS
	}
	if s.Cycles > 0 {
		r.Metrics[ServerCPUUsPerCycle] = float64(s.ServerCPUNs) / 1e3 / cycles
		r.Metrics[ClientCPUUsPerCycle] = float64(s.ClientCPUNs) / 1e3 / cycles
	}
	maps.Copy(r.Metrics, s.PerCycle)
	if s.RSSMB > 0 {
		r.Metrics[ServerRSSMBMax] = s.RSSMB
	}
	if s.Goroutines > 0 {
		r.Metrics[ServerGoroutinesMax] = float64(s.Goroutines)
	}
	return r
}

// Result returns a side as the result of a run whose rounds are the valid generations. run is the
// id of the duet's folder. A generation with a task at fault, or a misconfigured one, decides the
// verdict. With fewer than two valid generations, the verdict is invalid.
func (d *Duet) Result(side int, run string) *Result {
	r := &Result{
		Version: Version, Run: run, Scenario: d.Scenario, Title: d.Manifest.Scenario.Title, Started: d.Started, Finished: d.Finished,
		Manifest: d.Manifest, Verdict: Pass, Rounds: d.Rounds(side), Metrics: map[string]Metric{}, Warnings: d.Warnings,
	}
	r.Manifest.Servers = d.Sides[side].Settings
	var unfit []string
	for i := range d.Generations {
		switch g := &d.Generations[i]; g.Verdict {
		case Pass:
		case Incorrect, Misconfigured:
			r.Verdict = Worst(r.Verdict, g.Verdict)
			for _, reason := range g.Reasons {
				r.Reasons = append(r.Reasons, fmt.Sprintf("generation %d: %s", g.Number, reason))
			}
		default:
			unfit = append(unfit, fmt.Sprintf("generation %d: %s", g.Number, strings.Join(g.Reasons, "; ")))
		}
	}
	if r.Verdict == Pass && len(r.Rounds) < 2 {
		r.Verdict, r.Reasons = Invalid, append(unfit, fmt.Sprintf("%d generations count, but a verdict needs two", len(r.Rounds)))
	}
	maps.Copy(r.Metrics, SummariseLedger(r.Rounds))
	for _, spec := range specs {
		var values []float64
		for _, round := range r.Rounds {
			if v, has := round.Metrics[spec.Name]; has {
				values = append(values, v)
			}
		}
		if len(values) == 0 || len(values) < len(r.Rounds) || spec.OfLedger() {
			continue
		}
		if m, err := MedianOf(values, spec); err == nil {
			r.Metrics[spec.Name] = m
		}
	}
	return r
}
