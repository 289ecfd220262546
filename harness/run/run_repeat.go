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

// repeatsOfARound bounds the number of repetitions of an invalid round.
const repeatsOfARound = 2

// invalidRounds returns the invalid timed rounds of a plan, except rounds of points whose servers
// failed.
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
	return invalid
}

// repeatInvalid repeats the invalid rounds of a complete run after all other rounds. It then
// repeats the rounds that are still invalid a second time. It starts no pass that would raise the
// number of repetitions above scenario.RepeatsMax. The last measurement of a round counts, whatever
// its figures are.
func (r *runner) repeatInvalid(ctx context.Context, plan []plannedRound, failed map[int]bool) error {
	for range repeatsOfARound {
		plan = r.invalidRounds(plan, failed)
		if len(plan) == 0 || len(r.result.Repeated)+len(plan) > r.scenario.RepeatsMax() {
			return nil
		}
		r.progress.repeat(plan)
		for i, p := range plan {
			if broken, err := r.repeat(ctx, p); broken || err != nil {
				return err
			}
			if ctx.Err() != nil {
				return fmt.Errorf("interrupted after repetition %d of %d: %w", i+1, len(plan), ctx.Err())
			}
		}
	}
	return nil
}

// repeat repeats an invalid round and moves its earlier measurement to Result.Repeated. broken is
// true if a server failed, so that no further round can be measured.
func (r *runner) repeat(ctx context.Context, p plannedRound) (broken bool, err error) {
	m := r.round(ctx, p)
	if ctx.Err() != nil {
		return false, errors.Join(fmt.Errorf("interrupted in the repetition of round %d: %w", p.number, ctx.Err()), m.stopErr)
	}
	r.setAside(p.number)
	if err := r.keep(&m); err != nil {
		return false, err
	}
	r.progress.round(&m.round)
	if m.broken && r.points[p.point].Topology.Kind != scenario.ByProgram {
		return true, nil
	}
	r.references.sample(ctx)
	return false, nil
}

// setAside excludes a round that was repeated from the run's figures and appends it to
// Result.Repeated.
func (r *runner) setAside(number int) {
	res := &r.result
	i := slices.IndexFunc(res.Rounds, func(round result.Round) bool { return round.Number == number })
	res.Repeated = append(res.Repeated, res.Rounds[i])
	res.Rounds = slices.Delete(res.Rounds, i, i+1)
	r.histograms = slices.DeleteFunc(r.histograms, func(h result.RoundHistograms) bool { return h.Round == number })
	r.captured = slices.DeleteFunc(r.captured, func(c profile.Captured) bool { return c.Round == number })
	of := fmt.Sprintf("round %d: ", number)
	res.Warnings = slices.DeleteFunc(res.Warnings, func(w string) bool { return strings.HasPrefix(w, of) })
	res.Warnings = append(res.Warnings, of+repetitions(res.Repeated, number))
}

// repetitions describes how often and why a round was repeated.
func repetitions(repeated []result.Round, number int) string {
	var reasons []string
	for i := range repeated {
		if repeated[i].Number == number {
			reasons = append(reasons, strings.Join(repeated[i].Reasons, "; "))
		}
	}
	if len(reasons) == 1 {
		return "it was repeated once at the end of the run, because it was invalid: " + reasons[0]
	}
	return "it was repeated twice at the end of the run, because it was invalid: " + reasons[0] + "; and then: " + reasons[1]
}

func (p *progress) repeat(invalid []plannedRound) {
	p.line("%s: repeating invalid rounds: %s", p.scenario.Name, render.Plural(len(invalid), "round"))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace.rounds += len(invalid)
}
