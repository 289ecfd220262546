package k6run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
)

// Ended is what came of a script's load.
type Ended struct {
	Outcome *load.Outcome
	Ledger  result.Ledger
	// Thresholds says which thresholds of the script were crossed; "" where none was.
	Thresholds string
}

// Run tells the script to begin, calls the hooks at the window's edges and with each report of
// progress, and returns when k6 has ended. Steady is not asked: the window is fixed when the load
// begins. It returns an error, an *Error where it is k6's or the script's, when the load ended
// before its window did, when its outcome or k6's end did not come in time, when k6 ended with
// another status than 0 or that of crossed thresholds, when a hook failed or ctx is done. It takes
// the time of the phases, and at most about two minutes more. It leaves no goroutine behind but for
// a hook that goes on though its context is done; the process may be left, for Close.
func (p *Process) Run(ctx context.Context, hooks load.Hooks) (*Ended, error) {
	epoch := time.Now().Add(lead)
	e := p.config.Plan.edges(epoch)
	if err := p.channel.send(Begin{UnixNS: epoch.UnixNano()}); err != nil {
		return nil, p.gone(ctx, "before its load began")
	}
	aside, cancel := context.WithCancel(ctx)
	defer cancel()
	edgeHooks := callHooks(aside, e, hooks)
	outcome, err := p.hear(ctx, e, hooks.Progress, edgeHooks)
	if err == nil {
		// The window's end came before the outcome did, so the hook at it was called.
		err = edgeHooks.wait(ctx, p.config.outcomeMargin)
	}
	if err == nil {
		err = p.awaitExit(ctx)
	}
	if err != nil {
		cancel()
		edgeHooks.abandon()
		return nil, err
	}
	ended := &Ended{Ledger: outcome.Ledger}
	if ended.Outcome, err = p.decode(outcome, e); err != nil {
		return nil, p.problem("k6 sent what the harness does not understand: %v", err)
	}
	ended.Outcome.StartHook, ended.Outcome.EndHook = edgeHooks.start, edgeHooks.end
	if p.child.ExitCode() == exitThresholds {
		ended.Thresholds = crossed(p.config.SummaryPath, lastLines(p.config.LogPath))
	}
	return ended, nil
}

// decode returns an outcome, which must be of the kind of load that the plan has.
func (p *Process) decode(o *Outcome, e edges) (*load.Outcome, error) {
	if open := p.config.Plan.Workload.Arrivals.Timed(); open != (o.Open != nil) {
		return nil, fmt.Errorf("the outcome has the account of an open load: %t; the plan has one: %t", !open, open)
	}
	return o.Load(e.epoch, p.config.Plan.Phases)
}

// hear takes progress until the outcome comes.
func (p *Process) hear(ctx context.Context, e edges, progress func(load.Progress), hooks *hookCalls) (*Outcome, error) {
	late := time.NewTimer(time.Until(e.over.Add(p.config.outcomeMargin)))
	defer late.Stop()
	for {
		select {
		case h := <-p.channel.messages:
			switch {
			case errors.Is(h.err, errEnded):
				return nil, p.gone(ctx, withoutOutcome(e))
			case h.err != nil:
				return nil, p.problem("k6 sent what the harness does not understand: %v", h.err)
			case h.message.Ready != nil:
				return nil, p.problem("k6 sent what the harness does not understand: that it is ready, twice")
			case h.message.Outcome != nil:
				return p.whole(ctx, h.message.Outcome, e)
			default:
				p.note(*h.message.Progress, e)
				if progress != nil {
					progress(*h.message.Progress)
				}
			}
		case <-hooks.failed:
			// A hook that looks at the process fails when it has ended, of which the news may come
			// a moment later.
			timer := time.NewTimer(endedWait)
			defer timer.Stop()
			select {
			case <-p.child.Done():
				return nil, p.exited(withoutOutcome(e))
			case <-timer.C:
				return nil, hooks.err
			}
		case <-late.C:
			return nil, p.problem("the script had not ended %v after its drain's time was up", p.config.outcomeMargin)
		case <-ctx.Done():
			return nil, stopped(ctx)
		}
	}
}

// whole returns an outcome unless its load ended before the window did.
func (p *Process) whole(ctx context.Context, o *Outcome, e edges) (*Outcome, error) {
	planned := e.windowEnd.Sub(e.epoch)
	took := min(o.FinishedNS, time.Since(e.epoch))
	if took >= planned {
		return o, nil
	}
	// How k6 ends says why, unless it is that the script is done.
	early := p.gone(ctx, "early")
	why := "its VUs must go on until load.next() resolves to null"
	switch {
	case early.Thresholds != "":
		why = early.Thresholds
	case p.child.Ended() && p.child.ExitCode() != 0:
		why = "k6 did not end in order"
	}
	early.Problem = fmt.Sprintf("the script ended its load %v after it began, and the window's end was at %v: %s", rounded(max(0, took)), planned, why)
	return nil, early
}

// endedWait is how much later than by its effects the end of a process may be known.
const endedWait = time.Second

func withoutOutcome(e edges) string {
	return fmt.Sprintf("without an outcome, %v after its load began", rounded(time.Since(e.epoch)))
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// note keeps a report of progress.
func (p *Process) note(now load.Progress, e edges) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.lastAt = now, e.epoch.Add(now.Elapsed)
}

// gone describes the end of a process that has ended the connection, or of one that goes on all the
// same.
func (p *Process) gone(ctx context.Context, when string) *Error {
	timer := time.NewTimer(p.config.exitTimeout)
	defer timer.Stop()
	select {
	case <-p.child.Done():
		return p.exited(when)
	case <-timer.C:
	case <-ctx.Done():
	}
	return p.problem("k6 broke the connection off %s", when)
}

// awaitExit waits for k6's end, which must be in order.
func (p *Process) awaitExit(ctx context.Context) error {
	timer := time.NewTimer(p.config.exitTimeout)
	defer timer.Stop()
	select {
	case <-p.child.Done():
	case <-timer.C:
		return p.problem("k6 had not ended %v after its script had", p.config.exitTimeout)
	case <-ctx.Done():
		return stopped(ctx)
	}
	if err := p.child.Err(); err != nil {
		return fmt.Errorf("end k6: %w", err)
	}
	if code := p.child.ExitCode(); code != 0 && code != exitThresholds {
		return p.problem("k6 did not end in order")
	}
	return nil
}
