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

// keying assigns idempotency keys to a share of the tasks of one producer, and enqueues these tasks
// a second time under the same keys.
type keying struct {
	lot

	// tasks are the tasks of a batch that are enqueued again. Before the second enqueue, their
	// field ID contains the ID of the first enqueue.
	tasks    []driver.Task
	firsts   []string // task IDs that the first enqueue returned
	ids      []ledger.Identity
	outcomes []error
	refused  Refusals
}

func newKeying(w scenario.Workload) keying { return keying{lot: newLot(w, lotKey, w.Key)} }

// of returns the key of a task, or "" if the task has none. No two tasks of any rounds have the
// same key.
func (k *keying) of(id ledger.Identity) string {
	if !k.draws(id, 0) {
		return ""
	}
	return strconv.FormatUint(id.Round, 36) + "-" + strconv.FormatUint(uint64(id.Producer), 36) + "-" + strconv.FormatUint(id.Sequence, 36)
}

// repeat looks at the first n tasks of the batch, and enqueues each acknowledged task with a key
// again. It returns false if the producer must stop. The second enqueue has the same payload. If
// the server stores it as a second task, that task is completed twice, and the ledger reports the
// duplicate.
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
