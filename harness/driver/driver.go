// Package driver defines how load reaches a target. Each package below it is one driver: streams,
// unary calls or REST to a server; an embedded server; null, which answers in memory; and program,
// which reaches other queue servers through a separate program.
//
// A Conn opens a Producer for a tenant, and a Worker for queues of a tenant. A load calls Enqueue,
// Claim and Complete with batches, from any number of goroutines. It closes the Conn last. Each
// task has an outcome. nil means that the target acknowledged the task. ErrUnknown means that the
// call may or may not have taken effect. Any other error means that the target refused the task.
package driver

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/pronybench/prony/harness/clienttls"
)

// Target contains the addresses of a topology and what a client needs to access it.
type Target struct {
	// Address is the gRPC address: "127.0.0.1:port" or "unix:/path". For a cluster it contains the
	// addresses of all nodes, separated by commas.
	Address string
	// HTTP is the REST address: "127.0.0.1:port". For a cluster it contains the addresses of all
	// nodes, separated by commas. It is "" if there is no REST listener.
	HTTP string
	// Admin are the addresses of the admin listeners. It is nil unless workers cancel tasks.
	Admin []string
	Token string // secret of the access token; "" if none is required
	// CA is the certificate authority of servers with TLS, for gRPC and REST. The zero value means
	// that the servers do not use TLS.
	CA clienttls.CA
	// PlaintextToken allows the client to send the access token to another host without TLS; see
	// client.WithPlaintextToken. Set it only for hosts that no other program can reach.
	PlaintextToken bool
	// Dialer connects to a server in this process. It is nil for any other server, which Address
	// identifies.
	Dialer func(context.Context) (net.Conn, error)
	// BusyPoll makes the threads of gRPC connections poll before they sleep; see
	// client.WithBusyPoll.
	BusyPoll bool
	// Idempotent assigns a unique key to each task; see client.WithIdempotency.
	Idempotent bool
}

// ErrUnknown is wrapped by an outcome if it is not known whether the call took effect for the item.
var ErrUnknown = errors.New("the outcome is unknown")

// ErrLeaseOver is wrapped by an outcome if the target refused a completion because the lease has
// expired or the task no longer exists.
var ErrLeaseOver = errors.New("the lease is over")

// ErrKeyTaken is wrapped by an outcome if the target refused an enqueue because another task of the
// queue holds the task's unique key.
var ErrKeyTaken = errors.New("another task holds the key")

// Task is a task to enqueue.
type Task struct {
	Tenant  string
	Queue   string
	Payload []byte
	// Priority is from 0 to 9. Of the ready tasks, those with a higher priority are delivered
	// first.
	Priority uint32
	// Headers are delivered with the task. They must not change until Enqueue has returned.
	Headers map[string]string
	// MaxAttempts is the number of failed attempts after which the task is dead. Backoff is the
	// wait after each earlier attempt; the target may shorten it randomly. 0 selects the target's
	// defaults.
	MaxAttempts uint32
	Backoff     time.Duration
	// Key is an idempotency key. If the queue already has a task with this key, the target stores
	// no second task and returns the ID of the first one. "" means that the task has no key.
	Key string
	// UntilFinished makes Key unique until the task is finished: while an unfinished task of the
	// queue holds the key, the target refuses another one with ErrKeyTaken.
	UntilFinished bool
	// ResultRetention is how long the target stores the result of the task's completion. 0 means
	// that it stores no result.
	ResultRetention time.Duration
	// Delay is the time from the enqueue until the task is ready, in whole milliseconds.
	Delay time.Duration
	// BatchSize, if not 0, makes the task the final task of a batch: it is delivered only after so
	// many members are completed. Batch is the ID of the final task of a member; "" if the task is
	// no member.
	BatchSize int
	Batch     string
	// ID identifies the task at the target. Enqueue sets it for an acknowledged task if the target
	// has IDs.
	ID string
}

// Delivery is a claimed task. Handle belongs to the driver and identifies the lease.
type Delivery struct {
	Tenant  string
	Queue   string
	Payload []byte
	Handle  any
	// Result is the result that Complete stores, or nil. It must not change until Complete has
	// returned.
	Result []byte
	// Priority is the priority of the task's enqueue, or 0 if the target has no priorities.
	Priority uint32
	// Headers are those of the task's enqueue, or nil if the target has no headers.
	Headers map[string]string
	Attempt uint32 // number of the attempt, from 1; 0 if the target has no attempts
	Token   uint64 // fencing token of the lease; 0 if the target has no leases
	// UntilMs is the expiry of the lease in Unix milliseconds, by the target's clock; 0 if the
	// target has no leases.
	UntilMs int64
}

// Conn is one client connection.
type Conn interface {
	// Producer opens a session that enqueues over this connection. It is safe for concurrent use.
	Producer(ctx context.Context, tenant string) (Producer, error)
	// Worker opens a session that claims tasks from queues. At most slots claimed tasks of the
	// session are unsettled at any time. It is safe for concurrent use.
	Worker(ctx context.Context, tenant string, queues []string, slots int) (Worker, error)
	// Close ends all sessions of the connection and frees its resources.
	Close() error
}

// Producer enqueues tasks.
type Producer interface {
	// Enqueue waits until each task is acknowledged or refused. It sets one outcome for each task:
	// nil if the task was acknowledged, and an error that wraps ErrUnknown if the outcome is
	// unknown. If Enqueue returns an error, the outcome of all tasks is unknown. The caller may
	// reuse the payloads after Enqueue has returned, with or without an error.
	Enqueue(ctx context.Context, tasks []Task, outcomes []error) error
}

// Worker claims and completes tasks.
type Worker interface {
	// Claim waits until at least one task is available, and claims up to len(into) tasks. It
	// returns their number. If it claims any task, the error is nil. The payloads remain unchanged
	// until Complete is called.
	Claim(ctx context.Context, into []Delivery) (int, error)
	// Complete waits until each completion is acknowledged or refused. It sets the outcomes in the
	// same way as Producer.Enqueue.
	Complete(ctx context.Context, deliveries []Delivery, outcomes []error) error
}

// Failer is a Worker that can fail tasks.
type Failer interface {
	Worker
	// Fail waits until each failure is acknowledged or refused, like Complete. The target delivers
	// a failed task again after its backoff. If the last attempt fails, the task is dead.
	Fail(ctx context.Context, deliveries []Delivery, outcomes []error) error
}

// Extender is a Worker that can extend leases.
type Extender interface {
	Worker
	// Extend waits until each extension is acknowledged or refused, like Complete. The new lease
	// starts when the target receives the extension.
	Extend(ctx context.Context, deliveries []Delivery, lease time.Duration, outcomes []error) error
}

// Canceller is a Worker that can cancel the tasks that it holds.
type Canceller interface {
	Worker
	// Cancel cancels the task of a delivery, and waits until the target has notified the worker. took
	// is the time from the call to the notice. The error wraps ErrNoNotice if the target acknowledged
	// the cancellation but did not notify the worker within NoticeWait, and ErrUnknown if it did not
	// answer. Any other error means that it refused the cancellation.
	Cancel(ctx context.Context, d *Delivery) (took time.Duration, err error)
}

// NoticeWait bounds the time that Cancel waits for the notice after the acknowledgement.
const NoticeWait = 5 * time.Second

// ErrNoNotice is wrapped by the error of a cancellation without a notice.
var ErrNoNotice = errors.New("the worker got no notice of the cancellation")

// Returner is a Worker that can read the results of tasks.
type Returner interface {
	Worker
	// Result returns the result that a delivery was completed with. The error wraps ErrNotFound if
	// the target answers that the task is not done or has no result.
	Result(ctx context.Context, completed *Delivery) ([]byte, error)
}

// ResultWait bounds the time that Result waits for the end of the task. A task whose completion was
// acknowledged is already done.
const ResultWait = time.Second

// FailedBecause is the reason that drivers send with each failure.
const FailedBecause = "failed by the benchmark, as its scenario says"

// Combiner is a Worker that can complete tasks and claim the next ones in one call.
type Combiner interface {
	Worker
	// CompleteAndClaim completes done, with outcomes like Complete. In the same call it claims up
	// to len(into) tasks and returns their number. It returns 0 and no error if no task was
	// available within CombinedWait, or if only the claim was refused. In the second case the next
	// Claim returns the reason. done and into must not share memory.
	CompleteAndClaim(ctx context.Context, done []Delivery, outcomes []error, into []Delivery) (int, error)
}

// CombinedWait is how long CompleteAndClaim waits at the target for a task. The outcomes of the
// completions arrive together with the claimed tasks, so CombinedWait also bounds the delay of the
// outcomes.
const CombinedWait = 100 * time.Millisecond
