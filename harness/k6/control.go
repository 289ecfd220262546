package k6

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/proc/dialogue"
)

// progressEvery is the time between reports to the harness.
const progressEvery = 250 * time.Millisecond

// control is the connection to the harness that has started this process.
type control struct {
	plan    chan *k6run.Plan
	ready   chan struct{} // closed when the script's VUs are ready to begin
	begin   chan time.Time
	outcome chan *k6run.Outcome
	told    bool          // set when the outcome was reported
	over    chan struct{} // closed when the connection has ended
}

// serve starts to execute the harness's commands and returns its plan.
func (p *process) serve(answers string) (*k6run.Plan, error) {
	out, err := os.OpenFile(answers, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("prony: %s: %w: start k6 with `prony run`, or unset it", k6run.ControlEnv, err)
	}
	c := &control{
		plan: make(chan *k6run.Plan), ready: make(chan struct{}), begin: make(chan time.Time, 1), outcome: make(chan *k6run.Outcome, 1), over: make(chan struct{}),
	}
	go func() {
		defer close(c.over)
		last := func(string, error) (bool, error) { return c.told, nil }
		if err := errors.Join(dialogue.Serve(context.Background(), p.stdin, out, c.commands(p), last), out.Close()); err != nil {
			p.logger.WithError(err).Error("prony: the harness")
		}
	}()
	p.control = c
	select {
	case plan := <-c.plan:
		return plan, nil
	case <-c.over:
		return nil, errHarness
	}
}

var errHarness = errors.New("prony: the harness has ended the connection")

func (c *control) commands(p *process) func(context.Context) dialogue.Commands {
	return func(context.Context) dialogue.Commands {
		return dialogue.Commands{
			dialogue.CommandHello: dialogue.Hello(k6run.Version),
			k6run.CommandReady: dialogue.Do(func(ctx context.Context, plan k6run.Plan) (none dialogue.None, err error) {
				c.plan <- &plan
				select {
				case <-c.ready:
					return none, nil
				case <-ctx.Done():
					return none, context.Cause(ctx)
				}
			}),
			k6run.CommandBegin: dialogue.Do(func(_ context.Context, at k6run.Begin) (none dialogue.None, err error) {
				now := time.Now()
				c.begin <- now.Add(time.Unix(0, at.UnixNS).Sub(now.Round(0))) // with a monotonic reading
				return none, nil
			}),
			k6run.CommandReport: dialogue.Do(func(ctx context.Context, _ dialogue.None) (r k6run.Report, err error) {
				select {
				case r.Outcome = <-c.outcome:
					c.told = true
				case <-time.After(progressEvery):
					r.Progress = p.meter.Progress()
				case <-ctx.Done():
					return r, context.Cause(ctx)
				}
				return r, nil
			}),
		}
	}
}

// awaitBegin reports that the script's VUs are ready, and returns the time of the load's begin.
func (c *control) awaitBegin(ctx context.Context) (at time.Time, err error) {
	close(c.ready)
	select {
	case at = <-c.begin:
		return at, nil
	case <-c.over:
		return at, errHarness
	case <-ctx.Done():
		return at, context.Cause(ctx)
	}
}

// report waits until the harness has the outcome, or has ended the connection.
func (c *control) report(o *k6run.Outcome) {
	c.outcome <- o
	<-c.over
}
