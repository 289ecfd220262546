// Package driver defines how load reaches a target. Each package below it is one driver: streams,
// unary calls or REST to a server; an embedded server; null, which answers in memory; and program,
// which reaches other queue servers through a separate program.
//
// A Conn opens a Producer for a tenant, and a Worker for queues of a tenant. A load calls Enqueue,
// Claim and Complete with batches, from any number of goroutines, and closes the Conn last. Each
// task has an outcome: nil is acknowledged, ErrUnknown means that the call may have taken effect,
// and any other error is a refusal by the target.
package driver

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/pronybench/prony/harness/clienttls"
)

// Target holds the addresses and the access of a topology.
type Target struct {
	// Address is the gRPC address: "127.0.0.1:port" or "unix:/path"; for a cluster the addresses of
	// all nodes, separated by commas.
	Address string
	// HTTP is the REST address: "127.0.0.1:port"; for a cluster the addresses of all nodes,
	// separated by commas; "" without REST.
	HTTP  string
	Token string // secret of the access token; "" if none is required
	// CA is the certificate authority of servers with TLS, for gRPC and REST; zero for servers
	// without TLS.
	CA clienttls.CA
	// PlaintextToken allows sending the access token to another host without TLS; see
	// client.WithPlaintextToken. Use it only for hosts that only this run can reach.
	PlaintextToken bool
	// Dialer connects to a server in this process; nil for any other server, which Address
	// identifies.
	Dialer func(context.Context) (net.Conn, error)
	// BusyPoll makes gRPC connections poll before their thread sleeps; see client.WithBusyPoll.
	BusyPoll bool
	// Idempotent gives each task a unique key; see client.WithIdempotency.
	Idempotent bool
}

// ErrUnknown is wrapped by the outcome of an item if it is unknown whether the item took effect.
var ErrUnknown = errors.New("the outcome is unknown")

// ErrLeaseOver is wrapped by the refusal of a completion if the lease has expired or the task no
// longer exists.
var ErrLeaseOver = errors.New("the lease is over")

// Task is a task to enqueue.
type Task struct {
	Tenant  string
	Queue   string
	Payload []byte
	// Priority is from 0 to 9. Ready tasks with a higher priority are delivered first.
	Priority uint32
	// MaxAttempts is the number of failed attempts after which the task is dead. Backoff is the
	// wait after each earlier attempt, less the target's random reduction. 0 selects the target's
	// defaults.
	MaxAttempts uint32
	Backoff     time.Duration
	// Key is an idempotency key: the target stores no second task with the key in the queue, and
	// returns the id of the first one. "" disables it.
	Key string
	// ResultRetention is how long the target stores the result of the task's completion; 0: not at
	// all.
	ResultRetention time.Duration
	// Delay is the time from the enqueue until the task is ready, in whole milliseconds.
	Delay time.Duration
	// ID is the target's id of the task. Enqueue sets the id of an acknowledged task if the target
	// has ids.
	ID string
}

// Delivery is a claimed task. Handle belongs to the driver and identifies the lease.
type Delivery struct {
	Tenant  string
	Queue   string
	Payload []byte
	Handle  any
	// Result is the result that Complete stores; nil: none. It must not change until Complete has
	// returned.
	Result []byte
	// Priority is the priority of the enqueue; 0 if the target has no priorities.
	Priority uint32
	Attempt  uint32 // attempt of the task, from 1; 0 if the target has no attempts
	Token    uint64 // the lease's fencing token; 0 if the target has no leases
	// UntilMs is the expiry of the lease in Unix milliseconds, by the target's clock; 0 if the
	// target has no leases.
	UntilMs int64
}

// Conn is one client connection.
type Conn interface {
	// Producer opens a session that enqueues over this connection. It is safe for concurrent use.
	Producer(ctx context.Context, tenant string) (Producer, error)
	// Worker opens a session that claims from queues, with at most slots unsettled leases. It is
	// safe for concurrent use.
	Worker(ctx context.Context, tenant string, queues []string, slots int) (Worker, error)
	// Close ends all sessions of the connection and frees its resources.
	Close() error
}

// Producer enqueues tasks.
type Producer interface {
	// Enqueue returns when each task was acknowledged or refused. It sets one outcome for each
	// task: nil if the task was acknowledged, and an ErrUnknown if the outcome is unknown. A
	// non-nil error means that the outcome of all tasks is unknown. The caller may reuse the
	// payloads after Enqueue has returned, with or without an error.
	Enqueue(ctx context.Context, tasks []Task, outcomes []error) error
}

// Worker claims and completes tasks.
type Worker interface {
	// Claim waits for at least one task and fills up to len(into). It returns the number of tasks;
	// with tasks the error is nil. The payloads remain unchanged until Complete is called.
	Claim(ctx context.Context, into []Delivery) (int, error)
	// Complete returns when each completion was acknowledged or refused, like Producer.Enqueue.
	Complete(ctx context.Context, deliveries []Delivery, outcomes []error) error
}

// Failer is a Worker that can fail tasks.
type Failer interface {
	Worker
	// Fail returns when each failure was acknowledged or refused, like Complete. The target
	// delivers a failed task again after its backoff; after its last attempt the task is dead.
	Fail(ctx context.Context, deliveries []Delivery, outcomes []error) error
}

// Extender is a Worker that can extend leases.
type Extender interface {
	Worker
	// Extend returns when each extension was acknowledged or refused, like Complete. The lease time
	// counts from when the target receives the extension.
	Extend(ctx context.Context, deliveries []Delivery, lease time.Duration, outcomes []error) error
}

// Returner is a Worker that can read the results of tasks.
type Returner interface {
	Worker
	// Result returns the result that a delivery was completed with. The error is an ErrNotFound if
	// the target answers that the task is not done or has no result.
	Result(ctx context.Context, completed *Delivery) ([]byte, error)
}

// ResultWait bounds the wait of Result for the end of the task. A task whose completion was
// acknowledged is done.
const ResultWait = time.Second

// FailedBecause is the reason that drivers send with each failure.
const FailedBecause = "failed by the benchmark, as its scenario says"

// Combiner is a Worker that can complete tasks and claim the next ones in one call.
type Combiner interface {
	Worker
	// CompleteAndClaim completes done, with outcomes like Complete, and fills up to len(into) with
	// claimed tasks; it returns their number. It returns 0 tasks and no error if no task was
	// available within CombinedWait, or if only the claim was refused; the next Claim then returns
	// the reason. done and into must not share memory.
	CompleteAndClaim(ctx context.Context, done []Delivery, outcomes []error, into []Delivery) (int, error)
}

// CombinedWait is how long CompleteAndClaim waits at the target for a task. The outcomes of the
// completions arrive with the claim's answer, so this also bounds their delay.
const CombinedWait = 100 * time.Millisecond
