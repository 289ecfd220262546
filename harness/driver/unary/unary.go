// Package unary drives the engine through plain gRPC calls. Each batch is one call, and each
// goroutine has one call in flight.
package unary

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/driver"
)

// waitMax is how long a claim waits at the server for a task before the driver repeats it.
const waitMax = 10 * time.Second

// Dial opens a connection to a target. Claims request the given lease.
func Dial(target driver.Target, lease time.Duration) (driver.Conn, error) {
	c, err := target.Dial()
	if err != nil {
		return nil, err
	}
	return &conn{client: c, lease: lease}, nil
}

type conn struct {
	client *client.Client
	lease  time.Duration
}

func (c *conn) Producer(_ context.Context, tenant string) (driver.Producer, error) {
	return producer{c.client.API(), tenant}, nil
}

func (c *conn) Worker(_ context.Context, tenant string, queues []string, _ int) (driver.Worker, error) {
	return worker{client: c.client, api: c.client.API(), tenant: tenant, queues: queues, lease: c.lease}, nil
}

func (c *conn) Close() error { return c.client.Close() }

type producer struct {
	api    queuepb.QueueServiceClient
	tenant string
}

func (p producer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	messages := make([]queuepb.NewTask, len(tasks))
	request := &queuepb.EnqueueRequest{Tenant: p.tenant, Tasks: make([]*queuepb.NewTask, len(tasks))}
	for i, t := range tasks {
		messages[i].Queue, messages[i].Priority, messages[i].Payload = t.Queue, t.Priority, t.Payload
		messages[i].MaxAttempts, messages[i].Backoff = t.MaxAttempts, backoffOf(t.Backoff)
		messages[i].DelayMs, messages[i].ResultRetentionMs = uint64(t.Delay.Milliseconds()), uint64(t.ResultRetention.Milliseconds())
		messages[i].IdempotencyKey, messages[i].Headers = t.Key, t.Headers
		messages[i].BatchSize, messages[i].Batch = uint32(t.BatchSize), t.Batch
		if t.UntilFinished {
			messages[i].Unique = &queuepb.Unique{
				Scope: queuepb.UniqueScope_UNIQUE_SCOPE_UNTIL_FINISHED, Conflict: queuepb.UniqueConflict_UNIQUE_CONFLICT_REFUSE,
			}
		}
		request.Tasks[i] = &messages[i]
	}
	response, err := p.api.Enqueue(ctx, request)
	if err != nil {
		return refusedAll(err, outcomes)
	}
	for i, r := range response.GetResults()[:min(len(response.GetResults()), len(tasks))] {
		tasks[i].ID = r.GetId()
	}
	return settled(response.GetResults(), outcomes)
}

// backoffOf returns a constant backoff. It returns nil if wait is 0; the server then uses its
// default.
func backoffOf(wait time.Duration) *queuepb.Backoff {
	if wait == 0 {
		return nil
	}
	ms := uint64(wait.Milliseconds())
	return &queuepb.Backoff{InitialMs: ms, MaxMs: ms}
}

// refusedAll sets the outcomes and returns nil if the server is full and the call had no effect. It
// returns any other error, which means that the outcome of the call is unknown.
func refusedAll(err error, outcomes []error) error {
	if status.Code(err) != codes.ResourceExhausted {
		return err
	}
	for i := range outcomes {
		outcomes[i] = err
	}
	return nil
}

func settled[R interface{ GetError() *queuepb.ItemError }](results []R, outcomes []error) error {
	if len(results) != len(outcomes) {
		return fmt.Errorf("the server answered %d of %d items", len(results), len(outcomes))
	}
	for i, r := range results {
		outcomes[i] = nil
		if e := r.GetError(); e != nil {
			outcomes[i] = fmt.Errorf("%v: %s", e.GetCode(), e.GetMessage())
			switch e.GetCode() { //nolint:exhaustive // the others need no mark
			case queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME:
				outcomes[i] = fmt.Errorf("%w: %w", driver.ErrUnknown, outcomes[i])
			case queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS:
				outcomes[i] = fmt.Errorf("%w: %w", driver.ErrKeyTaken, outcomes[i])
			case queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN, queuepb.ErrorCode_ERROR_CODE_CANCELLED, queuepb.ErrorCode_ERROR_CODE_NOT_FOUND:
				outcomes[i] = fmt.Errorf("%w: %w", driver.ErrLeaseOver, outcomes[i])
			}
		}
	}
	return nil
}

var (
	_ driver.Combiner = worker{}
	_ driver.Failer   = worker{}
	_ driver.Extender = worker{}
	_ driver.Returner = worker{}
)

type worker struct {
	client *client.Client
	api    queuepb.QueueServiceClient
	tenant string
	queues []string
	lease  time.Duration
}

func (w worker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	request := &queuepb.ClaimRequest{
		Tenant: w.tenant, Queues: w.queues, MaxTasks: uint32(len(into)),
		LeaseMs: uint64(w.lease.Milliseconds()), WaitMs: uint64(waitMax.Milliseconds()),
	}
	for {
		response, err := w.api.Claim(ctx, request)
		if err != nil {
			return 0, err
		}
		if n, err := deliver(response.GetTasks(), into); n > 0 || err != nil {
			return n, err
		}
	}
}

func deliver(tasks []*queuepb.Task, into []driver.Delivery) (int, error) {
	if len(tasks) > len(into) {
		return 0, fmt.Errorf("the server returned %d tasks for a claim of at most %d", len(tasks), len(into))
	}
	for i, t := range tasks {
		into[i] = driver.Delivery{
			Tenant: t.GetTenant(), Queue: t.GetQueue(), Payload: t.GetPayload(), Handle: t, Priority: t.GetPriority(), Headers: t.GetHeaders(),
			Attempt: t.GetAttempt(), Token: t.GetToken(), UntilMs: t.GetLeaseExpiresAtMs(),
		}
	}
	return len(tasks), nil
}

// CompleteAndClaim implements driver.Combiner.
func (w worker) CompleteAndClaim(ctx context.Context, done []driver.Delivery, outcomes []error, into []driver.Delivery) (int, error) {
	combined, err := w.client.UnaryWorker(client.UnaryWorkerConfig{
		Tenant: w.tenant, Queues: w.queues, Tasks: len(into), Lease: w.lease, Wait: driver.CombinedWait, Combined: true,
	})
	if err != nil {
		return 0, err
	}
	tasks := make([]*queuepb.Task, len(done))
	for i := range done {
		t, ok := done[i].Handle.(*queuepb.Task)
		if !ok {
			return 0, notClaimed(&done[i])
		}
		tasks[i] = t
	}
	next, errs, err := combined.Next(ctx, tasks)
	clear(outcomes)
	unknown := 0
	for i, e := range errs {
		if outcomes[i] = marked(e); errors.Is(e, client.ErrUnknownOutcome) {
			unknown++
		}
	}
	if err != nil && unknown == len(done) {
		return 0, err // the whole call failed, not only the claim
	}
	return deliver(next, into)
}

// marked converts the error of an item. The result wraps driver.ErrUnknown or driver.ErrLeaseOver
// if one of them applies.
func marked(err error) error {
	switch {
	case errors.Is(err, client.ErrUnknownOutcome):
		return fmt.Errorf("%w: %w", driver.ErrUnknown, err)
	case errors.Is(err, client.ErrStaleToken), errors.Is(err, client.ErrNotFound):
		return fmt.Errorf("%w: %w", driver.ErrLeaseOver, err)
	}
	return err
}

func notClaimed(d *driver.Delivery) error {
	return fmt.Errorf("delivery of queue %q was not claimed by this driver", d.Queue)
}

func (w worker) Complete(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	messages := make([]queuepb.Completion, len(deliveries))
	request := &queuepb.CompleteRequest{Tenant: w.tenant, Completions: make([]*queuepb.Completion, len(deliveries))}
	for i := range deliveries {
		t, ok := deliveries[i].Handle.(*queuepb.Task)
		if !ok {
			return notClaimed(&deliveries[i])
		}
		messages[i].Id, messages[i].Token, messages[i].Result = t.GetId(), t.GetToken(), deliveries[i].Result
		request.Completions[i] = &messages[i]
	}
	response, err := w.api.Complete(ctx, request)
	if err != nil {
		return refusedAll(err, outcomes)
	}
	return settled(response.GetResults(), outcomes)
}

// Fail implements driver.Failer.
func (w worker) Fail(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	request := &queuepb.FailRequest{Tenant: w.tenant, Failures: make([]*queuepb.Failure, len(deliveries))}
	for i := range deliveries {
		t, ok := deliveries[i].Handle.(*queuepb.Task)
		if !ok {
			return notClaimed(&deliveries[i])
		}
		request.Failures[i] = &queuepb.Failure{Id: t.GetId(), Token: t.GetToken(), Error: driver.FailedBecause}
	}
	response, err := w.api.Fail(ctx, request)
	if err != nil {
		return refusedAll(err, outcomes)
	}
	return settled(response.GetResults(), outcomes)
}

// Extend implements driver.Extender.
func (w worker) Extend(ctx context.Context, deliveries []driver.Delivery, lease time.Duration, outcomes []error) error {
	request := &queuepb.ExtendRequest{Tenant: w.tenant, Extensions: make([]*queuepb.Extension, len(deliveries))}
	for i := range deliveries {
		t, ok := deliveries[i].Handle.(*queuepb.Task)
		if !ok {
			return notClaimed(&deliveries[i])
		}
		request.Extensions[i] = &queuepb.Extension{Id: t.GetId(), Token: t.GetToken(), LeaseMs: uint64(lease.Milliseconds())}
	}
	response, err := w.api.Extend(ctx, request)
	if err != nil {
		return refusedAll(err, outcomes)
	}
	return settled(response.GetResults(), outcomes)
}
