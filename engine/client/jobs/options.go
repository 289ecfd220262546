package jobs

import (
	"slices"
	"time"

	"github.com/pronybench/prony/engine/client"
)

// EnqueueOption changes how a job is enqueued.
type EnqueueOption interface{ enqueue(*enqueueing) }

type enqueueing struct {
	task  client.Task
	codec Codec
}

// HandleOption changes how the jobs of a kind are handled.
type HandleOption interface{ handle(*handling) }

type handling struct {
	codec   Codec
	timeout time.Duration
}

type with func(*client.Task)

func (f with) enqueue(e *enqueueing) { f(&e.task) }

// With sets any fields of the task. The function must not set the payload.
func With(set func(*client.Task)) EnqueueOption { return with(set) }

// DefaultQueue is the queue of jobs that are enqueued without In, and of workers without Queues.
const DefaultQueue = "default"

// In sets the queue; the default is DefaultQueue.
func In(queue string) EnqueueOption { return with(func(t *client.Task) { t.Queue = queue }) }

// Delay sets how long the job waits before its first attempt.
func Delay(d time.Duration) EnqueueOption { return with(func(t *client.Task) { t.Delay = d }) }

// At sets when the job is ready for its first attempt.
func At(at time.Time) EnqueueOption { return with(func(t *client.Task) { t.NotBefore = at }) }

// MaxAttempts sets the number of failed attempts after which the job is a dead letter.
func MaxAttempts(n int) EnqueueOption {
	return with(func(t *client.Task) { t.MaxAttempts = uint32(max(n, 0)) })
}

// Priority sets the priority, from 0 to 9; 9 is the most urgent.
func Priority(p int) EnqueueOption {
	return with(func(t *client.Task) { t.Priority = uint32(max(p, 0)) })
}

// Backoff sets the pauses between attempts.
func Backoff(b client.Backoff) EnqueueOption { return with(func(t *client.Task) { t.Backoff = b }) }

// Key sets the idempotency key: of several jobs with the same key in one queue, the server stores
// the first one only, within the window of keys of the queue or the server.
func Key(key string) EnqueueOption { return with(func(t *client.Task) { t.Key = key }) }

// Unique sets a key that only one job of the queue holds at a time. u.Scope determines when it is free
// again.
func Unique(key string, u client.Unique) EnqueueOption {
	return with(func(t *client.Task) { t.Key, t.Unique = key, &u })
}

// After makes the job wait until the tasks with these ids have finished. A task that no longer exists
// counts as done. The option may be repeated.
func After(ids ...string) EnqueueOption {
	return with(func(t *client.Task) { t.After = append(slices.Clip(t.After), ids...) })
}

// DeadDependency sets what happens to the job when a task that it waits for dies, or is cancelled or
// purged. Without the option, the job continues to wait.
func DeadDependency(d client.DeadDependency) EnqueueOption {
	return with(func(t *client.Task) { t.DeadDependency = d })
}

// Group sets the group of the job, such as a customer: a queue may limit the leases of each group.
func Group(name string) EnqueueOption {
	return with(func(t *client.Task) { setHeader(t, GroupHeader, name) })
}

// Header adds a header. The key must not be KindHeader.
func Header(key, value string) EnqueueOption {
	return with(func(t *client.Task) { setHeader(t, key, value) })
}

type timeout time.Duration

func (d timeout) handle(h *handling) { h.timeout = time.Duration(d) }

// Timeout limits the time of an attempt. The handler's context then ends with the cause ErrTimeout.
// Without the option there is no limit.
func Timeout(d time.Duration) HandleOption { return timeout(d) }

// EncodingOption is the option that Encoding returns.
type EncodingOption struct{ codec Codec }

func (o EncodingOption) enqueue(e *enqueueing) { e.codec = o.codec }
func (o EncodingOption) handle(h *handling)    { h.codec = o.codec }

// Encoding sets the codec of the arguments; the default is JSON. Pass it both to Handle and to
// Enqueue.
func Encoding(c Codec) EncodingOption { return EncodingOption{c} }
