package k6

import (
	"context"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
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

var kinds = []kind{complete, fail, extend, release}

// settling makes an operation on tasks. It returns the outcome of each task, or nil if the server
// accepted all.
type settling func(context.Context, *client.Client, kind, *callOptions, []*queuepb.Task) ([]error, error)

// settle returns the script's function for an operation on tasks that owner has claimed.
func (c *queueClient) settle(k kind, call string, owner any, settler **load.Settler, do settling) func(tasks, from sobek.Value) *sobek.Promise {
	return func(passed, from sobek.Value) *sobek.Promise {
		return c.call(call, settleTables[k], from, callOptions{}, func(o *callOptions) (work, error) {
			tasks, err := tasksOf(call, passed, owner)
			switch {
			case err != nil:
				return nil, err
			case k == extend && o.lease == 0:
				return nil, &options.Error{Call: call, Field: "lease", Remedy: "pass the new duration of the lease, from now"}
			case o.result != nil && len(tasks) != 1:
				return nil, &options.Error{Call: call, Field: "result", Remedy: "a result needs a single task: complete it alone"}
			case len(tasks) == 0:
				return func(context.Context) (func() any, error) { return nil, nil }, nil
			}
			leased := make([]*queuepb.Task, len(tasks))
			for i, t := range tasks {
				leased[i] = t.leased
			}
			conn, err := c.connection(c.options.connection)
			if err != nil {
				return nil, err
			}
			entered, err := c.settlerOf(settler)
			if err != nil {
				return nil, err
			}
			record := c.recorder()
			return func(ctx context.Context) (func() any, error) {
				outcomes, err := do(ctx, conn, k, o, leased)
				if err = record.settled(ctx, k, entered, tasks, outcomes, err); err == nil {
					err = refusals(call, outcomes)
				}
				return nil, err
			}, nil
		})
	}
}

// settled records the outcome of a call and returns err.
func (r *recorder) settled(ctx context.Context, k kind, entered *load.Settler, tasks []*Task, outcomes []error, err error) error {
	mark(outcomes)
	tags := r.of(tasks[0].Tenant, tasks[0].Queue)
	if k == complete {
		r.completed(entered, tasks, outcomes, cut(ctx, err))
		entered = nil // it has counted a failed call
	} else {
		_, refused := tally(len(tasks), outcomes, err)
		r.count(r.metrics.refused, tags, refused)
	}
	if err != nil {
		return r.failedCall(ctx, entered, tags, err)
	}
	r.push()
	return nil
}

// completed records the outcome of a completion, separately for consecutive tasks of each queue.
func (r *recorder) completed(entered *load.Settler, tasks []*Task, outcomes []error, err error) {
	for from := 0; from < len(tasks); {
		to := from + 1
		for to < len(tasks) && tasks[to].Queue == tasks[from].Queue && tasks[to].Tenant == tasks[from].Tenant {
			to++
		}
		var own []error
		if outcomes != nil {
			own = outcomes[from:to]
		}
		tags := r.of(tasks[from].Tenant, tasks[from].Queue)
		accepted, refused := tally(to-from, own, err)
		r.count(r.metrics.refused, tags, refused)
		if entered == nil {
			r.count(r.metrics.cycles, tags, accepted)
		} else {
			claims := make([]load.Claim, 0, to-from)
			cycles := 0 // acknowledged completions of tasks with an intact payload
			for i, t := range tasks[from:to] {
				claims = append(claims, t.claim)
				if err == nil && t.claim.Sound() && (own == nil || own[i] == nil) {
					cycles++
				}
			}
			whole, settled := entered.Completed(claims, own, err)
			r.count(r.metrics.cycles, tags, cycles)
			r.times(r.metrics.cycle, tags, whole...)
			r.times(r.metrics.settle, tags, settled...)
		}
		from = to
	}
}

// plainly settles tasks with one plain call. All tasks must belong to one tenant, as those of one
// claim do.
func plainly(ctx context.Context, conn *client.Client, k kind, o *callOptions, tasks []*queuepb.Task) ([]error, error) {
	results, err := k.call(ctx, conn.API(), o, tasks)
	if err != nil {
		return nil, err
	}
	return itemErrors(results, len(tasks))
}

func (k kind) call(ctx context.Context, api queuepb.QueueServiceClient, o *callOptions, tasks []*queuepb.Task) ([]*queuepb.SettleResult, error) {
	tenant := tasks[0].GetTenant()
	switch k {
	case fail:
		response, err := api.Fail(ctx, &queuepb.FailRequest{Tenant: tenant, Failures: each(tasks, func(t *queuepb.Task) *queuepb.Failure {
			return &queuepb.Failure{Id: t.GetId(), Token: t.GetToken(), Error: o.reason, DelayMs: millis(o.delay)}
		})})
		return response.GetResults(), err
	case extend:
		response, err := api.Extend(ctx, &queuepb.ExtendRequest{Tenant: tenant, Extensions: each(tasks, func(t *queuepb.Task) *queuepb.Extension {
			return &queuepb.Extension{Id: t.GetId(), Token: t.GetToken(), LeaseMs: millis(o.lease)}
		})})
		return response.GetResults(), err
	case release:
		response, err := api.Release(ctx, &queuepb.ReleaseRequest{Tenant: tenant, Releases: each(tasks, func(t *queuepb.Task) *queuepb.Releasing {
			return &queuepb.Releasing{Id: t.GetId(), Token: t.GetToken(), DelayMs: millis(o.delay)}
		})})
		return response.GetResults(), err
	}
	response, err := api.Complete(ctx, &queuepb.CompleteRequest{Tenant: tenant, Completions: each(tasks, func(t *queuepb.Task) *queuepb.Completion {
		return &queuepb.Completion{Id: t.GetId(), Token: t.GetToken(), Result: o.result}
	})})
	return response.GetResults(), err
}

func each[M any](tasks []*queuepb.Task, of func(*queuepb.Task) *M) (messages []*M) {
	for _, t := range tasks {
		messages = append(messages, of(t))
	}
	return messages
}
