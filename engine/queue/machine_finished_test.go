package queue

import (
	"math"
	"reflect"

	"pgregory.net/rapid"
)

// endClaims updates the times of the claims of a task that is about to return to its queue or to
// finish.
func (t *modelTask) endClaims() {
	claimMs := int64(0)
	if t.phase == leased {
		claimMs = t.claimMs
	}
	if !t.home.policy.keepsHistory() {
		t.claims = Claims{}
		return
	}
	t.claims = Claims{orDefault(t.claims.FirstMs, claimMs), orDefault(claimMs, t.claims.LastMs)}
}

// modelHistory contains those entries of a queue that the state must have.
type modelHistory struct {
	next    uint64
	entries map[uint64]Finished
}

// entry returns the entry of a task that has finished.
func (t *modelTask) entry(now int64) Finished {
	headers, _ := split(t.hasHeaders, t.payload)
	f := Finished{
		Ref: t.ref, PriorityShift: t.shift, Attempts: t.attempts, EnqueuedAtMs: t.enqueuedMs, Claims: t.claims, FinishedAtMs: now,
		Headers: headers, LastError: t.history[t.attempts],
	}
	if len(f.LastError) > 512 {
		f.LastError = f.LastError[:512]
	}
	switch {
	case t.phase == done:
		f.How = FinishCompleted
		f.Attempts++
	case t.phase == dead:
		f.How, f.Reason = FinishDied, t.reason
	case t.purged:
		f.How = FinishPurged
	default:
		f.How = FinishCancelled
		if t.claimMs != claimNone {
			f.Attempts++
		}
	}
	return f
}

// claimNone is the claimMs of a task that is not leased.
const claimNone = -1

// checkHistories compares the histories with the tasks that have finished since the last check.
func (m *machine) checkHistories(t *rapid.T) {
	finished := map[uint32]map[Ref]Finished{}
	for _, task := range m.tasks {
		over := task.phase == done || task.phase == removed || task.phase == dead
		if over && !task.over && task.home.policy.keepsHistory() && m.of(task) == task.home {
			if finished[task.home.id] == nil {
				finished[task.home.id] = map[Ref]Finished{}
			}
			finished[task.home.id][task.ref] = task.entry(m.now)
		}
		task.over = over
	}
	stored := 0
	for _, q := range m.order {
		m.checkHistory(t, q, finished[q.id])
		if len(m.journal.finished[q.id]) > 0 {
			stored++
		}
	}
	if n := len(m.journal.finished); n != stored {
		t.Fatalf("%d queues have histories; want %d", n, stored)
	}
}

func (m *machine) checkHistory(t *rapid.T, q *modelQueue, finished map[Ref]Finished) {
	h, stored, c := m.histories[q.id], m.journal.finished[q.id], m.journal.queues[q.id].Finished
	if h == nil {
		h = &modelHistory{entries: map[uint64]Finished{}}
		m.histories[q.id] = h
	}
	if c == (FinishedCounts{}) && !q.policy.keepsHistory() {
		h.next = 0
	}
	if c.Next-h.next != uint64(len(finished)) {
		t.Fatalf("queue %d: the history %+v grew by %d entries; want %d", q.id, c, c.Next-h.next, len(finished))
	}
	bytes := uint64(0)
	for at := c.First; at < c.Next; at++ {
		f, ok := stored[at]
		if !ok {
			t.Fatalf("queue %d: entry %d of %+v is not stored", q.id, at, c)
		}
		bytes += uint64(128 + len(f.Headers) + len(f.LastError))
		if at < h.next {
			continue
		}
		want, ok := finished[f.Ref]
		if f.Headers, want.Headers = nilIfEmpty(f.Headers), nilIfEmpty(want.Headers); !ok || !reflect.DeepEqual(f, want) {
			t.Fatalf("queue %d: entry %d is %+v; want %+v", q.id, at, f, want)
		}
		delete(finished, f.Ref)
		h.entries[at] = f
	}
	if uint64(len(stored)) != c.Next-c.First || bytes != c.Bytes {
		t.Fatalf("queue %d: %d entries of %d bytes are stored, and %+v is counted", q.id, len(stored), bytes, c)
	}
	h.next = c.Next
	live := map[uint64]bool{}
	for at, f := range stored {
		if !m.outdated(q, c, at, f.FinishedAtMs) {
			live[at] = true
		}
	}
	listed := m.state.byID[q.id].History(m.now)
	for at, f := range stored {
		if is := at >= listed.First && at < listed.Next && f.FinishedAtMs > listed.AfterMs; is != live[at] {
			t.Fatalf("queue %d: entry %d, %+v, is listed at %d: %v", q.id, at, f, m.now, is)
		}
	}
	for at, f := range h.entries {
		if m.outdated(q, c, at, f.FinishedAtMs) {
			delete(h.entries, at)
		} else if !live[at] {
			t.Fatalf("queue %d: entry %d, %+v, is missing at %d from %+v", q.id, at, f, m.now, c)
		}
	}
	if w := m.state.byID[q.id].finished; w != nil && len(w.window) > m.cfg.finishedWindow {
		t.Fatalf("queue %d: %d sizes of entries are in memory", q.id, len(w.window))
	}
}

func nilIfEmpty(h Headers) Headers {
	if len(h) == 0 {
		return nil
	}
	return h
}

func (m *machine) outdated(q *modelQueue, c FinishedCounts, at uint64, finishedMs int64) bool {
	most := uint64(math.MaxUint64)
	if q.policy.HistoryTasksMax > 0 {
		most = uint64(q.policy.HistoryTasksMax)
	}
	return !q.policy.keepsHistory() || c.Next-at > most || q.policy.HistoryRetentionMs > 0 && finishedMs+int64(q.policy.HistoryRetentionMs) <= m.now
}

// checkTrimmed checks that no outdated entry is stored once the state has no more work.
func (m *machine) checkTrimmed(t *rapid.T) {
	for _, q := range m.order {
		for at, f := range m.journal.finished[q.id] {
			if c := m.journal.queues[q.id].Finished; m.outdated(q, c, at, f.FinishedAtMs) {
				t.Fatalf("queue %d: entry %d of %+v, finished at %d, is stored at %d", q.id, at, c, f.FinishedAtMs, m.now)
			}
		}
	}
}
