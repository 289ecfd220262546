package load

import (
	"context"
	"errors"
	"sync"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
)

// sendRecorder is what some senders record, one at a time.
type sendRecorder struct {
	mu sync.Mutex
	enqueues
	failed Refusals // calls
}

func (r *sendRecorder) mergeInto(o *Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enqueues.mergeInto(o)
	o.FailedCalls.Add(r.failed)
}

// Sender enters what one session enqueues. It is safe for concurrent use, costs next to nothing and needs no closing.
type Sender struct {
	meter  *Meter
	number int // of its account in the ledger
	record *sendRecorder
}

// Sender returns a new sender. The first ones have an account of the ledger each; when there are no more they share
// them.
func (m *Meter) Sender() *Sender {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.senders
	m.senders++
	if i < meterRecorders {
		r := &sendRecorder{enqueues: newEnqueues(&m.accounting, m.schedule != nil)}
		r.sink.wanted = true
		m.sending = append(m.sending, r)
	}
	return &Sender{meter: m, number: i % m.ledger.Producers(), record: m.sending[i%len(m.sending)]}
}

// Batch are the tasks of one call.
type Batch struct {
	first    uint64
	called   int64
	intended []int64 // with unplaced marked
}

// Len returns how many tasks it has.
func (b Batch) Len() int { return len(b.intended) }

// Seal makes the payloads those of tasks that are sent to an address now, each of at least ledger.HeaderSize bytes, and
// enters them in the ledger. The header is written in either case; of a payload that is filled the ledger writes the rest
// too, and else it keeps what is there. due says when each task was due and is what Next returned, or a part of it. A task
// without one, or with one that was used before, is due now, has no place in the schedule and needs no room.
// The batch must be given to Answered or Withdraw, once.
func (s *Sender) Seal(to ledger.Address, payloads [][]byte, filled bool, due []int64) Batch {
	m := s.meter
	b := Batch{called: m.clock.now(), intended: make([]int64, len(payloads))}
	for i := range b.intended {
		if i < len(due) && due[i] >= 0 && m.places.use(due[i]) {
			b.intended[i] = due[i]
			continue
		}
		b.intended[i] = unplaced(max(b.called, 0))
	}
	seal := ledger.SealAround
	if filled {
		seal = ledger.Seal
	}
	b.first = m.ledger.Sent(s.number, len(payloads))
	id := ledger.Identity{Round: m.ledger.Round(), Producer: uint32(s.number)}
	for i, payload := range payloads {
		id.Sequence, id.IntendedNS = b.first+uint64(i), b.intended[i]
		seal(payload, id, to)
	}
	return b
}

// Answered enters what became of a batch, as driver.Producer.Enqueue says it: after an err the outcome of all tasks is unknown;
// with no outcomes all were acknowledged; an outcome that is driver.ErrUnknown is unknown, and any other a refusal. A call with
// an unknown outcome counts as failed, but for one that was cancelled. It returns the enqueue latencies that it recorded and
// that were not censored.
func (s *Sender) Answered(b Batch, outcomes []error, err error) []Latency {
	n, r := len(b.intended), s.record
	now := s.meter.clock.now()
	outcomes = outcomesOf(n, outcomes, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	acknowledged, unknown := r.account(s.number, b.first, b.intended, outcomes)
	r.record(b.intended, outcomes, acknowledged, b.called, now)
	if err == nil {
		err = unknown
	}
	noteFailed(&r.failed, err)
	return r.sink.take()
}

// Withdraw says that the tasks of a batch were never sent: the call was refused before. They count as not sent.
func (s *Sender) Withdraw(b Batch) {
	m := s.meter
	m.ledger.Refused(s.number, b.first, len(b.intended))
	for _, due := range b.intended {
		switch {
		case due < 0:
		case m.schedule != nil:
			m.schedule.withdraw(due)
		default:
			m.settled(1)
		}
	}
}

// Failed counts a call that failed beside a batch that was withdrawn. One that was cancelled counts for nothing.
func (s *Sender) Failed(err error) { s.meter.Failed(err) }

// outcomesOf returns the outcomes of n tasks: unknown after an error, and where none are given all acknowledged, as are those
// that are missing.
func outcomesOf(n int, outcomes []error, err error) []error {
	if err == nil && len(outcomes) == n {
		return outcomes
	}
	all := make([]error, n)
	copy(all, outcomes)
	if err != nil {
		for i := range all {
			all[i] = driver.ErrUnknown
		}
	}
	return all
}

// noteFailed counts a call that failed, unless it was cancelled.
func noteFailed(failed *Refusals, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		failed.note(1, err)
	}
}
