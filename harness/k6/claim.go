package k6

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/grafana/sobek"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/k6/k6api"
	"github.com/pronybench/prony/harness/k6/options"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
)

// claimWaitDefault is the default wait for the first task of a claim.
const claimWaitDefault = time.Second

// claimOptions are the options of a claim.
type claimOptions struct {
	max  int
	wait time.Duration

	// Only for plain calls.
	queues []string
	tenant string
	lease  time.Duration
}

func claimMax(c *claimOptions, v options.Value) error {
	n, err := v.Int(1, tasksMax)
	c.max = int(n)
	return err
}

func claimWait(c *claimOptions, v options.Value) (err error) {
	c.wait, err = v.Duration(0, claimWaitMax)
	return err
}

var (
	workerClaimTable = options.Table[claimOptions]{"max": claimMax, "wait": claimWait}
	claimTable       = options.Table[claimOptions]{
		"max":  claimMax,
		"wait": claimWait,
		"queue": func(c *claimOptions, v options.Value) error {
			queue, err := v.Text()
			c.queues = append(c.queues, queue)
			return err
		},
		"queues": func(c *claimOptions, v options.Value) error {
			queues, err := v.Texts(queuesMax)
			c.queues = append(c.queues, queues...)
			return err
		},
		"tenant": func(c *claimOptions, v options.Value) (err error) { c.tenant, err = v.Text(); return err },
		"lease": func(c *claimOptions, v options.Value) (err error) {
			c.lease, err = v.Duration(time.Millisecond, durationMax)
			return err
		},
	}
)

// taker converts claimed tasks to the Tasks of a script.
type taker struct {
	of      *instance
	owner   any
	tenant  string         // the claiming tenant: the ledger detects tasks of other tenants
	settler *load.Settler  // nil without a ledger
	from    ledger.Address // of the last task
}

// take records claimed tasks in the ledger and returns them. It is not safe for concurrent use.
func (t *taker) take(leased []*queuepb.Task) []*Task {
	tasks := make([]*Task, len(leased))
	all := make([]Task, len(leased))
	for n, l := range leased {
		all[n] = Task{
			ID: l.GetId(), Tenant: l.GetTenant(), Queue: l.GetQueue(), Priority: l.GetPriority(), Attempt: l.GetAttempt(),
			LeaseUntil: l.GetLeaseExpiresAtMs(), of: t.of, owner: t.owner, leased: l, payload: l.GetPayload(),
		}
		if t.settler != nil {
			if t.from.Queue != l.GetQueue() || t.from.Tenant == "" {
				t.from = ledger.NewAddress(t.tenant, l.GetQueue())
			}
			all[n].claim = t.settler.Claimed(l.GetPayload(), t.from)
			if all[n].claim.Readable() {
				all[n].payload = all[n].payload[ledger.HeaderSize:]
			}
		}
		tasks[n] = &all[n]
	}
	return tasks
}

// settlerOf returns the settler that records a session's claims in the ledger, and creates it at
// the first call. It returns nil without a ledger.
func (i *instance) settlerOf(c *connectOptions, settler **load.Settler) (*load.Settler, error) {
	if *settler != nil || !c.ledger {
		return *settler, nil
	}
	meter, err := i.meter()
	if err != nil {
		return nil, err
	}
	*settler = meter.Settler()
	return *settler, nil
}

// claim implements the script's method: it claims with a plain call.
func (c *queueClient) claim(from sobek.Value) *sobek.Promise {
	const call = "claim"
	o := claimOptions{max: 1, wait: claimWaitDefault, tenant: c.options.tenant}
	if err := c.usable(call); err != nil {
		return c.refused(err)
	}
	if err := claimTable.Read(c.vu.Runtime(), call, from, &o); err != nil {
		return c.refused(err)
	}
	if len(o.queues) == 0 {
		return c.refused(&options.Error{Call: call, Field: "queue", Remedy: "pass the name of the queue to claim from, or several as queues"})
	}
	api, err := c.api()
	if err != nil {
		return c.refused(failed(call, err))
	}
	settler, err := c.settlerOf(&c.options, &c.settler)
	if err != nil {
		return c.refused(failed(call, err))
	}
	t := taker{of: c.instance, owner: c, tenant: o.tenant, settler: settler}
	record := c.recorder()
	return c.later(call, o.wait+c.options.timeout, func(ctx context.Context) (func() any, error) {
		response, err := api.Claim(ctx, &queuepb.ClaimRequest{
			Tenant: o.tenant, Queues: o.queues, MaxTasks: uint32(o.max), LeaseMs: millis(o.lease), WaitMs: millis(o.wait),
		})
		if err != nil {
			return nil, record.failedCall(ctx, settler, record.of(o.tenant, o.queues[0]), err)
		}
		if n := len(response.GetTasks()); n > o.max {
			return nil, fmt.Errorf("the server returned %d tasks, but %d were requested", n, o.max)
		}
		tasks := t.take(response.GetTasks())
		return func() any { return tasks }, nil
	})
}

// counts reports whether err counts as a failed call. An error does not count if the end of the
// iteration interrupted the call, or if the script used a closed session.
func counts(ctx context.Context, err error) bool {
	return err != nil && !errors.Is(ctx.Err(), context.Canceled) && !errors.Is(err, errSessionClosed)
}

// cut marks the error of a call that the end of its iteration interrupted, so that the meter does
// not count it as a failure.
func cut(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%w: %w", context.Canceled, err)
	}
	return err
}

// failedCall counts a failed call and returns err.
func (r *recorder) failedCall(ctx context.Context, settler *load.Settler, tags *k6api.TagSet, err error) error {
	if !counts(ctx, err) {
		return err
	}
	r.add(r.metrics.failedCalls, tags, 1)
	r.push()
	if settler != nil {
		settler.Failed(err)
	}
	return err
}

// waited reports whether a claim ended because its wait expired.
func waited(call context.Context, wait context.Context, err error) bool {
	return call.Err() == nil && wait.Err() != nil && (errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded)
}

// receive claims from a session. It waits for the first task, and adds tasks that have arrived.
func receive(ctx context.Context, w *client.Worker, o claimOptions) ([]*queuepb.Task, error) {
	var leased []*queuepb.Task
	for len(leased) < o.max {
		t, ok := w.TryReceive()
		if !ok {
			break
		}
		leased = append(leased, t)
	}
	if len(leased) > 0 || o.wait == 0 {
		return leased, nil
	}
	wait, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	first, err := w.Receive(wait)
	if waited(ctx, wait, err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	leased = append(leased, first)
	for len(leased) < o.max {
		t, ok := w.TryReceive()
		if !ok {
			break
		}
		leased = append(leased, t)
	}
	return leased, nil
}
