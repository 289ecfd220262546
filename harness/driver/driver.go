// Package driver is how load reaches a target. Each folder below it is one way there.
package driver

import (
	"context"
	"errors"
	"net"
)

// Target is where a topology listens.
type Target struct {
	Address string // of gRPC: "127.0.0.1:port" or "unix:/path"; of a cluster those of all nodes, with commas between them
	HTTP    string // of REST: "127.0.0.1:port", of a cluster those of all nodes with commas between them; "" where there is none
	Token   string // the access token's secret; "" where none is wanted
	// Dialer connects to a server in this process; nil of any other, which Address leads to.
	Dialer func(context.Context) (net.Conn, error)
	// BusyPoll lets gRPC connections poll before their thread sleeps, as client.WithBusyPoll says.
	BusyPoll bool
	// Idempotent gives each task a key of its own, as client.WithIdempotency says.
	Idempotent bool
}

// ErrUnknown is among the causes of an item's outcome where it is not known whether the item took effect.
var ErrUnknown = errors.New("the outcome is unknown")

// Task is a task to enqueue.
type Task struct {
	Tenant  string
	Queue   string
	Payload []byte
}

// Delivery is a claimed task. Handle is the driver's own: it identifies the lease.
type Delivery struct {
	Tenant  string
	Queue   string
	Payload []byte
	Handle  any
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
	// Enqueue returns when each task was acknowledged or refused. outcomes has one element for each
	// task, nil where acknowledged, and one that is ErrUnknown where nobody knows. A non-nil error means
	// that the outcome of all of them is unknown.
	// The payloads may be reused as soon as it has returned, whatever it returned.
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
