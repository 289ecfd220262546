package k6

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/grafana/sobek"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/k6/k6api"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
)

// enqueueing is a call of produce.
type enqueueing struct {
	tasks  []client.Task
	parts  []part // consecutive parts of tasks
	record *recorder
	sender *load.Sender // nil without a ledger
}

// part has the tasks of a call that a script described with one newTask.
type part struct {
	tags  *k6api.TagSet
	n     int
	batch load.Batch
}

// enqueue enqueues tasks. It returns the same as the EnqueueBatch of client.Producer.
type enqueue func(ctx context.Context, tasks []client.Task) (ids []string, errs []error, err error)

// enqueuing returns the work that enqueues a script's tasks and returns their ids.
func (c *queueClient) enqueuing(call, tenant string, from sobek.Value, sender **load.Sender, do enqueue) (work, error) {
	kinds, err := readTasks(c.vu.Runtime(), call, from)
	if err != nil {
		return nil, err
	}
	meter, err := c.meter()
	if err != nil {
		return nil, err
	}
	if *sender == nil && c.options.ledger {
		*sender = meter.Sender()
	}
	e := c.prepare(tenant, kinds, *sender)
	return func(ctx context.Context) (func() any, error) {
		ids, outcomes, err := e.carry(ctx, do)
		if err == nil {
			err = refusals(call, outcomes)
		}
		return func() any { return ids }, err
	}, nil
}

// prepare creates and seals the tasks of a call. From then on the ledger counts them as sent. It
// runs on the event loop.
func (i *instance) prepare(tenant string, kinds []newTask, sender *load.Sender) *enqueueing {
	e := &enqueueing{record: i.recorder(), sender: sender}
	for at := range kinds {
		kind := &kinds[at]
		payloads := kind.payloads(sender != nil)
		p := part{tags: e.record.of(tenant, kind.Queue), n: kind.count}
		if sender != nil {
			i.process.route(tenant, kind.Queue)
			p.batch = sender.Seal(ledger.NewAddress(tenant, kind.Queue), payloads, kind.payload == nil, kind.due.take(kind.count))
		}
		for _, payload := range payloads {
			t := kind.Task
			t.Payload = payload
			e.tasks = append(e.tasks, t)
		}
		e.parts = append(e.parts, p)
	}
	return e
}

// payloads returns the payloads of the tasks. If sealed, they include space for the ledger's
// header.
func (t *newTask) payloads(sealed bool) [][]byte {
	size, header := t.size, 0
	if t.payload != nil {
		size = len(t.payload)
		if sealed {
			header = ledger.HeaderSize
		}
	}
	all := make([]byte, t.count*(header+size))
	payloads := make([][]byte, t.count)
	for i := range payloads {
		payloads[i], all = all[:header+size:header+size], all[header+size:]
		copy(payloads[i][header:], t.payload)
	}
	return payloads
}

// route registers a queue with the ledger, which then detects tasks claimed from another queue.
func (p *process) route(tenant, queue string) {
	to := ledger.Route{Tenant: tenant, Queue: queue}
	if _, known := p.routes.LoadOrStore(to, true); !known {
		p.account.AddRoute(to)
	}
}

// carry makes the call and records its outcome. It runs outside of the event loop.
func (e *enqueueing) carry(ctx context.Context, do enqueue) (ids []string, outcomes []error, err error) {
	started := time.Now()
	ids, outcomes, err = do(ctx, e.tasks)
	took := time.Since(started)
	mark(outcomes)
	at, cause := 0, cut(ctx, err)
	for _, p := range e.parts {
		var own []error
		if outcomes != nil {
			own = outcomes[at : at+p.n]
		}
		at += p.n
		accepted, refused := tally(p.n, own, err)
		e.record.count(e.record.metrics.refused, p.tags, refused)
		switch {
		case e.sender == nil && accepted > 0:
			e.record.times(e.record.metrics.enqueue, p.tags, load.Latency{NS: int64(took), N: accepted})
		case e.sender == nil:
		case undone(err):
			e.sender.Withdraw(p.batch)
		default:
			e.record.times(e.record.metrics.enqueue, p.tags, e.sender.Answered(p.batch, own, cause)...)
			if cause != nil { // the first part has counted the failed call
				cause = fmt.Errorf("%w: %w", context.Canceled, err)
			}
		}
	}
	if counts(ctx, err) {
		e.record.count(e.record.metrics.failedCalls, e.parts[0].tags, 1)
		if e.sender != nil && undone(err) {
			e.sender.Failed(err)
		}
	}
	e.record.push()
	return ids, outcomes, err
}

// notSentError means that a call was not sent, because there was no session.
type notSentError struct{ cause error }

func (e *notSentError) Error() string { return e.cause.Error() }
func (e *notSentError) Unwrap() error { return e.cause }

// undone reports whether a failed call certainly had no effect.
func undone(err error) bool {
	var unsent *notSentError
	switch {
	case err == nil || errors.Is(err, client.ErrUnknownOutcome):
		return false
	case errors.As(err, &unsent), errors.Is(err, client.ErrInvalidArgument), errors.Is(err, client.ErrUnavailable), errors.Is(err, client.ErrClosed):
		return true
	}
	switch status.Code(err) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated:
		return true
	}
	return false
}

// mark marks unknown outcomes for the ledger.
func mark(outcomes []error) {
	for i, err := range outcomes {
		if errors.Is(err, client.ErrUnknownOutcome) {
			outcomes[i] = fmt.Errorf("%w: %w", driver.ErrUnknown, err)
		}
	}
}

// tally returns how many of n items the server accepted and refused.
func tally(n int, outcomes []error, err error) (accepted, refused int) {
	if err != nil {
		return 0, 0
	}
	for _, o := range outcomes {
		if o != nil && !errors.Is(o, driver.ErrUnknown) {
			refused++
		}
		if o != nil {
			n--
		}
	}
	return n, refused
}

// enqueuePlainly returns an enqueue that makes one plain call.
func enqueuePlainly(api queuepb.QueueServiceClient, tenant string) enqueue {
	return func(ctx context.Context, tasks []client.Task) (ids []string, errs []error, err error) {
		request := &queuepb.EnqueueRequest{Tenant: tenant}
		for i := range tasks {
			request.Tasks = append(request.Tasks, message(&tasks[i]))
		}
		response, err := api.Enqueue(ctx, request)
		// An overloaded server has stored nothing.
		if status.Code(err) == codes.ResourceExhausted {
			return nil, slices.Repeat([]error{err}, len(tasks)), nil
		}
		if err != nil {
			return nil, nil, err
		}
		for _, r := range response.GetResults() {
			ids = append(ids, r.GetId())
		}
		errs, err = itemErrors(response.GetResults(), len(tasks))
		return ids, errs, err
	}
}

// itemErrors returns the server's refusals of n items, or nil if it accepted all.
func itemErrors[R interface{ GetError() *queuepb.ItemError }](results []R, n int) (errs []error, err error) {
	if len(results) != n {
		return nil, fmt.Errorf("%w: the server answered %d of %d tasks", client.ErrUnknownOutcome, len(results), n)
	}
	for i, r := range results {
		e := r.GetError()
		if e == nil {
			continue
		}
		if errs == nil {
			errs = make([]error, n)
		}
		if e.GetCode() == queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME {
			errs[i] = fmt.Errorf("%w: %s", client.ErrUnknownOutcome, e.GetMessage())
		} else {
			errs[i] = &client.Error{Code: e.GetCode(), Field: e.GetField(), Message: e.GetMessage()}
		}
	}
	return errs, nil
}

// message converts a task for a plain call.
func message(t *client.Task) *queuepb.NewTask {
	dead := queuepb.DeadDependency_DEAD_DEPENDENCY_UNSPECIFIED
	if t.DeadDependency != client.KeepWaiting {
		dead = queuepb.DeadDependency(t.DeadDependency + 1)
	}
	return &queuepb.NewTask{
		Queue: t.Queue, Priority: t.Priority, Payload: t.Payload, DelayMs: millis(t.Delay), MaxAttempts: t.MaxAttempts,
		LeaseMs: millis(t.Lease), TtlMs: millis(t.TTL), ResultRetentionMs: millis(t.ResultRetention), IdempotencyKey: t.Key,
		Headers: t.Headers, After: t.After, BatchSize: t.BatchSize, Batch: t.Batch, DeadDependency: dead,
	}
}
