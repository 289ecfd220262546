package k6run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
)

// Ended is the result of a script's load.
type Ended struct {
	Outcome *load.Outcome
	Ledger  result.Ledger
	// Thresholds describes the crossed thresholds of the script; "" if there are none.
	Thresholds string
}

// Run sends the script the begin message, calls the hooks at the window's edges and with each
// report of progress, and returns when k6 has ended. It does not call hooks.Steady, because the
// window is fixed when the load begins.
//
// Run fails if the load ends before its window, if the outcome or k6's exit is late, if k6 exits
// with a status other than 0 and that of crossed thresholds, if a hook fails, or if ctx is done.
// A failure of k6 or of the script is an *Error. Run takes the time of the phases and at most about
// two minutes more. It leaves no goroutine behind, except for a hook that does not return although
// its context is done. After a failure the process may still run, until Close.
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
		// The outcome comes after the window's end, so the hook at the end has been called.
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
		return nil, p.problem("k6 sent an invalid message: %v", err)
	}
	ended.Outcome.StartHook, ended.Outcome.EndHook = edgeHooks.start, edgeHooks.end
	if p.child.ExitCode() == exitThresholds {
		ended.Thresholds = crossed(p.config.SummaryPath, lastLines(p.config.LogPath))
	}
	return ended, nil
}

// decode converts an outcome. It fails if one of outcome and plan is of an open load and the other
// is not.
func (p *Process) decode(o *Outcome, e edges) (*load.Outcome, error) {
	if open := p.config.Plan.Workload.Arrivals.Timed(); open != (o.Open != nil) {
		return nil, fmt.Errorf("the outcome is of an open load: %t, expected %t", !open, open)
	}
	return o.Load(e.epoch, p.config.Plan.Phases)
}

// hear receives progress until it receives the outcome.
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
				return nil, p.problem("k6 sent an invalid message: %v", h.err)
			case h.message.Ready != nil:
				return nil, p.problem("k6 sent an invalid message: a second ready message")
			case h.message.Outcome != nil:
				return p.whole(ctx, h.message.Outcome, e)
			default:
				p.note(*h.message.Progress, e)
				if progress != nil {
					progress(*h.message.Progress)
				}
			}
		case <-hooks.failed:
			// A hook that reads the process fails after the process has ended. Its end may be
			// reported a moment later, and is then the better error.
			timer := time.NewTimer(endedWait)
			defer timer.Stop()
			select {
			case <-p.child.Done():
				return nil, p.exited(withoutOutcome(e))
			case <-timer.C:
				return nil, hooks.err
			}
		case <-late.C:
			return nil, p.problem("the script has not ended %v after the end of its drain", p.config.outcomeMargin)
		case <-ctx.Done():
			return nil, stopped(ctx)
		}
	}
}

// whole returns the outcome, or an error if the load ended before the window.
func (p *Process) whole(ctx context.Context, o *Outcome, e edges) (*Outcome, error) {
	planned := e.windowEnd.Sub(e.epoch)
	took := min(o.FinishedNS, time.Since(e.epoch))
	if took >= planned {
		return o, nil
	}
	// k6's exit explains why the load ended early, unless the script simply finished.
	early := p.gone(ctx, "early")
	why := "its VUs must continue until load.next() resolves to null"
	switch {
	case early.Thresholds != "":
		why = early.Thresholds
	case p.child.Ended() && p.child.ExitCode() != 0:
		why = "k6 failed"
	}
	early.Problem = fmt.Sprintf("the script ended its load after %v, before the end of the window at %v: %s", rounded(max(0, took)), planned, why)
	return nil, early
}

// endedWait bounds the delay between the effects of a process's end and the report of its end.
const endedWait = time.Second

func withoutOutcome(e edges) string {
	return fmt.Sprintf("without an outcome, %v after the begin of its load", rounded(time.Since(e.epoch)))
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func (p *Process) note(now load.Progress, e edges) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.lastAt = now, e.epoch.Add(now.Elapsed)
}

// gone returns the error for an ended connection: the exit of the process, or that the process
// still runs after exitTimeout.
func (p *Process) gone(ctx context.Context, when string) *Error {
	timer := time.NewTimer(p.config.exitTimeout)
	defer timer.Stop()
	select {
	case <-p.child.Done():
		return p.exited(when)
	case <-timer.C:
	case <-ctx.Done():
	}
	return p.problem("k6 closed the connection %s", when)
}

// awaitExit waits for k6's exit. It fails for a status other than 0 and exitThresholds.
func (p *Process) awaitExit(ctx context.Context) error {
	timer := time.NewTimer(p.config.exitTimeout)
	defer timer.Stop()
	select {
	case <-p.child.Done():
	case <-timer.C:
		return p.problem("k6 has not ended %v after its script", p.config.exitTimeout)
	case <-ctx.Done():
		return stopped(ctx)
	}
	if err := p.child.Err(); err != nil {
		return fmt.Errorf("end k6: %w", err)
	}
	if code := p.child.ExitCode(); code != 0 && code != exitThresholds {
		return p.problem("k6 failed")
	}
	return nil
}
