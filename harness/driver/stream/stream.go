// Package stream drives the engine through its client's streaming sessions.
package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/driver"
)

// closeMax bounds the time to close all sessions of a connection regularly.
const closeMax = 5 * time.Second

// Dial opens a connection to a target. Claims request the given lease.
func Dial(target driver.Target, lease time.Duration) (driver.Conn, error) {
	c, err := target.Dial()
	if err != nil {
		return nil, err
	}
	admins, err := dialAdmins(target)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &conn{client: c, lease: lease, admins: admins}, nil
}

type conn struct {
	client   *client.Client
	lease    time.Duration
	admins   []*client.Admin // to cancel tasks; nil if workers cancel none
	sessions []interface{ Close(context.Context) error }
}

func (c *conn) Producer(ctx context.Context, tenant string) (driver.Producer, error) {
	p, err := c.client.Producer(ctx, tenant)
	if err != nil {
		return nil, err
	}
	c.sessions = append(c.sessions, p)
	return producer{p}, nil
}

func (c *conn) Worker(ctx context.Context, tenant string, queues []string, slots int) (driver.Worker, error) {
	cancelling := &cancelling{tenant: tenant, admins: c.admins, noticed: map[*queuepb.Task]chan time.Time{}}
	config := client.WorkerConfig{Tenant: tenant, Queues: queues, Slots: slots, Lease: c.lease}
	if len(c.admins) > 0 {
		config.OnCancel = cancelling.notice
	}
	w, err := c.client.Worker(ctx, config)
	if err != nil {
		return nil, err
	}
	c.sessions = append(c.sessions, w)
	return worker{w, c.client, tenant, cancelling}, nil
}

func (c *conn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeMax)
	defer cancel()
	var errs []error
	for _, s := range c.sessions {
		errs = append(errs, s.Close(ctx))
	}
	for _, a := range c.admins {
		errs = append(errs, a.Close())
	}
	return errors.Join(append(errs, c.client.Close())...)
}

type producer struct{ p *client.Producer }

func (p producer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	if len(tasks) == 1 {
		t := &tasks[0]
		id, err := p.p.Enqueue(ctx, taskOf(t))
		t.ID = id
		return keysTaken(single(err, outcomes), outcomes)
	}
	batch := batches.Get().(*[]client.Task)
	defer batches.Put(batch)
	*batch = (*batch)[:0]
	for i := range tasks {
		*batch = append(*batch, taskOf(&tasks[i]))
	}
	ids, errs, err := p.p.EnqueueBatch(ctx, *batch)
	for i := range min(len(ids), len(tasks)) {
		tasks[i].ID = ids[i]
	}
	return keysTaken(batched(errs, err, outcomes), outcomes)
}

// keysTaken adds driver.ErrKeyTaken to outcomes that report a held key. It returns err unchanged.
func keysTaken(err error, outcomes []error) error {
	for i, e := range outcomes {
		if e != nil && errors.Is(e, client.ErrKeyTaken) {
			outcomes[i] = fmt.Errorf("%w: %w", driver.ErrKeyTaken, e)
		}
	}
	return err
}

func taskOf(t *driver.Task) client.Task {
	var unique *client.Unique
	if t.UntilFinished {
		unique = untilFinished
	}
	return client.Task{
		Unique: unique, Headers: t.Headers, BatchSize: uint32(t.BatchSize), Batch: t.Batch,
		Queue: t.Queue, Priority: t.Priority, Payload: t.Payload,
		Key: t.Key, Delay: t.Delay, ResultRetention: t.ResultRetention, MaxAttempts: t.MaxAttempts, Backoff: client.Backoff{Initial: t.Backoff, Max: t.Backoff},
	}
}

var untilFinished = &client.Unique{Scope: client.UntilFinished, Conflict: client.RefuseSecond}

// The client retains no reference to a batch, so its memory can be reused.
var (
	batches = sync.Pool{New: func() any { return new([]client.Task) }}
	claims  = sync.Pool{New: func() any { return new([]*queuepb.Task) }}
)

// single converts the error of a call with one item. If the server refused the item, it sets
// outcomes[0] and returns nil. It returns any other error, including one that reports an unknown
// outcome.
func single(err error, outcomes []error) error {
	outcomes[0] = nil
	var refused *client.Error
	if errors.As(err, &refused) && !errors.Is(err, client.ErrUnknownOutcome) {
		outcomes[0] = err
		return nil
	}
	return err
}

func batched(errs []error, err error, outcomes []error) error {
	clear(outcomes)
	for i, e := range errs {
		if errors.Is(e, client.ErrUnknownOutcome) {
			e = fmt.Errorf("%w: %w", driver.ErrUnknown, e)
		}
		outcomes[i] = e
	}
	return err
}

var (
	_ driver.Failer    = worker{}
	_ driver.Extender  = worker{}
	_ driver.Returner  = worker{}
	_ driver.Canceller = worker{}
)

type worker struct {
	w          *client.Worker
	client     *client.Client
	tenant     string
	cancelling *cancelling
}

func (w worker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	t, err := w.w.Receive(ctx)
	if err != nil {
		return 0, err
	}
	into[0] = delivery(t)
	n := 1
	for n < len(into) {
		t, ok := w.w.TryReceive()
		if !ok {
			break
		}
		into[n] = delivery(t)
		n++
	}
	return n, nil
}

func delivery(t *queuepb.Task) driver.Delivery {
	return driver.Delivery{
		Tenant: t.GetTenant(), Queue: t.GetQueue(), Payload: t.GetPayload(), Handle: t, Priority: t.GetPriority(), Headers: t.GetHeaders(),
		Attempt: t.GetAttempt(), Token: t.GetToken(), UntilMs: t.GetLeaseExpiresAtMs(),
	}
}

func (w worker) Complete(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	if slices.ContainsFunc(deliveries, func(d driver.Delivery) bool { return d.Result != nil }) {
		return w.completeWith(ctx, deliveries, outcomes)
	}
	claimed := claims.Get().(*[]*queuepb.Task)
	defer func() {
		clear(*claimed)
		claims.Put(claimed)
	}()
	*claimed = (*claimed)[:0]
	for i := range deliveries {
		t, ok := deliveries[i].Handle.(*queuepb.Task)
		if !ok {
			return notClaimed(&deliveries[i])
		}
		*claimed = append(*claimed, t)
	}
	if len(deliveries) == 1 {
		return leasesOver(single(w.w.Complete(ctx, (*claimed)[0]), outcomes), outcomes)
	}
	errs, err := w.w.CompleteBatch(ctx, *claimed)
	return leasesOver(batched(errs, err, outcomes), outcomes)
}

// leasesOver adds driver.ErrLeaseOver to outcomes that report an expired lease or a missing task.
// It returns err unchanged.
func leasesOver(err error, outcomes []error) error {
	for i, e := range outcomes {
		if e != nil && !errors.Is(e, driver.ErrUnknown) && (errors.Is(e, client.ErrStaleToken) || errors.Is(e, client.ErrNotFound)) {
			outcomes[i] = fmt.Errorf("%w: %w", driver.ErrLeaseOver, e)
		}
	}
	return err
}

func notClaimed(d *driver.Delivery) error {
	return fmt.Errorf("delivery of queue %q was not claimed by this driver", d.Queue)
}

// Fail implements driver.Failer. It makes one call for each failure; the client combines the calls
// of a batch.
func (w worker) Fail(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	return each(deliveries, outcomes, func(t *queuepb.Task) error { return w.w.Fail(ctx, t, driver.FailedBecause, 0) })
}

// Extend implements driver.Extender. The client combines the extensions of a batch.
func (w worker) Extend(ctx context.Context, deliveries []driver.Delivery, lease time.Duration, outcomes []error) error {
	return each(deliveries, outcomes, func(t *queuepb.Task) error { return w.w.Extend(ctx, t, lease) })
}

// each calls settle for each delivery in a separate goroutine. It sets the outcomes as for a batch.
func each(deliveries []driver.Delivery, outcomes []error, settle func(*queuepb.Task) error) error {
	errs := make([]error, len(deliveries))
	var calls sync.WaitGroup
	for i := range deliveries {
		t, ok := deliveries[i].Handle.(*queuepb.Task)
		if !ok {
			errs[i] = notClaimed(&deliveries[i])
			continue
		}
		calls.Go(func() { errs[i] = single(settle(t), outcomes[i:i+1]) })
	}
	calls.Wait()
	return leasesOver(errors.Join(errs...), outcomes)
}
