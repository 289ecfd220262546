// Package null is a target inside this process that answers at once. It passes enqueued tasks to workers through a bounded memory
// and does nothing else. So the rate of a load on it is the rate of the generator, its recorders and its ledger alone, which
// must be far above the rate of a real target.
//
// Workers get the tasks of a queue in the order of their enqueueing. There are no leases: a task is claimed once.
package null

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/harness/driver"
)

// An enqueue waits while its tenant has batchesMax batches under way, which are enqueued and not yet all completed, or has
// any and the payloads of all tenants take bytesMax: memory is bounded however slow the workers are.
const (
	batchesMax = 4096
	bytesMax   = 256 << 20
)

// Target is the queues of all tenants. Its methods may be called from any goroutine.
type Target struct {
	bytes atomic.Int64 // that all batches' payloads have room for

	mu      sync.Mutex
	tenants map[string]*tenant
}

// New returns a target without tasks.
func New() *Target { return &Target{tenants: map[string]*tenant{}} }

// Dial returns a connection to the target. All of them lead to the same tasks.
func (t *Target) Dial() driver.Conn { return conn{t} }

// tenant returns the tenant of that name.
func (t *Target) tenant(name string) *tenant {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tenants[name] == nil {
		t.tenants[name] = newTenant(t, name)
	}
	return t.tenants[name]
}

type conn struct{ target *Target }

func (c conn) Producer(_ context.Context, tenant string) (driver.Producer, error) {
	return producer{c.target.tenant(tenant)}, nil
}

func (c conn) Worker(_ context.Context, tenant string, queues []string, _ int) (driver.Worker, error) {
	return c.target.tenant(tenant).worker(queues), nil
}

// Close frees nothing: the tasks are the target's.
func (conn) Close() error { return nil }

type producer struct{ tenant *tenant }

// Enqueue copies the payloads and returns at once, or when there is room for them. A task of a tenant other than the
// session's is refused.
func (p producer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	for from := 0; from < len(tasks); {
		if tasks[from].Tenant != p.tenant.name {
			outcomes[from] = errOtherTenant
			from++
			continue
		}
		n := 1 // tasks of one queue go together
		for from+n < len(tasks) && tasks[from+n].Queue == tasks[from].Queue && tasks[from+n].Tenant == p.tenant.name {
			n++
		}
		b, err := p.tenant.take(ctx)
		if err != nil {
			return err
		}
		p.tenant.target.bytes.Add(b.fill(tasks[from : from+n]))
		p.tenant.put(b)
		clear(outcomes[from : from+n])
		from += n
	}
	return nil
}

var (
	errOtherTenant = errors.New("null: the task is of another tenant than the session")
	errNotClaimed  = errors.New("null: the delivery was not claimed from this target")
)

// worker claims from some queues of a tenant.
type worker struct {
	tenant *tenant
	queues []*queue
}

// Claim waits for a task of the queues and takes what is there, of one batch after the other.
func (w *worker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	if len(into) == 0 {
		return 0, nil
	}
	var woken *waiter
	for {
		n, wait := w.tenant.claim(w, into, woken)
		if n > 0 {
			return n, nil
		}
		select {
		case <-wait.ready:
			woken = wait // the queue has removed it from its waiters
		case <-ctx.Done():
			w.tenant.leave(wait)
			return 0, ctx.Err()
		}
	}
}

// Complete gives the memory of batches back whose tasks are all completed.
func (w *worker) Complete(_ context.Context, deliveries []driver.Delivery, outcomes []error) error {
	for from := 0; from < len(deliveries); {
		b, ok := deliveries[from].Handle.(*batch)
		if !ok {
			return errNotClaimed
		}
		n := 1
		for from+n < len(deliveries) && deliveries[from+n].Handle == deliveries[from].Handle {
			n++
		}
		if b.left.Add(-int64(n)) == 0 {
			w.tenant.free <- b // which has room for all there are
		}
		from += n
	}
	clear(outcomes)
	return nil
}
