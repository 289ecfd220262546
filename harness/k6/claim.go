package k6

import (
	"context"
	"errors"
	"fmt"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/k6/k6api"
	"github.com/pronybench/prony/harness/k6/options"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
)

// claim implements the script's method: it claims with a plain call.
func (c *queueClient) claim(from sobek.Value) *sobek.Promise {
	const call = "claim"
	return c.call(call, claimTable, from, callOptions{max: 1, wait: claimWaitDefault}, func(o *callOptions) (work, error) {
		if len(o.queues) == 0 {
			return nil, &options.Error{Call: call, Field: "queue", Remedy: "pass the name of the queue to claim from, or several as queues"}
		}
		conn, err := c.connection(c.options.connection)
		if err != nil {
			return nil, err
		}
		request := &queuepb.ClaimRequest{Tenant: o.tenant, Queues: o.queues, MaxTasks: uint32(o.max), LeaseMs: millis(o.lease), WaitMs: millis(o.wait)}
		return c.claiming(c, o.tenant, o.queues[0], &c.settler, func(ctx context.Context) ([]*queuepb.Task, error) {
			response, err := conn.API().Claim(ctx, request)
			return response.GetTasks(), err
		})
	})
}

// claiming returns the work of a claim. by claims tasks of a tenant, which owner can settle.
func (c *queueClient) claiming(owner any, tenant, queue string, settler **load.Settler, by func(context.Context) ([]*queuepb.Task, error)) (work, error) {
	entered, err := c.settlerOf(settler)
	if err != nil {
		return nil, err
	}
	record := c.recorder()
	return func(ctx context.Context) (func() any, error) {
		leased, err := by(ctx)
		if err != nil {
			return nil, record.failedCall(ctx, entered, record.of(tenant, queue), err)
		}
		tasks := c.take(owner, tenant, entered, leased)
		return func() any { return tasks }, nil
	}, nil
}

// settlerOf returns the settler that records a session's claims in the ledger, and creates it at
// the first call. It returns nil without a ledger.
func (c *queueClient) settlerOf(settler **load.Settler) (*load.Settler, error) {
	if *settler != nil || !c.options.ledger {
		return *settler, nil
	}
	meter, err := c.meter()
	if err != nil {
		return nil, err
	}
	*settler = meter.Settler()
	return *settler, nil
}

// take converts claimed tasks to the Tasks of a script. It records them in the ledger, which
// detects tasks of other tenants than the given one. It may run on any goroutine.
func (i *instance) take(owner any, tenant string, settler *load.Settler, leased []*queuepb.Task) []*Task {
	tasks := make([]*Task, len(leased))
	all := make([]Task, len(leased))
	var from ledger.Address // of the last task
	for n, l := range leased {
		t := &all[n]
		*t = Task{
			ID: l.GetId(), Tenant: l.GetTenant(), Queue: l.GetQueue(), Priority: l.GetPriority(), Attempt: l.GetAttempt(),
			LeaseUntil: l.GetLeaseExpiresAtMs(), Headers: l.GetHeaders(), of: i, owner: owner, leased: l, payload: l.GetPayload(),
		}
		tasks[n] = t
		if t.Headers == nil {
			t.Headers = map[string]string{}
		}
		if settler == nil {
			continue
		}
		if n == 0 || from.Queue != t.Queue {
			from = ledger.NewAddress(tenant, t.Queue)
		}
		if t.claim = settler.Claimed(t.payload, from); t.claim.Readable() {
			t.payload = t.payload[ledger.HeaderSize:]
		}
	}
	return tasks
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
