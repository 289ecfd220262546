package null

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/harness/driver"
)

// batch contains the tasks of one queue that one call enqueued. A producer owns it until it is
// added to the queue, the queue owns it until it is claimed, and the workers own it afterwards. The
// worker that completes the last of its tasks returns it for reuse.
type batch struct {
	queue    string
	payloads []byte       // concatenated
	ends     []int        // end offset of each payload
	next     int          // first unclaimed task; guarded by the tenant's mu
	left     atomic.Int64 // number of uncompleted tasks
}

// fill copies the tasks into the batch. It returns the growth of the capacity for payloads, in
// bytes.
func (b *batch) fill(tasks []driver.Task) (grown int64) {
	before := cap(b.payloads)
	b.queue, b.payloads, b.ends, b.next = tasks[0].Queue, b.payloads[:0], b.ends[:0], 0
	for i := range tasks {
		b.payloads = append(b.payloads, tasks[i].Payload...)
		b.ends = append(b.ends, len(b.payloads))
	}
	b.left.Store(int64(len(tasks)))
	return int64(cap(b.payloads) - before)
}

// queue contains the batches that have unclaimed tasks, oldest first.
type queue struct {
	name    string
	batches []*batch
	first   int // index of the first batch with unclaimed tasks
}

func (q *queue) empty() bool { return q.first == len(q.batches) }

func (q *queue) push(b *batch) {
	// compact the slice instead of letting it grow
	if q.first > 0 && len(q.batches) == cap(q.batches) {
		q.batches = slices.Delete(q.batches, 0, q.first)
		q.first = 0
	}
	q.batches = append(q.batches, b)
}

// tenant contains the queues of a tenant, and the workers that wait for tasks.
type tenant struct {
	target *Target
	name   string
	free   chan *batch  // batches for reuse; has room for all batches of the tenant
	made   atomic.Int64 // batches allocated so far, at most batchesMax

	mu      sync.Mutex
	queues  map[string]*queue
	waiting []*waiter // in order of arrival
	idle    []*waiter // for reuse; at most as many as ever waited at the same time
}

func newTenant(target *Target, name string) *tenant {
	return &tenant{target: target, name: name, free: make(chan *batch, batchesMax), queues: map[string]*queue{}}
}

// waiter represents a worker that found no task. ready receives one element when a task may be
// available.
type waiter struct {
	worker *worker
	ready  chan struct{}
}

// take returns a batch to fill. It waits until a batch is free or a new one may be allocated.
func (t *tenant) take(ctx context.Context) (*batch, error) {
	select {
	case b := <-t.free:
		return b, nil
	default:
	}
	if n := t.made.Add(1); n == 1 || n <= batchesMax && t.target.bytes.Load() < bytesMax {
		return new(batch), nil
	}
	t.made.Add(-1)
	select {
	case b := <-t.free:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// at returns the queue with the given name. The caller must hold mu.
func (t *tenant) at(name string) *queue {
	if t.queues[name] == nil {
		t.queues[name] = &queue{name: name}
	}
	return t.queues[name]
}

func (t *tenant) worker(queues []string) *worker {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := &worker{tenant: t}
	for _, name := range queues {
		w.queues = append(w.queues, t.at(name))
	}
	return w
}

func (t *tenant) put(b *batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.at(b.queue)
	q.push(b)
	t.wake(q)
}

// wake wakes the worker that has waited longest for tasks of a queue. The caller must hold mu.
func (t *tenant) wake(q *queue) {
	at := slices.IndexFunc(t.waiting, func(w *waiter) bool { return slices.Contains(w.worker.queues, q) })
	if at < 0 {
		return
	}
	w := t.waiting[at]
	t.waiting = slices.Delete(t.waiting, at, at+1)
	w.ready <- struct{}{}
}

// claim claims the available tasks. If no task is available, it returns a waiter for the worker to
// wait on. woken is the waiter that woke the worker, or nil at the first try.
func (t *tenant) claim(w *worker, into []driver.Delivery, woken *waiter) (n int, wait *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if woken != nil {
		t.idle = append(t.idle, woken)
	}
	for _, q := range w.queues {
		n += q.claim(t.name, into[n:])
		if n == len(into) {
			t.pass(w)
			return n, nil
		}
	}
	if n > 0 {
		return n, nil
	}
	if last := len(t.idle) - 1; last >= 0 {
		wait, t.idle = t.idle[last], t.idle[:last]
	} else {
		wait = &waiter{ready: make(chan struct{}, 1)}
	}
	wait.worker = w
	t.waiting = append(t.waiting, wait)
	return 0, wait
}

// pass wakes another worker for the tasks that remain in w's queues. A batch wakes only one worker
// when it is enqueued, so this worker must wake the next one. The caller must hold mu.
func (t *tenant) pass(w *worker) {
	if len(t.waiting) == 0 {
		return
	}
	for _, q := range w.queues {
		if !q.empty() {
			t.wake(q)
			return
		}
	}
}

// leave removes a waiter whose worker gave up. If the waiter was already woken, leave wakes another
// worker instead.
func (t *tenant) leave(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.Index(t.waiting, w); at >= 0 {
		t.waiting = slices.Delete(t.waiting, at, at+1)
	} else {
		<-w.ready
		t.pass(w.worker)
	}
	t.idle = append(t.idle, w)
}

// claim claims the oldest tasks. The caller must hold the mutex of the tenant.
func (q *queue) claim(tenant string, into []driver.Delivery) (n int) {
	for n < len(into) && !q.empty() {
		b := q.batches[q.first]
		start := 0
		if b.next > 0 {
			start = b.ends[b.next-1]
		}
		for n < len(into) && b.next < len(b.ends) {
			end := b.ends[b.next]
			into[n] = driver.Delivery{Tenant: tenant, Queue: q.name, Payload: b.payloads[start:end:end], Handle: b}
			start = end
			b.next++
			n++
		}
		if b.next == len(b.ends) {
			q.batches[q.first] = nil
			if q.first++; q.empty() {
				q.batches, q.first = q.batches[:0], 0
			}
		}
	}
	return n
}
