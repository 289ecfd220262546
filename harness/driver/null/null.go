// Package null is a target inside this process that answers immediately. It passes enqueued tasks
// to workers through bounded memory and does nothing else. The rate of a load on it is therefore
// the rate of the generator, its recorders and its ledger. It must be far above the rate of a real
// target.
//
// Workers get the tasks of a queue in the order of their enqueues. There are no leases: each task
// is claimed once.
package null

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/harness/driver"
)

// An enqueue waits while its tenant has batchesMax uncompleted batches, or has at least one and the
// payloads of all tenants take bytesMax. This bounds the memory for any speed of the workers.
const (
	batchesMax = 4096
	bytesMax   = 256 << 20
)

// Target holds the queues of all tenants. It is safe for concurrent use.
type Target struct {
	bytes atomic.Int64 // total capacity for payloads

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

// Enqueue copies the payloads. It waits only if there is no room for them. It refuses a task of
// another tenant than the session's.
func (p producer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	for from := 0; from < len(tasks); {
		if tasks[from].Tenant != p.tenant.name {
			outcomes[from] = errOtherTenant
			from++
			continue
		}
		n := 1 // tasks of one queue share a batch
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

// Claim waits for a task of the queues and claims the available tasks, batch by batch.
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

// Complete returns the memory of batches whose tasks are all completed.
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
			w.tenant.free <- b // has capacity for all batches
		}
		from += n
	}
	clear(outcomes)
	return nil
}
