package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

// SetResult sets the result of the job, which the server stores with the completion if the job was
// enqueued with ResultRetention, or its queue has a retention. The codec of the kind encodes it. A
// later call replaces the result, and an attempt that fails has none. SetResult returns an error if
// the result cannot be encoded.
//
// If the server refuses the completion because the result is too large, which is 256 KiB by
// default, the task becomes a dead letter. If a quota of the tenant leaves no room for the result,
// the attempt fails.
//
// Without a worker, in a test that calls the handler, SetResult only encodes the result.
func (j *Job[T]) SetResult(result any) error {
	codec := j.codec
	if codec == nil {
		codec = JSON
	}
	encoded, err := codec.Encode(result)
	if err != nil {
		return fmt.Errorf("encode the result of a job of kind %q: %w", KindOf(j.Task), err)
	}
	j.attempt.setResult(encoded)
	return nil
}

func (a *attempt) setResult(encoded []byte) {
	if a == nil { // no worker calls the handler
		return
	}
	a.mu.Lock()
	a.result = encoded
	a.mu.Unlock()
}

// resultRefused returns the error of the attempt if the server has refused its completion because of
// its result, and nil otherwise.
func resultRefused(s *queuepb.Settlement, refused error) error {
	switch {
	case len(s.GetResult()) == 0:
	case errors.Is(refused, client.ErrInvalidArgument):
		return Permanent(fmt.Errorf("store the result: %w", refused))
	case errors.Is(refused, client.ErrOverloaded):
		return fmt.Errorf("store the result: %w", refused)
	}
	return nil
}

// ResultRetention sets how long the server retains the result of the job for Await, from its
// completion. The default is the retention of the queue's policy.
func ResultRetention(d time.Duration) EnqueueOption {
	return with(func(t *client.Task) { t.ResultRetention = d })
}

// DeadError means that a job has no result because it is a dead letter.
type DeadError struct {
	ID        string
	LastError string // the error of the last failed attempt; "" if there was none
}

func (e *DeadError) Error() string {
	return fmt.Sprintf("job %s is a dead letter: %s", e.ID, e.LastError)
}

// Await waits until the job with an id is completed, and returns the result that its handler set
// with SetResult. It returns the zero value of R if the handler set none.
//
// The error is a *DeadError if the job is a dead letter. It is client.ErrNotFound if the job was
// cancelled, or if it is completed and the server does not retain its result. Otherwise Await waits
// until ctx ends, also over restarts and failovers: see client.Client.AwaitResult. If tenant is "",
// it is the token's tenant. Encoding sets the codec of the result; the default is JSON.
func Await[R any](ctx context.Context, c *client.Client, tenant, id string, encoding ...EncodingOption) (result R, err error) {
	answer, err := c.AwaitResult(ctx, tenant, id)
	if ended := context.Cause(ctx); err != nil && ended != nil && !errors.Is(err, client.ErrNotFound) {
		err = fmt.Errorf("await the result of job %s: %w", id, ended)
	}
	if err != nil {
		return result, err
	}
	if answer.GetState() == queuepb.TaskState_TASK_STATE_DEAD {
		return result, &DeadError{ID: id, LastError: answer.GetLastError()}
	}
	if len(answer.GetResult()) == 0 {
		return result, nil
	}
	codec := JSON
	for _, o := range encoding {
		codec = o.codec
	}
	if err := codec.Decode(answer.GetResult(), &result); err != nil {
		return result, fmt.Errorf("decode the result of job %s: %w", id, err)
	}
	return result, nil
}
