package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// invalidRounds returns the timed rounds of a whole run that are invalid, but for those of points whose servers failed, and nil if they are too many
// to measure them once more.
func (r *runner) invalidRounds(plan []plannedRound, failed map[int]bool) (invalid []plannedRound) {
	verdicts := map[int]result.Verdict{}
	for i := range r.result.Rounds {
		verdicts[r.result.Rounds[i].Number] = r.result.Rounds[i].Verdict
	}
	for _, p := range plan {
		if p.kind == timed && !failed[p.point] && verdicts[p.number] == result.Invalid {
			invalid = append(invalid, p)
		}
	}
	if len(invalid) > r.scenario.RepeatsMax() {
		return nil
	}
	return invalid
}

// repeat measures invalid rounds once more, after all others. The second figures stand, whatever they are.
func (r *runner) repeat(ctx context.Context, invalid []plannedRound) error {
	if len(invalid) == 0 {
		return nil
	}
	r.progress.repeat(invalid)
	for i, p := range invalid {
		m := r.round(ctx, p)
		if ctx.Err() != nil {
			return errors.Join(fmt.Errorf("interrupted in repetition %d of %d: %w", i+1, len(invalid), ctx.Err()), m.stopErr)
		}
		r.setAside(p.number)
		if err := r.keep(&m); err != nil {
			return err
		}
		r.progress.round(&m.round)
		if m.broken && r.points[p.point].Topology.Kind != scenario.ByProgram {
			return nil
		}
		r.references.sample(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted after repetition %d of %d: %w", i+1, len(invalid), ctx.Err())
		}
	}
	return nil
}

// setAside takes a round that is measured once more out of what the run's figures are made from. What it was stays in the result.
func (r *runner) setAside(number int) {
	res := &r.result
	i := slices.IndexFunc(res.Rounds, func(round result.Round) bool { return round.Number == number })
	first := res.Rounds[i]
	res.Repeated = append(res.Repeated, first)
	res.Rounds = slices.Delete(res.Rounds, i, i+1)
	r.histograms = slices.DeleteFunc(r.histograms, func(h result.RoundHistograms) bool { return h.Round == number })
	r.captured = slices.DeleteFunc(r.captured, func(c profile.Captured) bool { return c.Round == number })
	of := fmt.Sprintf("round %d: ", number)
	res.Warnings = slices.DeleteFunc(res.Warnings, func(w string) bool { return strings.HasPrefix(w, of) })
	res.Warnings = append(res.Warnings, of+"it was measured once more at the end of the run, since it was invalid at first: "+strings.Join(first.Reasons, "; "))
}

// repeat says which rounds are measured once more.
func (p *progress) repeat(invalid []plannedRound) {
	p.line("%s: measuring once more what was invalid: %s", p.scenario.Name, render.Plural(len(invalid), "round"))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace.rounds += len(invalid)
}
