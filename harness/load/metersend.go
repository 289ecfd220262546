package load

import (
	"context"
	"errors"
	"sync"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
)

// sendRecorder contains the records of one or more senders. mu serializes them.
type sendRecorder struct {
	mu sync.Mutex
	enqueues
	failed Refusals // counts calls
}

func (r *sendRecorder) mergeInto(o *Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enqueues.mergeInto(o)
	o.FailedCalls.Add(r.failed)
}

// Sender records the enqueues of one session. It is safe for concurrent use. It is cheap and need
// not be closed.
type Sender struct {
	meter  *Meter
	number int // number of its ledger account
	record *sendRecorder
}

// Sender returns a new sender. Each sender gets a separate account of the ledger until all accounts
// are in use. Further senders share the accounts.
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

// Batch is the tasks of one call.
type Batch struct {
	first    uint64
	called   int64
	intended []int64 // marked with unplaced if the task used no place
}

// Len returns the number of tasks in the batch.
func (b Batch) Len() int { return len(b.intended) }

// Seal writes the header of a new task into each payload, and enters the tasks in the ledger as
// sent to the address at the current time. Each payload must have at least ledger.HeaderSize bytes.
// If filled is true, Seal also writes the rest of the payload; otherwise it leaves the content
// after the header unchanged.
//
// due contains intended starts that Next returned. If due contains no unused start for a task, the
// task is due immediately, has no place in the schedule and does not count against the in-flight
// limit. The caller must pass the batch to Answered or Withdraw exactly once.
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

// Answered enters the outcomes of a batch, as driver.Producer.Enqueue returned them. If err is not
// nil, the outcome of all tasks is unknown. If outcomes is nil, all tasks were acknowledged.
// driver.ErrUnknown is an unknown outcome, and any other error is a refusal. A call with an unknown
// outcome counts as failed unless it was cancelled. Answered returns the enqueue latencies that it
// recorded without censoring.
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

// Withdraw records that the tasks of a batch were never sent, because the call was refused before
// it was made. The tasks count as unsent.
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

// Failed counts a failed call whose batch was withdrawn. Cancelled calls do not count.
func (s *Sender) Failed(err error) { s.meter.Failed(err) }

// outcomesOf returns the outcomes of n tasks. If err is not nil, all are unknown; otherwise missing
// outcomes are acknowledgements.
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

func noteFailed(failed *Refusals, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		failed.note(1, err)
	}
}
