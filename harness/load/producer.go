package load

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// producer is one goroutine that enqueues. What it records is read only after it has returned.
type producer struct {
	*round
	number int
	routes []destination // a call to each in turn
	next   int           // in routes

	payload  scenario.Payload
	sizes    *rand.Rand
	buffer   []byte // for a whole batch of payloads of the greatest size
	tasks    []driver.Task
	outcomes []error

	enqueue  latencies
	enqueued uint64
	refused  Refusals

	_ [64]byte // keeps the counters of two goroutines off one cache line
}

// destination is a queue and the session to reach it by.
type destination struct {
	tenant  string
	queue   string
	session driver.Producer
}

func newProducer(r *round, number int, routes []destination) *producer {
	w := r.cfg.Workload
	return &producer{
		round:    r,
		number:   number,
		routes:   routes,
		payload:  w.Payload,
		sizes:    rand.New(rand.NewPCG(r.cfg.Ledger.Round(), uint64(number))),
		buffer:   make([]byte, w.Batch*w.Payload.Max),
		tasks:    make([]driver.Task, w.Batch),
		outcomes: make([]error, w.Batch),
		enqueue:  newLatencies(),
	}
}

// run enqueues until the window is over or a call fails. A call under way at the window's end is
// waited for: its answer belongs in the ledger.
func (p *producer) run(calls context.Context) {
	now := p.clock.now()
	for now < p.window.end && calls.Err() == nil {
		to := &p.routes[p.next]
		if p.next++; p.next == len(p.routes) {
			p.next = 0
		}
		// The time at which the last call was answered is when this one is meant to start.
		started := now
		first := p.cfg.Ledger.Sent(p.number, len(p.tasks))
		p.seal(to, first, started)
		err := to.session.Enqueue(calls, p.tasks, p.outcomes)
		now = p.clock.now()
		if err != nil {
			p.cfg.Ledger.Unknown(p.number, first, len(p.tasks))
			p.failure.call(calls, fmt.Errorf("load: producer %d: enqueue to %s/%s: %w", p.number, to.tenant, to.queue, err))
			return
		}
		acknowledged := p.account(first)
		if acknowledged > 0 && p.window.contains(now) {
			p.enqueued += uint64(acknowledged)
			p.enqueue.record(now-started, acknowledged)
		}
	}
}

// seal makes the batch of tasks from first on.
func (p *producer) seal(to *destination, first uint64, intended int64) {
	id := ledger.Identity{Round: p.cfg.Ledger.Round(), Producer: uint32(p.number), IntendedNS: intended}
	for i := range p.tasks {
		size := p.payload.Min
		if p.payload.Max > size {
			size += p.sizes.IntN(p.payload.Max - size + 1)
		}
		at := i * p.payload.Max
		payload := p.buffer[at : at+size : at+size]
		id.Sequence = first + uint64(i)
		ledger.Seal(payload, id, to.tenant, to.queue)
		p.tasks[i] = driver.Task{Tenant: to.tenant, Queue: to.queue, Payload: payload}
		p.outcomes[i] = nil
	}
}

// account enters the outcomes of a batch in the ledger, runs of acknowledged tasks at once, and returns
// how many tasks were acknowledged.
func (p *producer) account(first uint64) (acknowledged int) {
	from := 0
	for i, reason := range p.outcomes {
		if reason == nil {
			acknowledged++
			continue
		}
		p.cfg.Ledger.Enqueued(p.number, first+uint64(from), i-from)
		p.cfg.Ledger.Refused(p.number, first+uint64(i), 1)
		p.refused.note(1, reason)
		from = i + 1
	}
	p.cfg.Ledger.Enqueued(p.number, first+uint64(from), len(p.outcomes)-from)
	return acknowledged
}
