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

// edges are the times that divide a round: the begin of the warm-up, the window, and the end of the
// drain.
type edges struct {
	epoch, windowStart, windowEnd, over time.Time
}

// edges returns the edges of a load that begins at epoch.
func (p Plan) edges(epoch time.Time) edges {
	e := edges{epoch: epoch, windowStart: epoch.Add(p.Phases.Warmup)}
	e.windowEnd = e.windowStart.Add(p.Phases.Window)
	e.over = e.windowEnd.Add(p.Phases.Drain)
	return e
}

const (
	// hookMargin bounds the wait for a hook whose context is done.
	hookMargin = 5 * time.Second
	// endedWait bounds the delay between the effects of a process's end and the report of its end.
	endedWait = time.Second
)

// Run begins the script's load, calls the hooks at the window's edges and with each report of
// progress, and returns when k6 has ended. It does not call hooks.Steady, because the window is
// fixed when the load begins.
//
// Run fails if the load ends before its window, if the outcome or k6's exit is late, if k6 exits
// with a status other than 0 and that of crossed thresholds, if a hook fails, or if ctx is done.
// A failure of k6 or of the script is an *Error. Run takes the time of the phases and at most about
// two minutes more. It leaves no goroutine behind, except for a hook that does not return although
// its context is done. After a failure the process may still run, until Close.
func (p *Process) Run(ctx context.Context, hooks load.Hooks) (*Ended, error) {
	e := p.config.Plan.edges(time.Now().Add(lead))
	bounded, stop := context.WithDeadlineCause(ctx, e.over.Add(p.config.outcomeMargin),
		fmt.Errorf("the script has not ended %v after the end of its drain", p.config.outcomeMargin))
	defer stop()
	bounded, cancel := context.WithCancelCause(bounded) // a hook that fails ends the wait for the outcome
	defer cancel(nil)
	var start, end load.HookTimes
	called := make(chan struct{})
	go func() {
		defer close(called)
		var err error
		if start, end, err = hooks.AtEdges(bounded, e.windowStart, e.windowEnd); err != nil {
			cancel(fmt.Errorf("k6: %w", err))
		}
	}()
	ended, err := p.follow(bounded, e, hooks.Progress)
	if err == nil { // the window has ended, so that the last hook has been called
		select {
		case <-called:
		case <-bounded.Done():
		}
		err = context.Cause(bounded)
	}
	if err == nil {
		if err = p.awaitExit(ctx); err == nil {
			ended.Outcome.StartHook, ended.Outcome.EndHook, ended.Thresholds = start, end, p.thresholds()
			return ended, nil
		}
	}
	if errors.Is(bounded.Err(), context.Canceled) && ctx.Err() == nil {
		// A hook that reads the process fails after the process has ended. Its end may be reported
		// a moment later, and is then the better error.
		if p.commands.Wait(ctx, endedWait) != nil {
			return nil, context.Cause(bounded)
		}
		err = p.commands.Failure(errors.New("k6 ended without an outcome"))
	}
	cancel(nil)
	select {
	case <-called:
	case <-time.After(hookMargin):
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("k6: stopped: %w", context.Cause(ctx))
	}
	return nil, p.problem(err)
}

// follow begins the load and receives progress until it receives the outcome.
func (p *Process) follow(ctx context.Context, e edges, progress func(load.Progress)) (*Ended, error) {
	within := time.Until(e.over.Add(p.config.outcomeMargin))
	if err := p.commands.Call(ctx, within, CommandBegin, Begin{UnixNS: e.epoch.UnixNano()}, nil); err != nil {
		return nil, err
	}
	for {
		var r Report
		if err := p.commands.Call(ctx, within, CommandReport, nil, &r); err != nil {
			return nil, err
		}
		if r.Outcome != nil {
			return p.decode(ctx, r.Outcome, e)
		}
		p.note(r.Progress, e)
		if progress != nil {
			progress(r.Progress)
		}
	}
}

func (p *Process) note(now load.Progress, e edges) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.lastAt = now, e.epoch.Add(now.Elapsed)
}

// decode converts an outcome. It fails if the load ended before the window, and if one of outcome
// and plan is of an open load and the other is not.
func (p *Process) decode(ctx context.Context, o *Outcome, e edges) (*Ended, error) {
	planned, took := e.windowEnd.Sub(e.epoch), min(o.FinishedNS, time.Since(e.epoch))
	open := p.config.Plan.Workload.Arrivals.Timed()
	switch {
	case took < planned:
		// k6's exit explains why the load ended early, unless the script simply finished.
		_ = p.commands.Wait(ctx, p.config.exitTimeout)
		return nil, p.commands.Failure(fmt.Errorf("the script ended its load after %v, before the end of the window at %v: its VUs must continue until load.next() resolves to null",
			max(0, took).Round(time.Millisecond), planned))
	case open != (o.Open != nil):
		return nil, fmt.Errorf("k6: the outcome is of an open load: %t, expected %t", !open, open)
	}
	outcome, err := o.Load(e.epoch, p.config.Plan.Phases)
	return &Ended{Outcome: outcome, Ledger: o.Ledger}, err
}

// awaitExit waits for k6's exit. It fails for a status other than 0 and exitThresholds.
func (p *Process) awaitExit(ctx context.Context) error {
	if err := p.commands.Wait(ctx, p.config.exitTimeout); err != nil {
		return p.commands.Failure(err)
	}
	if code := p.commands.ExitCode(); code != 0 && code != exitThresholds {
		return p.commands.Failure(errors.New("k6 failed"))
	}
	return nil
}
