package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pronybench/prony/harness/ci"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

// guard runs scenarios one after the other and judges each. One goroutine uses it.
type guard struct {
	limits *gate.Baselines
	within time.Duration // 0: no bound
	now    func() time.Time
	stderr io.Writer
	// execute runs a scenario and returns its result and run folder, as run.Execute does.
	execute func(context.Context, *scenario.Scenario, *run.Place) (*result.Result, string, error)
	// alone returns the command that guards a scenario alone.
	alone func(*scenario.Scenario) string

	began    time.Time
	guarded  []report.Guarded // in the order of the scenarios
	outcomes []result.Outcome // likewise
}

// errTimeOver ends a run that is still going on at the end of guard.within.
var errTimeOver = errors.New("the time for all scenarios is over")

// all runs and judges each scenario. Scenarios that are not measured to their end within guard.within are invalid. Then it repeats once those that
// are invalid, and those whose broken limits are in doubt (report.Guarded.Doubt). The second verdict stands. Last it runs those that broke a limit
// once more with profiles, unless their rounds had profiles already. It returns an error if a run has no result for another reason than the time.
func (g *guard) all(ctx context.Context, scenarios []*scenario.Scenario) error {
	g.began = g.now()
	if g.within > 0 {
		// Not a deadline: gRPC would send it with each call, and the server would keep a timer for each.
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		defer end(nil)
		defer time.AfterFunc(g.within, func() { end(errTimeOver) }).Stop()
	}
	for i, s := range scenarios {
		judged, outcome, err := g.one(ctx, s, &run.Place{Number: i + 1, Of: len(scenarios), After: expected(scenarios[i+1:])})
		if timeOver(ctx, err) {
			judged, outcome = g.unmeasured(s)
		} else if err != nil {
			return err
		}
		g.guarded, g.outcomes = append(g.guarded, judged), append(g.outcomes, outcome)
	}
	few := g.broke() <= report.DoubtfulMax
	for i, s := range scenarios {
		first := g.guarded[i]
		first.FewBroke = few
		why := first.Doubt()
		if why == "" || !g.fits(s) {
			continue
		}
		say(g.stderr, "%s %s, and is run once more", s.Name, why)
		judged, outcome, err := g.one(ctx, s, &run.Place{Number: i + 1, Of: len(scenarios)})
		if timeOver(ctx, err) {
			break
		}
		if err != nil {
			return err
		}
		judged.First = &first
		g.guarded[i], g.outcomes[i] = judged, outcome
	}
	for i, s := range scenarios {
		if judged := &g.guarded[i]; judged.Verdict == result.Regressed && s.Profiles() == 0 {
			if err := g.diagnose(ctx, judged, s.Profiled(), &run.Place{Number: i + 1, Of: len(scenarios)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// broke returns how many scenarios broke a limit.
func (g *guard) broke() (n int) {
	for i := range g.guarded {
		if g.guarded[i].Verdict == result.Regressed {
			n++
		}
	}
	return n
}

// expected returns about how long scenarios take one after the other.
func expected(scenarios []*scenario.Scenario) (sum time.Duration) {
	for _, s := range scenarios {
		sum += s.Expected()
	}
	return sum
}

// fits reports whether a run of the scenario is expected to end in time.
func (g *guard) fits(s *scenario.Scenario) bool {
	return g.within == 0 || g.took()+s.Expected() <= g.within
}

// timeOver reports whether a run failed because guard.within had passed.
func timeOver(ctx context.Context, err error) bool {
	return err != nil && errors.Is(context.Cause(ctx), errTimeOver)
}

// unmeasured returns the judgement of a scenario that was not measured to its end.
func (g *guard) unmeasured(s *scenario.Scenario) (report.Guarded, result.Outcome) {
	r := &result.Result{
		Version: result.Version, Scenario: s.Name, Title: s.Title, Manifest: result.Manifest{Scenario: *s}, Verdict: result.Invalid,
		Reasons: []string{fmt.Sprintf("it was not measured to its end: the time for all scenarios, %v, was over", g.within)},
	}
	return report.Guarded{Report: gate.Report{Scenario: s.Name, Verdict: r.Verdict, Reasons: r.Reasons}, Alone: g.alone(s)}, result.NewOutcome(r, "")
}

func (g *guard) took() time.Duration { return g.now().Sub(g.began) }

// one runs a scenario and judges the run.
func (g *guard) one(ctx context.Context, s *scenario.Scenario, place *run.Place) (report.Guarded, result.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return report.Guarded{}, result.Outcome{}, err
	}
	r, folder, err := g.execute(ctx, s, place)
	if err != nil {
		return report.Guarded{}, result.Outcome{}, err
	}
	judged := report.Guarded{Report: report.Judge(g.limits, r), Unsteady: r.Unsteady(), Folder: folder, Alone: g.alone(s)} // before the outcome: the verdict decides which figures may be shown
	r.Warnings = append(r.Warnings, judged.Warnings...)
	outcome := result.NewOutcome(r, folder)
	if files, err := report.Render(g.limits, folder, folder); err != nil { // the figures are stored: what is missing is only how they look
		outcome.Warnings = append(outcome.Warnings, fmt.Sprintf("no page: %v", err))
	} else {
		outcome.Page = files[0]
	}
	return judged, outcome, nil
}

// diagnose runs a scenario that broke a limit with profiles, for the judgement to say where the time goes. A task at fault in that run counts.
func (g *guard) diagnose(ctx context.Context, judged *report.Guarded, profiled *scenario.Scenario, place *run.Place) error {
	if !g.fits(profiled) {
		judged.NoProfiles = "there was no time left to take profiles"
		return nil
	}
	say(g.stderr, "%s broke a limit, and is run once more with profiles", profiled.Name)
	r, folder, err := g.execute(ctx, profiled, place)
	if timeOver(ctx, err) {
		judged.NoProfiles = "the time for all scenarios was over before profiles were taken"
		return nil
	}
	if err != nil {
		return err
	}
	judged.Diagnose(r)
	judged.Profiles = folder
	if r.Verdict == result.Incorrect {
		judged.Verdict = result.Incorrect
		for _, reason := range r.Reasons {
			judged.Reasons = append(judged.Reasons, "in the run with profiles: "+reason)
		}
	}
	return nil
}

// document returns the outcomes of the scenarios that were run, with the last word on each.
func (g *guard) document() *result.Document {
	for i, judged := range g.guarded {
		g.outcomes[i].Verdict, g.outcomes[i].Reasons = judged.Verdict, judged.Reasons
	}
	return result.NewDocument(g.outcomes...)
}

func (g *guard) judgements() (all []ci.Judgement) {
	for _, judged := range g.guarded {
		all = append(all, ci.OfCheck(judged.Report))
	}
	return all
}
