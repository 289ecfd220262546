// Package null is a target inside this process that answers immediately. It passes enqueued tasks
// to workers through a bounded amount of memory and does nothing else. A load on this target
// therefore measures the rate of the generator, its recorders and its ledger. That rate must be far
// above the rate of a real target.
//
// Workers receive the tasks of a queue in the order in which they were enqueued. There are no
// leases: each task is claimed once.
package null

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/harness/driver"
)

// An enqueue waits in two cases: its tenant has batchesMax uncompleted batches, or its tenant has
// at least one uncompleted batch and the payload buffers of all tenants use bytesMax bytes or more.
// Memory is therefore bounded even if the workers are slow.
const (
	batchesMax = 4096
	bytesMax   = 256 << 20
)

// Target contains the queues of all tenants. It is safe for concurrent use.
type Target struct {
	bytes atomic.Int64 // total capacity of the payload buffers

	mu      sync.Mutex
	tenants map[string]*tenant
}

// New returns a target without tasks.
func New() *Target { return &Target{tenants: map[string]*tenant{}} }

// Dial returns a connection to the target. All connections share the same tasks.
func (t *Target) Dial() driver.Conn { return conn{t} }

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

// Close does nothing: the target owns the tasks.
func (conn) Close() error { return nil }

type producer struct{ tenant *tenant }

// Enqueue copies the payloads. It waits only if there is no room for them. It refuses a task whose
// tenant is not the tenant of the session.
func (p producer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	for from := 0; from < len(tasks); {
		if tasks[from].Tenant != p.tenant.name {
			outcomes[from] = errOtherTenant
			from++
			continue
		}
		n := 1 // consecutive tasks of one queue share a batch
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
	errOtherTenant = errors.New("null: the task's tenant differs from the session's")
	errNotClaimed  = errors.New("null: the delivery was not claimed from this target")
)

type worker struct {
	tenant *tenant
	queues []*queue
}

// Claim waits for a task of the session's queues. It claims the available tasks batch by batch.
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
			woken = wait // the tenant has removed it from its waiters
		case <-ctx.Done():
			w.tenant.leave(wait)
			return 0, ctx.Err()
		}
	}
}

// Complete marks tasks as completed. When all tasks of a batch are completed, it returns the memory
// of the batch.
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
			w.tenant.free <- b // never blocks: free has room for all batches
		}
		from += n
	}
	clear(outcomes)
	return nil
}
