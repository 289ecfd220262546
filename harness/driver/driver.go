// Package driver defines how load reaches a target; each package below it is one way: streams, unary calls or REST to a server,
// an embedded server, null, which answers in memory, and program, which reaches other queue servers through a program of its own.
//
// A Conn opens a Producer for a tenant, and a Worker for queues of a tenant. A load calls Enqueue, Claim and Complete with batches,
// from any number of goroutines, and closes the Conn last. Outcomes are per task: nil is acknowledged, ErrUnknown means that the
// call may have taken effect, and any other error is a refusal of the target.
package driver

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/pronybench/prony/harness/clienttls"
)

// Target is where a topology listens.
type Target struct {
	Address string // of gRPC: "127.0.0.1:port" or "unix:/path"; of a cluster those of all nodes, with commas between them
	HTTP    string // of REST: "127.0.0.1:port", for a cluster those of all nodes with commas between them; "" without REST
	Token   string // the access token's secret; "" where none is wanted
	// CA is the authority of servers with TLS, over gRPC and REST; zero of servers without.
	CA clienttls.CA
	// PlaintextToken lets the access token go to another host without TLS, as client.WithPlaintextToken says: to one that only this run reaches.
	PlaintextToken bool
	// Dialer connects to a server in this process; nil of any other, which Address leads to.
	Dialer func(context.Context) (net.Conn, error)
	// BusyPoll lets gRPC connections poll before their thread sleeps, as client.WithBusyPoll says.
	BusyPoll bool
	// Idempotent gives each task a key of its own, as client.WithIdempotency says.
	Idempotent bool
}

// ErrUnknown is among the causes of an item's outcome where it is not known whether the item took effect.
var ErrUnknown = errors.New("the outcome is unknown")

// ErrLeaseOver is among the causes of a refused completion where the target says that the lease is over or the task gone.
var ErrLeaseOver = errors.New("the lease is over")

// Task is a task to enqueue.
type Task struct {
	Tenant  string
	Queue   string
	Payload []byte
	// Priority is from 0 to 9. Ready tasks of a higher one go first.
	Priority uint32
	// MaxAttempts is after how many failed attempts the task is dead, and Backoff how long it waits after each one before, less the part
	// that the target takes off at random. 0: what the target does by default.
	MaxAttempts uint32
	Backoff     time.Duration
	// Key is an idempotency key: the target stores no second task with it in the queue, and answers with the first one's id. "": none.
	Key string
	// ResultRetention is how long the target keeps the result of the task's completion; 0: it keeps none.
	ResultRetention time.Duration
	// Delay is how long the task is not ready after its enqueue, in whole milliseconds.
	Delay time.Duration
	// ID is what the target calls the task. Enqueue sets the id of a task that was acknowledged, if the target has ids.
	ID string
}

// Delivery is a claimed task. Handle is the driver's own: it identifies the lease.
type Delivery struct {
	Tenant  string
	Queue   string
	Payload []byte
	Handle  any
	// Result is what Complete says came of the task; nil: nothing. It must not change until Complete has returned.
	Result []byte
	// Priority is that of the enqueue; 0 of a target without priorities.
	Priority uint32
	Attempt  uint32 // which attempt of the task this is, from 1; 0 of a target without attempts
	Token    uint64 // the lease's fencing token; 0 of a target without leases
	UntilMs  int64  // when the lease expires, in milliseconds of Unix time by the target's clock; 0 of a target without leases
}

// Conn is one client connection.
type Conn interface {
	// Producer returns the way to enqueue over this connection. It serves any number of goroutines.
	Producer(ctx context.Context, tenant string) (Producer, error)
	// Worker returns the way to claim from queues with at most slots tasks leased and not settled.
	// It serves any number of goroutines.
	Worker(ctx context.Context, tenant string, queues []string, slots int) (Worker, error)
	// Close ends all of the connection's sessions and frees everything it holds.
	Close() error
}

// Producer enqueues tasks.
type Producer interface {
	// Enqueue returns when each task was acknowledged or refused. outcomes has one element for each task: nil if the task was
	// acknowledged, and an ErrUnknown if its outcome is unknown. A non-nil error means that the outcome of all tasks is unknown.
	// The caller may reuse the payloads as soon as Enqueue has returned, with or without an error.
	Enqueue(ctx context.Context, tasks []Task, outcomes []error) error
}

// Worker claims and completes tasks.
type Worker interface {
	// Claim waits for at least one task and fills up to len(into); it returns how many, and no error
	// with them. The payloads stay as they are until Complete is called.
	Claim(ctx context.Context, into []Delivery) (int, error)
	// Complete returns when each completion was acknowledged or refused, as for Producer.Enqueue.
	Complete(ctx context.Context, deliveries []Delivery, outcomes []error) error
}

// Failer is a Worker that can fail tasks.
type Failer interface {
	Worker
	// Fail returns when each failure was acknowledged or refused, as Complete does. The target hands a task out again after its backoff, or
	// has it dead if that was its last attempt.
	Fail(ctx context.Context, deliveries []Delivery, outcomes []error) error
}

// Extender is a Worker that can extend leases.
type Extender interface {
	Worker
	// Extend returns when each extension was acknowledged or refused, as Complete does. A lease that is extended holds for the time from when
	// the target heard of it.
	Extend(ctx context.Context, deliveries []Delivery, lease time.Duration, outcomes []error) error
}

// Returner is a Worker that can read the results of tasks.
type Returner interface {
	Worker
	// Result returns the result that a delivery was completed with. The error is an ErrNotFound if the target answered that the task is not
	// done, or has no result.
	Result(ctx context.Context, completed *Delivery) ([]byte, error)
}

// ResultWait is how long Result waits for a task to be done. A task whose completion was acknowledged is done.
const ResultWait = time.Second

// FailedBecause is the reason that drivers give for each failure.
const FailedBecause = "failed by the benchmark, as its scenario says"

// Combiner is a Worker that can complete tasks and claim the next ones in one call.
type Combiner interface {
	Worker
	// CompleteAndClaim completes done, with outcomes as for Complete, and fills up to len(into) with claimed tasks; it returns how many. It
	// returns 0 tasks and no error if no task came within CombinedWait, or if the claim alone was refused: the next Claim says why. done
	// and into must not share memory.
	CompleteAndClaim(ctx context.Context, done []Delivery, outcomes []error, into []Delivery) (int, error)
}

// CombinedWait is how long a call of CompleteAndClaim waits at the target for a task. The outcomes of its completions come with the
// claim's answer, so that it is also how late they may be.
const CombinedWait = 100 * time.Millisecond
