package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/driver"
)

// broker is an in-memory queue server that fakeConn connects to. Its faults are set before the load
// starts. In a synctest bubble its delays take no real time.
type broker struct {
	enqueueDelay  time.Duration // before the task is ready
	ackDelay      time.Duration // after that, before its enqueue is acknowledged
	completeDelay time.Duration // before a completion is acknowledged

	// Each fault gets the number of the task or call, from 1. The caller holds mu.
	refuseEnqueue func(n int) error
	loseEnqueue   func(n int) bool
	// unheardEnqueue reports whether the acknowledgement of a stored task is lost.
	unheardEnqueue func(n int) bool
	deliver        func(n int, d *driver.Delivery) // changes a delivery
	deliverAgain   func(n int) bool                // whether a claimed task stays ready
	redeliver      func(n int) bool                // whether a completed task comes back
	// overtake reports whether an enqueued task overtakes all ready tasks.
	overtake       func(n int) bool
	refuseComplete func(n int) (reason error, redeliver bool)
	// Faults of whole calls; the caller does not hold mu.
	enqueue  func(ctx context.Context) error
	claim    func(ctx context.Context) (stop bool, n int, err error)
	complete func(ctx context.Context) error
	open     func(ctx context.Context) error
	// crossTenants hands every worker only the tasks of other tenants.
	crossTenants bool
	// combines lets workers complete and claim in one call.
	combines bool
	// combinedAnswers are the times of the answers to combined calls, with the number of
	// completions that they acknowledged.
	combinedAnswers []instant

	retries retries
	// hasten returns the time by which the nth delayed task is ready too early; nil: on time.
	hasten  func(n int) time.Duration
	delayed int

	kept          kept
	extensions    extensions
	cancellations cancellations
	keys          keyed

	// shelf stores tasks for reads; nil: tasks have no ids.
	shelf *shelf

	mu       sync.Mutex
	ready    []driver.Delivery
	changed  chan struct{} // closed and replaced whenever ready grows
	enqueues int           // tasks
	deliveries,
	completes int // tasks
	held, heldMax int       // stored and not completed tasks, and their maximum so far
	acknowledged  []instant // enqueues
	completed     []instant // acknowledged completions
	sent          map[string]int
	sizes         map[int]int
	priorities    map[uint32]int
	sessions      map[string]int // worker slots by connection and tenant
}

// instant is the time of the acknowledgement of n tasks.
type instant struct {
	at time.Time
	n  int
}

func countWithin(instants []instant, start, end time.Time) (n uint64) {
	for _, i := range instants {
		if !i.at.Before(start) && i.at.Before(end) {
			n += uint64(i.n)
		}
	}
	return n
}

func newBroker() *broker {
	return &broker{
		enqueueDelay:  700 * time.Microsecond,
		ackDelay:      600 * time.Microsecond, // so that calls are in flight at the window's edges
		completeDelay: 500 * time.Microsecond,
		changed:       make(chan struct{}),
		sent:          make(map[string]int),
		sizes:         make(map[int]int),
		priorities:    make(map[uint32]int),
		sessions:      make(map[string]int),
	}
}

func (b *broker) conns(n int) []driver.Conn {
	var conns []driver.Conn
	for i := range n {
		conns = append(conns, &fakeConn{broker: b, name: string(rune('A' + i))})
	}
	return conns
}

// push makes tasks ready. The caller holds mu.
func (b *broker) push(tasks ...driver.Delivery) {
	b.ready = append(b.ready, tasks...)
	if last := len(b.ready) - 1; b.overtake != nil && last > 0 && b.overtake(b.enqueues) {
		b.ready[0], b.ready[last] = b.ready[last], b.ready[0]
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// later makes a task ready after its delay, on a clock with millisecond resolution. The caller
// holds mu.
func (b *broker) later(task driver.Delivery, delay time.Duration) {
	b.delayed++
	due := time.Now().Truncate(time.Millisecond).Add(delay)
	if b.hasten != nil {
		due = due.Add(-b.hasten(b.delayed))
	}
	time.AfterFunc(time.Until(due), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.push(task)
	})
}

type fakeConn struct {
	broker *broker
	name   string
}

func (c *fakeConn) Producer(ctx context.Context, tenant string) (driver.Producer, error) {
	if c.broker.open != nil {
		if err := c.broker.open(ctx); err != nil {
			return nil, err
		}
	}
	return &fakeProducer{c.broker, tenant}, nil
}

func (c *fakeConn) Worker(_ context.Context, tenant string, queues []string, slots int) (driver.Worker, error) {
	c.broker.mu.Lock()
	defer c.broker.mu.Unlock()
	c.broker.sessions[c.name+"/"+tenant] += slots
	if c.broker.combines {
		return combiningWorker{&fakeWorker{c.broker, tenant, queues}}, nil
	}
	return &fakeWorker{c.broker, tenant, queues}, nil
}

type combiningWorker struct{ *fakeWorker }

func (w combiningWorker) CompleteAndClaim(ctx context.Context, done []driver.Delivery, outcomes []error, into []driver.Delivery) (int, error) {
	if err := w.Complete(ctx, done, outcomes); err != nil {
		return 0, err
	}
	acknowledged := 0
	for _, err := range outcomes {
		if err == nil {
			acknowledged++
		}
	}
	for end := time.Now().Add(driver.CombinedWait); ; {
		n, changed := w.take(into)
		if n > 0 || !time.Now().Before(end) {
			w.b.mu.Lock()
			defer w.b.mu.Unlock()
			w.b.combinedAnswers = append(w.b.combinedAnswers, instant{time.Now(), acknowledged})
			return n, nil
		}
		select {
		case <-changed:
		case <-time.After(time.Until(end)):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (c *fakeConn) Close() error { return nil }

type fakeProducer struct {
	b      *broker
	tenant string
}

func wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *fakeProducer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	if p.b.enqueue != nil {
		if err := p.b.enqueue(ctx); err != nil {
			return err
		}
	}
	if err := wait(ctx, p.b.enqueueDelay); err != nil {
		return err
	}
	acknowledged := 0
	p.b.mu.Lock()
	for i, task := range tasks {
		p.b.enqueues++
		p.b.sizes[len(task.Payload)]++
		if p.b.refuseEnqueue != nil {
			if outcomes[i] = p.b.refuseEnqueue(p.b.enqueues); outcomes[i] != nil {
				continue
			}
		}
		if p.b.keys.known(&tasks[i]) {
			continue
		}
		acknowledged++
		p.b.sent[task.Tenant+"/"+task.Queue]++
		if task.Tenant != p.tenant {
			panic("a task of " + task.Tenant + " in a session of " + p.tenant)
		}
		if p.b.loseEnqueue != nil && p.b.loseEnqueue(p.b.enqueues) {
			continue
		}
		p.b.held++
		p.b.heldMax = max(p.b.heldMax, p.b.held)
		if p.b.unheardEnqueue != nil && p.b.unheardEnqueue(p.b.enqueues) {
			outcomes[i] = fmt.Errorf("%w: reset", driver.ErrUnknown)
			acknowledged--
		}
		d := driver.Delivery{Tenant: task.Tenant, Queue: task.Queue, Payload: slices.Clone(task.Payload), Priority: task.Priority, Attempt: 1}
		p.b.retries.maxAttempts, p.b.retries.backoff = task.MaxAttempts, task.Backoff
		p.b.priorities[task.Priority]++
		p.b.kept.ask(task)
		if s := p.b.shelf; s != nil {
			tasks[i].ID = strconv.Itoa(p.b.enqueues)
			s.tasks[tasks[i].ID], s.ids[string(d.Payload)] = d, tasks[i].ID
		}
		if task.Delay > 0 {
			p.b.later(d, task.Delay)
			continue
		}
		p.b.push(d)
	}
	p.b.mu.Unlock()
	if err := wait(ctx, p.b.ackDelay); err != nil {
		return err
	}
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	p.b.acknowledged = append(p.b.acknowledged, instant{time.Now(), acknowledged})
	return nil
}

type fakeWorker struct {
	b      *broker
	tenant string
	queues []string
}

func (w *fakeWorker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	if w.b.claim != nil {
		if stop, n, err := w.b.claim(ctx); stop {
			return n, err
		}
	}
	for {
		n, changed := w.take(into)
		if n > 0 {
			return n, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (w *fakeWorker) take(into []driver.Delivery) (n int, changed chan struct{}) {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	kept := w.b.ready[:0]
	for _, d := range w.b.ready {
		mine := d.Tenant == w.tenant && slices.Contains(w.queues, d.Queue)
		if w.b.crossTenants {
			mine = d.Tenant != w.tenant
		}
		if n == len(into) || !mine {
			kept = append(kept, d)
			continue
		}
		into[n] = d
		into[n].Handle = d // the original delivery, before a fault changes it
		w.b.deliveries++
		if w.b.deliver != nil {
			into[n].Payload = slices.Clone(d.Payload)
			w.b.deliver(w.b.deliveries, &into[n])
		}
		if w.b.deliverAgain != nil && w.b.deliverAgain(w.b.deliveries) {
			kept = append(kept, d)
		}
		n++
	}
	w.b.ready = kept
	return n, w.b.changed
}

func (w *fakeWorker) Complete(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	if w.b.complete != nil {
		if err := w.b.complete(ctx); err != nil {
			return err
		}
	}
	if s := w.b.shelf; s != nil && s.early {
		w.b.mu.Lock()
		for _, d := range deliveries {
			delete(s.tasks, s.ids[string(d.Payload)])
		}
		w.b.mu.Unlock()
	}
	if err := wait(ctx, w.b.completeDelay); err != nil {
		return err
	}
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	acknowledged := 0
	for i, d := range deliveries {
		w.b.completes++
		task, ok := d.Handle.(driver.Delivery)
		if !ok {
			return errors.New("a delivery that was not claimed")
		}
		if w.b.cancellations.tasks[string(d.Payload)] {
			outcomes[i] = fmt.Errorf("%w: the task was cancelled", driver.ErrLeaseOver)
			continue
		}
		if w.b.refuseComplete != nil {
			reason, redeliver := w.b.refuseComplete(w.b.completes)
			if redeliver {
				w.b.push(task)
			}
			if outcomes[i] = reason; reason != nil {
				continue
			}
		}
		acknowledged++
		w.b.held--
		w.b.kept.keep(d)
		if s := w.b.shelf; s != nil {
			delete(s.tasks, s.ids[string(task.Payload)])
		}
		if w.b.redeliver != nil && w.b.redeliver(w.b.completes) {
			w.b.push(task)
		}
	}
	w.b.completed = append(w.b.completed, instant{time.Now(), acknowledged})
	return nil
}
