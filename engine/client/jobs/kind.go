package jobs

import (
	"context"
	"fmt"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

// Kind is a kind of jobs with arguments of type T. Declare a constant for each kind:
//
//	const SendEmail jobs.Kind[Email] = "email.send"
type Kind[T any] string

// Job is one attempt of a job.
type Job[T any] struct {
	// Task is the leased task. Its payload contains the encoded arguments.
	*queuepb.Task

	Args T

	codec   Codec
	attempt *attempt
}

// Enqueuer stores tasks. A *client.Producer is an Enqueuer.
type Enqueuer interface {
	Enqueue(ctx context.Context, t client.Task) (id string, err error)
}

var _ Enqueuer = (*client.Producer)(nil)

// Enqueue stores a job and returns its id. The errors are those of client.Producer.Enqueue and of
// the codec.
func (k Kind[T]) Enqueue(ctx context.Context, to Enqueuer, args T, options ...EnqueueOption) (id string, err error) {
	t, err := k.Task(args, options...)
	if err != nil {
		return "", err
	}
	return to.Enqueue(ctx, t)
}

// Task returns the task that Enqueue stores, for client.Producer.EnqueueBatch.
func (k Kind[T]) Task(args T, options ...EnqueueOption) (client.Task, error) {
	e := enqueueing{task: client.Task{Queue: DefaultQueue}, codec: JSON}
	for _, o := range options {
		o.enqueue(&e)
	}
	payload, err := e.codec.Encode(args)
	if err != nil {
		return client.Task{}, fmt.Errorf("encode the arguments of a job of kind %q: %w", string(k), err)
	}
	e.task.Payload = payload
	setHeader(&e.task, KindHeader, string(k))
	return e.task, nil
}

// Handle registers the handler for the jobs of this kind. It panics if the mux already has one.
//
// If a payload cannot be decoded, the task becomes a dead letter without a call of the handler.
func (k Kind[T]) Handle(mux *Mux, handler func(ctx context.Context, job *Job[T]) error, options ...HandleOption) {
	h := handling{codec: JSON}
	for _, o := range options {
		o.handle(&h)
	}
	mux.add(string(k), &kindHandler{timeout: h.timeout, handle: func(ctx context.Context, t *queuepb.Task) error {
		job := &Job[T]{Task: t, codec: h.codec, attempt: attemptOf(ctx)}
		if err := h.codec.Decode(t.GetPayload(), &job.Args); err != nil {
			return Permanent(fmt.Errorf("decode the payload of kind %q: %w", string(k), err))
		}
		return handler(ctx, job)
	}})
}
