package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
)

// producer is one goroutine that enqueues. Other goroutines may read its records only after it has
// returned.
type producer struct {
	*round
	number int
	// routes are the destinations of the producer. Calls use them in turn. If queues are chosen at
	// random, routes are grouped by tenant.
	routes []destination
	next   int // index in routes, or index of the tenant if queues are chosen at random
	keys   keys

	draw     *rand.Rand
	sizes    sizes
	urgency  urgency
	delaying delaying
	results  resulting
	keying   keying
	unique   unique
	headers  headers
	buffer   []byte // the payloads of a batch, concatenated
	tasks    []driver.Task
	outcomes []error
	intended []int64 // intended starts, in nanoseconds since the epoch

	// paused is set if the producer repeated tasks or waited after its last call. The next call
	// then starts later than the last answer.
	paused bool
	record enqueues
	shares []*readShare // one for each tenant; empty without reads
	filled uint64       // acknowledged tasks of the backlog
	again  again

	_ [64]byte // keeps the counters of different goroutines on different cache lines
}

// destination is a queue and a session that can enqueue to it.
type destination struct {
	address ledger.Address
	session driver.Producer
	reads   *readShare // of its tenant; nil without reads
}

func newProducer(r *round, number int, routes []destination) *producer {
	w := r.cfg.Workload
	p := &producer{
		round:    r,
		number:   number,
		routes:   routes,
		keys:     newKeys(w),
		draw:     newDraw(w, number),
		sizes:    newSizes(w.Payload),
		urgency:  newUrgency(w),
		delaying: newDelaying(w),
		results:  newResulting(w),
		keying:   newKeying(w),
		unique:   newUnique(w),
		headers:  newHeaders(w),
		tasks:    make([]driver.Task, w.EnqueueBatch()),
		outcomes: make([]error, w.EnqueueBatch()),
		intended: make([]int64, w.EnqueueBatch()),
		record:   newEnqueues(&r.accounting, r.sliced || w.Arrivals.Timed()),
	}
	return p
}

// runClosed enqueues until the window ends or a call fails. If a call is in flight at the window's
// end, runClosed waits for its answer, which belongs in the ledger.
func (p *producer) runClosed(calls context.Context) {
	if !p.clock.sleepUntil(calls, stagger(p.cfg.Phases.Warmup, p.number, len(p.producers))) {
		return
	}
	now := p.clock.now()
	for now < p.window.end() && calls.Err() == nil {
		if p.limit != nil {
			if !p.limit.take(calls) {
				return
			}
		}
		if p.limit != nil || p.paused {
			now = p.clock.now()
		}
		// The intended start is the time when the last call was answered and the in-flight limit
		// allowed another one.
		started := now
		for i := range p.intended {
			p.intended[i] = started
		}
		if p.schedule != nil {
			p.schedule.sent(len(p.tasks))
		}
		acknowledged := 0
		var ok bool
		if acknowledged, now, ok = p.call(calls, len(p.tasks)); !ok {
			return
		}
		p.record.record(p.intended, p.outcomes, acknowledged, started, now)
	}
}

// staggerMax bounds the time over which the producers of a closed load start.
const staggerMax = 250 * time.Millisecond

// stagger returns when a producer of a closed load starts, in nanoseconds since the epoch. The
// starts are spread over the first part of the warm-up. Producers that started together would be
// answered by the same commit and remain synchronized.
func stagger(warmup time.Duration, number, producers int) int64 {
	over := min(int64(warmup)/4, int64(staggerMax))
	return over * int64(number) / int64(producers)
}

// sleepUntil waits until the given time. It returns false if ctx is done first.
func (c clock) sleepUntil(ctx context.Context, until int64) bool {
	left := c.until(until)
	if left <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *producer) runOpen(calls context.Context, s *schedule) {
	for {
		n := s.take(calls, p.intended)
		if n == 0 {
			return
		}
		started := p.clock.now()
		acknowledged, now, ok := p.call(calls, n)
		if !ok {
			return
		}
		p.record.record(p.intended[:n], p.outcomes[:n], acknowledged, started, now)
	}
}

// runFill enqueues until the whole backlog is sent, a task is refused, or a call fails.
func (p *producer) runFill(calls context.Context, left *atomic.Int64) {
	batch := int64(len(p.tasks))
	for calls.Err() == nil {
		n := min(batch, left.Add(-batch)+batch)
		if n <= 0 {
			return
		}
		acknowledged, _, ok := p.call(calls, int(n))
		if !ok {
			return
		}
		p.filled += uint64(acknowledged)
		if p.record.refused.Count > 0 {
			p.failure.set(fmt.Errorf("load: the server refused a task of the backlog: %s", p.record.refused.First))
			return
		}
	}
}

// call enqueues the first n tasks of the batch in one call and enters their outcomes in the ledger.
// It returns the number of acknowledged tasks and the time of the answer. ok is false if the call
// failed and the producer must stop. If the call failed and ok is true, each task of the call has a
// non-nil outcome.
func (p *producer) call(calls context.Context, n int) (acknowledged int, now int64, ok bool) {
	to := p.choose()
	first := p.cfg.Ledger.Sent(p.number, n)
	p.seal(to, first, n)
	err := p.enqueue(calls, to, n)
	now = p.clock.now()
	p.paused = p.keying.part > 0 || err != nil
	if err != nil {
		p.record.doubt(p.number, first, p.intended[:n])
		return 0, now, p.failed(calls, to, n, err)
	}
	acknowledged, unknown := p.record.account(p.number, first, p.intended[:n], p.outcomes[:n])
	p.unique.acknowledged(p.cfg.Ledger, p.number, first, to.address, p.outcomes[:n])
	if to.reads != nil && acknowledged > 0 {
		p.haveRead(to, first, n)
	}
	if !p.repeat(calls, to, first, n) {
		return acknowledged, now, false
	}
	switch {
	case unknown != nil && !p.cfg.Persist:
		p.failed(calls, to, 0, unknown)
		return acknowledged, now, false
	case unknown != nil:
		p.paused = true
		p.again.after(calls, unknown)
	case acknowledged == 0 && p.cfg.Persist:
		p.paused = true
		p.again.wait(calls)
	default:
		p.again.answered()
	}
	return acknowledged, now, true
}

func (p *producer) choose() *destination {
	at, turns := p.next, len(p.routes)
	if p.keys.chosen() {
		queues := len(p.keys.upTo)
		at, turns = p.next*queues+p.keys.draw(p.draw), len(p.routes)/queues
	}
	if p.next++; p.next == turns {
		p.next = 0
	}
	return &p.routes[at]
}

// failed handles a failed call and returns whether the producer continues. Without Persist it ends
// the load.
func (p *producer) failed(calls context.Context, to *destination, n int, err error) bool {
	err = fmt.Errorf("load: producer %d: enqueue to %s/%s: %w", p.number, to.address.Tenant, to.address.Queue, err)
	if !p.cfg.Persist {
		p.failure.call(calls, err)
		return false
	}
	for i := range n {
		p.outcomes[i] = driver.ErrUnknown
	}
	return p.again.after(calls, err)
}

// seal creates a batch of n tasks. The sequence number of the first task is first.
func (p *producer) seal(to *destination, first uint64, n int) {
	w := &p.cfg.Workload
	id := ledger.Identity{Round: p.cfg.Ledger.Round(), Producer: uint32(p.number)}
	at := 0
	for i := range n {
		size := p.sizes.draw(p.draw)
		if at+size > len(p.buffer) {
			// Earlier payloads of the batch remain in the old buffer. The new buffer has room for
			// the rest of the batch, and for twice the old size.
			p.buffer, at = make([]byte, max(2*len(p.buffer), (n-i)*size)), 0
		}
		payload := p.buffer[at : at+size : at+size]
		at += size
		id.Sequence, id.IntendedNS = first+uint64(i), p.intended[i]
		ledger.Seal(payload, id, to.address)
		p.tasks[i] = driver.Task{
			Tenant: to.address.Tenant, Queue: to.address.Queue, Payload: payload, Priority: p.urgency.of(id),
			Headers: p.headers.of(id), Key: p.keying.of(id), Delay: p.delaying.of(id), ResultRetention: p.results.retention(id), MaxAttempts: uint32(w.MaxAttempts), Backoff: w.Backoff,
		}
		p.unique.set(&p.tasks[i], id)
		p.outcomes[i] = nil
	}
}
