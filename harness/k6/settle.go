package k6

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/k6/options"
	"github.com/pronybench/prony/harness/load"
)

// kind is an operation on leased tasks.
type kind string

const (
	complete kind = "complete"
	fail     kind = "fail"
	extend   kind = "extend"
	release  kind = "release"
)

// settling is the operation of one call, with its options.
type settling struct {
	kind   kind
	result []byte // for complete; may be nil
	reason string // for fail
	delay  time.Duration
	lease  time.Duration // for extend
}

func settleDelay(s *settling, v options.Value) (err error) {
	s.delay, err = v.Duration(0, durationMax)
	return err
}

var settleTables = map[kind]options.Table[settling]{
	complete: {"result": func(s *settling, v options.Value) (err error) { s.result, err = payloadOf(v); return err }},
	fail: {
		"reason": func(s *settling, v options.Value) (err error) { s.reason, err = v.Text(); return err },
		"delay":  settleDelay,
	},
	extend: {"lease": func(s *settling, v options.Value) (err error) {
		s.lease, err = v.Duration(time.Millisecond, durationMax)
		return err
	}},
	release: {"delay": settleDelay},
}

// settler settles tasks with plain calls or over a session.
type settler struct {
	call    string        // name of the script's call
	owner   any           // claimed the tasks
	entered *load.Settler // nil without a ledger
	do      func(context.Context, settling, []*queuepb.Task) ([]error, error)
}

// settle returns the script's function for an operation on tasks. by returns the settler for a
// call.
func (c *queueClient) settle(k kind, by func(call string) (settler, error)) func(tasks, from sobek.Value) *sobek.Promise {
	return func(passed, from sobek.Value) *sobek.Promise {
		if err := c.usable(string(k)); err != nil {
			return c.refused(err)
		}
		s, err := by(string(k))
		if err != nil {
			return c.refused(failed(string(k), err))
		}
		how := settling{kind: k}
		tasks, err := tasksOf(s.call, passed, s.owner)
		if err == nil {
			err = settleTables[k].Read(c.vu.Runtime(), s.call, from, &how)
		}
		switch {
		case err != nil:
			return c.refused(err)
		case k == extend && how.lease == 0:
			return c.refused(&options.Error{Call: s.call, Field: "lease", Remedy: "pass the new duration of the lease, from now"})
		case how.result != nil && len(tasks) != 1:
			return c.refused(&options.Error{Call: s.call, Field: "result", Remedy: "a result needs a single task: complete it alone"})
		}
		record := c.recorder()
		return c.later(s.call, c.options.timeout, func(ctx context.Context) (func() any, error) {
			if len(tasks) == 0 {
				return nil, nil
			}
			return nil, s.carry(ctx, how, tasks, record)
		})
	}
}

// carry makes the call and records its outcome.
func (s *settler) carry(ctx context.Context, how settling, tasks []*Task, record *recorder) error {
	leased := make([]*queuepb.Task, len(tasks))
	for i, t := range tasks {
		leased[i] = t.leased
	}
	outcomes, err := s.do(ctx, how, leased)
	for i := range outcomes {
		if errors.Is(outcomes[i], client.ErrUnknownOutcome) {
			outcomes[i] = fmt.Errorf("%w: %w", driver.ErrUnknown, outcomes[i])
		}
	}
	if how.kind == complete {
		s.completed(tasks, outcomes, cut(ctx, err), record)
	} else {
		_, refused := tally(len(tasks), outcomes, err)
		record.count(record.metrics.refused, record.of(tasks[0].Tenant, tasks[0].Queue), refused)
	}
	if err != nil {
		entered := s.entered
		if how.kind == complete {
			entered = nil // completed has counted it
		}
		return record.failedCall(ctx, entered, record.of(tasks[0].Tenant, tasks[0].Queue), err)
	}
	record.push()
	return refusals(s.call, "task", outcomes)
}

// completed records the outcome of a completion, separately for consecutive tasks of each queue.
func (s *settler) completed(tasks []*Task, outcomes []error, err error, record *recorder) {
	for from := 0; from < len(tasks); {
		to := from + 1
		for to < len(tasks) && tasks[to].Queue == tasks[from].Queue && tasks[to].Tenant == tasks[from].Tenant {
			to++
		}
		var own []error
		if outcomes != nil {
			own = outcomes[from:to]
		}
		tags := record.of(tasks[from].Tenant, tasks[from].Queue)
		accepted, refused := tally(to-from, own, err)
		record.count(record.metrics.refused, tags, refused)
		if s.entered == nil {
			record.count(record.metrics.cycles, tags, accepted)
		} else {
			claims := make([]load.Claim, 0, to-from)
			for _, t := range tasks[from:to] {
				claims = append(claims, t.claim)
			}
			cycles, settled := s.entered.Completed(claims, own, err)
			record.count(record.metrics.cycles, tags, sound(claims, own, err))
			record.times(record.metrics.cycle, tags, cycles...)
			record.times(record.metrics.settle, tags, settled...)
		}
		from = to
	}
}

// sound returns the number of cycles: acknowledged completions of tasks with an intact payload.
func sound(claims []load.Claim, outcomes []error, err error) (n int) {
	if err != nil {
		return 0
	}
	for i, c := range claims {
		if c.Sound() && (outcomes == nil || outcomes[i] == nil) {
			n++
		}
	}
	return n
}

// plainly returns a settler that makes one plain call.
func (c *queueClient) plainly(call string) (settler, error) {
	api, err := c.api()
	if err != nil {
		return settler{}, err
	}
	entered, err := c.settlerOf(&c.options, &c.settler)
	if err != nil {
		return settler{}, err
	}
	return settler{call: call, owner: c, entered: entered, do: func(ctx context.Context, how settling, tasks []*queuepb.Task) ([]error, error) {
		results, err := how.call(ctx, api, tasks)
		if err != nil {
			return nil, err
		}
		if len(results) != len(tasks) {
			return nil, fmt.Errorf("%w: the server answered %d of %d tasks", client.ErrUnknownOutcome, len(results), len(tasks))
		}
		var errs []error
		for i, r := range results {
			errs = refuse(errs, len(tasks), i, r.GetError())
		}
		return errs, nil
	}}, nil
}

// call makes the plain call. All tasks must belong to one tenant, as those of one claim do.
func (h settling) call(ctx context.Context, api queuepb.QueueServiceClient, tasks []*queuepb.Task) ([]*queuepb.SettleResult, error) {
	tenant := tasks[0].GetTenant()
	switch h.kind {
	case fail:
		request := &queuepb.FailRequest{Tenant: tenant}
		for _, t := range tasks {
			request.Failures = append(request.Failures, &queuepb.Failure{Id: t.GetId(), Token: t.GetToken(), Error: h.reason, DelayMs: millis(h.delay)})
		}
		response, err := api.Fail(ctx, request)
		return response.GetResults(), err
	case extend:
		request := &queuepb.ExtendRequest{Tenant: tenant}
		for _, t := range tasks {
			request.Extensions = append(request.Extensions, &queuepb.Extension{Id: t.GetId(), Token: t.GetToken(), LeaseMs: millis(h.lease)})
		}
		response, err := api.Extend(ctx, request)
		return response.GetResults(), err
	case release:
		request := &queuepb.ReleaseRequest{Tenant: tenant}
		for _, t := range tasks {
			request.Releases = append(request.Releases, &queuepb.Releasing{Id: t.GetId(), Token: t.GetToken(), DelayMs: millis(h.delay)})
		}
		response, err := api.Release(ctx, request)
		return response.GetResults(), err
	}
	request := &queuepb.CompleteRequest{Tenant: tenant}
	for _, t := range tasks {
		request.Completions = append(request.Completions, &queuepb.Completion{Id: t.GetId(), Token: t.GetToken(), Result: h.result})
	}
	response, err := api.Complete(ctx, request)
	return response.GetResults(), err
}
