package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// keying gives a share of the tasks of one producer idempotency keys, and enqueues them a second
// time under their keys.
type keying struct {
	lot

	// tasks of a batch to enqueue again. Before the call their IDs are those of the first enqueue.
	tasks    []driver.Task
	firsts   []string // IDs of the first enqueue
	ids      []ledger.Identity
	outcomes []error
	refused  Refusals
}

func newKeying(w scenario.Workload) keying { return keying{lot: newLot(w, lotKey, w.Key)} }

// of returns the key of a task, or "" if the task has none. Keys are unique over all rounds.
func (k *keying) of(id ledger.Identity) string {
	if !k.draws(id, 0) {
		return ""
	}
	return strconv.FormatUint(id.Round, 36) + "-" + strconv.FormatUint(uint64(id.Producer), 36) + "-" + strconv.FormatUint(id.Sequence, 36)
}

// repeat enqueues each acknowledged task with a key among the first n of the batch again, and
// returns whether the producer continues. The second enqueue has the same payload: a server that
// stores it as a second task has the task completed twice, which the ledger reports.
func (p *producer) repeat(calls context.Context, to *destination, first uint64, n int) (goOn bool) {
	k := &p.keying
	if k.part == 0 {
		return true
	}
	k.tasks, k.firsts, k.ids, k.outcomes = k.tasks[:0], k.firsts[:0], k.ids[:0], k.outcomes[:0]
	for i := range n {
		if p.tasks[i].Key == "" || p.outcomes[i] != nil {
			continue
		}
		if p.tasks[i].ID == "" {
			p.failure.set(fmt.Errorf("load: producer %d: the driver returned no id with an acknowledged task, which key asks for", p.number))
			return false
		}
		id := ledger.Identity{Round: p.cfg.Ledger.Round(), Producer: uint32(p.number), Sequence: first + uint64(i)}
		k.tasks, k.firsts, k.ids, k.outcomes = append(k.tasks, p.tasks[i]), append(k.firsts, p.tasks[i].ID), append(k.ids, id), append(k.outcomes, nil)
	}
	if len(k.tasks) == 0 {
		return true
	}
	if err := to.session.Enqueue(calls, k.tasks, k.outcomes); err != nil {
		return p.failed(calls, to, 0, fmt.Errorf("again, under the same key: %w", err))
	}
	for i, outcome := range k.outcomes {
		switch {
		case outcome == nil:
			p.cfg.Ledger.Repeated(k.ids[i], k.tasks[i].Key, k.firsts[i], k.tasks[i].ID)
		case !errors.Is(outcome, driver.ErrUnknown):
			k.refused.note(1, fmt.Errorf("again, under the same key: %w", outcome))
		}
	}
	return true
}
