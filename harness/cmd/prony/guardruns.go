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
	"github.com/pronybench/prony/harness/report/terminal"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

// guard measures scenarios one after the other and judges each.
type guard struct {
	limits   *gate.Baselines
	within   time.Duration // 0: no bound
	now      func() time.Time
	stderr   io.Writer
	judgedBy string // first line of the verdict: what judged the speed
	// measure measures and judges a scenario.
	measure func(context.Context, *scenario.Scenario, *run.Place) (guardedRun, error)
	// foreign watches other processes until stop, which returns those with the most CPU time. It
	// may be nil.
	foreign func() (stop func() []result.ForeignProcess)
	// alone returns the command that guards one scenario.
	alone func(*scenario.Scenario) string

	began    time.Time
	guarded  []terminal.Guarded // in the order of the scenarios
	outcomes []result.Outcome   // in the same order
}

// guardedRun is the result of one scenario on the build under test, with its judgement.
type guardedRun struct {
	result *result.Result
	judged terminal.Guarded
}

// errTimeOver cancels measurements at the end of --within.
var errTimeOver = errors.New("the time for all scenarios has run out")

func (g *guard) all(ctx context.Context, scenarios []*scenario.Scenario) error {
	g.began = g.now()
	if g.within > 0 {
		// Not a deadline: gRPC would send it with each call, and the server would keep a timer for
		// each.
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		defer end(nil)
		defer time.AfterFunc(g.within, func() { end(errTimeOver) }).Stop()
	}
	if g.foreign != nil {
		stop := g.foreign()
		defer func() {
			whole := stop()
			for i := range g.guarded {
				if g.guarded[i].Folder == "" { // not measured, so it has no processes
					g.guarded[i].Foreign = whole
				}
			}
		}()
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
	return nil
}

func expected(scenarios []*scenario.Scenario) (sum time.Duration) {
	for _, s := range scenarios {
		sum += s.Expected()
	}
	return sum
}

// has reports whether the remaining time is at least length.
func (g *guard) has(length time.Duration) bool {
	return g.within == 0 || g.took()+length <= g.within
}

// hasBefore is like has, but also leaves time for the given number of later scenarios.
func (g *guard) hasBefore(later int, length time.Duration) bool {
	return g.has(length + time.Duration(later)*guardScenario)
}

func timeOver(ctx context.Context, err error) bool {
	return err != nil && errors.Is(context.Cause(ctx), errTimeOver)
}

// unmeasured judges a scenario that was stopped at the end of the time, or not started.
func (g *guard) unmeasured(s *scenario.Scenario) (terminal.Guarded, result.Outcome) {
	r := &result.Result{
		Version: result.Version, Scenario: s.Name, Title: s.Title, Manifest: result.Manifest{Scenario: *s}, Verdict: result.Invalid,
		Reasons: []string{fmt.Sprintf("the measurement is incomplete: the time for all scenarios, %v, ran out", g.within)},
	}
	return terminal.Guarded{Report: gate.Report{Scenario: s.Name, Verdict: r.Verdict, Reasons: r.Reasons}, Alone: g.alone(s)}, result.NewOutcome(r, "")
}

func (g *guard) took() time.Duration { return g.now().Sub(g.began) }

// one measures and judges a scenario, and renders its page.
func (g *guard) one(ctx context.Context, s *scenario.Scenario, place *run.Place) (terminal.Guarded, result.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return terminal.Guarded{}, result.Outcome{}, err
	}
	m, err := g.measure(ctx, s, place)
	if err != nil {
		return terminal.Guarded{}, result.Outcome{}, err
	}
	r, judged := m.result, m.judged
	judged.Alone = g.alone(s)
	// Before the outcome, because they decide what may be published.
	r.Verdict, r.Reasons = judged.Verdict, judged.Reasons
	r.Warnings = append(r.Warnings, judged.Warnings...)
	outcome := result.NewOutcome(r, judged.Folder)
	outcome.Limits = judged.Limits()
	// The figures are stored, so a missing page is only a warning.
	if files, err := report.Render(g.limits, judged.Folder, judged.Folder); err != nil {
		outcome.Warnings = append(outcome.Warnings, fmt.Sprintf("no page: %v", err))
	} else {
		outcome.Page = files[0]
	}
	return judged, outcome, nil
}

func (g *guard) document() *result.Document { return result.NewDocument(g.outcomes...) }

func (g *guard) judgements() (all []ci.Judgement) {
	for _, judged := range g.guarded {
		all = append(all, ci.OfCheck(judged.Report))
	}
	return all
}
