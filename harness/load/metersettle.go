package load

import (
	"sync"

	"github.com/pronybench/prony/harness/ledger"
)

// settleRecorder is what some settlers record, one at a time.
type settleRecorder struct {
	mu sync.Mutex
	settles
	failed Refusals // calls
	claims []claimed
}

func (r *settleRecorder) mergeInto(o *Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settles.mergeInto(o)
	o.FailedCalls.Add(r.failed)
}

// Settler enters what one session claims and completes. It is safe for concurrent use, costs next to nothing and needs no
// closing.
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

// Claim is a task that was claimed, to be given to Completed.
type Claim struct{ claimed }

// Claimed checks the payload of a task that was claimed now from an address. The payload is not kept.
func (s *Settler) Claimed(payload []byte, from ledger.Address) Claim {
	c := Claim{claimed{at: s.meter.clock.now()}}
	c.id, c.verdict = s.meter.ledger.Claimed(payload, from)
	return c
}

// Sound reports whether the payload was intact and in its place: a completion that is acknowledged is a cycle then.
func (c Claim) Sound() bool { return c.verdict == ledger.Sound }

// Readable reports whether the payload was that of a task of this ledger: then the task's content is behind its header.
func (c Claim) Readable() bool { return c.verdict != ledger.Unreadable }

// Completed enters the outcomes of completions, as Sender.Answered does those of enqueues. It returns the latencies of
// the cycles that it recorded and that were not censored, and from claim to completion, of those inside the window.
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

// Failed counts a call that failed and that is neither an enqueue nor a completion: a claim, or an extension. One that was
// cancelled counts for nothing.
func (s *Settler) Failed(err error) { s.meter.Failed(err) }
