package load

import (
	"sync"

	"github.com/pronybench/prony/harness/ledger"
)

// settleRecorder contains the records of one or more settlers. mu serializes them.
type settleRecorder struct {
	mu sync.Mutex
	settles
	failed Refusals // counts calls
	claims []claimed
}

func (r *settleRecorder) mergeInto(o *Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settles.mergeInto(o)
	o.FailedCalls.Add(r.failed)
}

// Settler records the claims and completions of one session. It is safe for concurrent use. It is
// cheap and need not be closed.
type Settler struct {
	meter  *Meter
	record *settleRecorder
}

// Settler returns a new settler.
func (m *Meter) Settler() *Settler {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.settlers
	m.settlers++
	if i < meterRecorders {
		r := &settleRecorder{settles: newSettles(&m.accounting)}
		r.cycleSink.wanted, r.settleSink.wanted = true, true
		m.settling = append(m.settling, r)
	}
	return &Settler{meter: m, record: m.settling[i%len(m.settling)]}
}

// Claim is a claimed task. The caller must pass it to Completed.
type Claim struct{ claimed }

// Claimed checks the payload of a task that was claimed from an address at the current time. It
// does not retain the payload.
func (s *Settler) Claimed(payload []byte, from ledger.Address) Claim {
	c := Claim{claimed{at: s.meter.clock.now()}}
	c.id, c.verdict = s.meter.ledger.Claimed(payload, from)
	return c
}

// Sound reports whether the payload was intact and came from the right address. An acknowledged
// completion counts as a cycle only if Sound returns true.
func (c Claim) Sound() bool { return c.verdict == ledger.Sound }

// Readable reports whether the payload belongs to a task of this ledger. If so, the task's content
// follows the header.
func (c Claim) Readable() bool { return c.verdict != ledger.Unreadable }

// Completed enters the outcomes of completions; its arguments have the same meaning as those of
// Sender.Answered. cycles are the cycle latencies that it recorded without censoring. settles are
// the latencies from claim to completion inside the window.
func (s *Settler) Completed(claims []Claim, outcomes []error, err error) (cycles, settles []Latency) {
	r := s.record
	now := s.meter.clock.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claims = r.claims[:0]
	for _, c := range claims {
		r.claims = append(r.claims, c.claimed)
	}
	if err != nil {
		r.doubt(r.claims, true)
		noteFailed(&r.failed, err)
		return nil, nil
	}
	outcomes = outcomesOf(len(claims), outcomes, nil)
	r.account(r.claims, outcomes, now)
	return r.cycleSink.take(), r.settleSink.take()
}

// Failed counts a failed call that is neither an enqueue nor a completion, such as a claim or an
// extension. Cancelled calls do not count.
func (s *Settler) Failed(err error) { s.meter.Failed(err) }
