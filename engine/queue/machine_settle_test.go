package queue

import (
	"errors"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

func (m *machine) settle(t *rapid.T) {
	if len(m.tasks) == 0 {
		return
	}
	var settlements []Settlement
	for range rapid.IntRange(1, 5).Draw(t, "n") {
		settlements = append(settlements, m.drawSettlement(t))
	}
	tenant := m.byRef[settlements[0].Ref].tenant
	if rapid.IntRange(0, 7).Draw(t, "any tenant") == 0 {
		tenant = drawTenant.Draw(t, "tenant")
	}
	out := make([]error, len(settlements))
	held := m.held(tenant)
	m.state.Settle(m.now, tenant, settlements, out)
	for i := range settlements {
		err, quota := m.settled(held, tenant, &settlements[i]), (*QuotaError)(nil)
		if errors.Is(err, errNoRoom) && errors.As(out[i], &quota) && quota.Quota == "bytes_max" {
			continue
		}
		if !errors.Is(out[i], err) {
			t.Fatalf("settlement %+v: got %v, want %v", settlements[i], out[i], err)
		}
	}
}

func (m *machine) drawSettlement(t *rapid.T) Settlement {
	task := m.drawTask(t, leased)
	out := Settlement{
		Ref: task.ref, Token: task.token(),
		Action:  rapid.SampledFrom([]Action{Complete, Fail, Release, Extend}).Draw(t, "action"),
		Result:  rapid.SampledFrom([][]byte{nil, []byte("result"), make([]byte, 900)}).Draw(t, "result"),
		Error:   rapid.SampledFrom([]string{"", "oops", strings.Repeat("oh", 300)}).Draw(t, "error"),
		DelayMs: rapid.SampledFrom([]uint64{0, 7}).Draw(t, "delay"),
		LeaseMs: rapid.Uint64Range(1, 80).Draw(t, "lease"),

		Permanent: rapid.IntRange(0, 3).Draw(t, "permanent") == 0,
	}
	switch rapid.SampledFrom([]string{"", "", "", "", "", "", "stale", "garbage", "other task"}).Draw(t, "wrong") {
	case "stale":
		if len(task.tokens) > 0 {
			out.Token = rapid.SampledFrom(task.tokens).Draw(t, "old token")
		}
	case "garbage":
		out.Token = rapid.Uint64().Draw(t, "token")
	case "other task":
		out.Token = rapid.SampledFrom(m.tasks).Draw(t, "other").token()
	}
	return out
}

// errNoRoom means that the model has no room for a result.
var errNoRoom = errors.New("no room")

// settled applies a settlement to the model. held is the tenant's account, which it updates.
func (m *machine) settled(held *fakeAccount, tenant string, s *Settlement) error {
	task := m.byRef[s.Ref]
	if task.tenant == tenant && slices.ContainsFunc(m.cancelled, func(c CancelledLease) bool { return c.Ref == s.Ref && c.Token == s.Token }) {
		return ErrCancelled
	}
	if task.phase != leased || task.token() != s.Token || task.tenant != tenant {
		return ErrStaleToken
	}
	a, before := m.accounts[tenant], task.charged()
	if m.uniqueOf(task) != nil {
		defer func() {
			if m.uniqueOf(task) == nil {
				held.bytes -= uniqueBytes
			}
		}()
	}
	switch s.Action {
	case Complete:
		keep := int64(task.common.RetentionMs)
		if more := 64 + int64(len(s.Result)) - before; keep > 0 && more > 0 && !a.has(more, held.bytes) {
			return errNoRoom
		}
		task.endClaims()
		task.phase = done
		held.bytes -= before
		if keep > 0 {
			held.bytes += 64 + int64(len(s.Result))
			m.results[task.ref] = Result{CompletedAtMs: m.now, RetainedUntilMs: m.now + keep, Value: s.Result}
		}
		m.end(Ended{Ref: task.ref, How: Completed})
	case Fail:
		delay := s.DelayMs
		if delay == 0 {
			delay = mergeBackoff(task.common.Backoff, m.cfg.Backoff).waitMs(task.ref, task.attempts+1)
		}
		trimmed := int64(0) // bytes of the part that is dropped before the new attempt is added
		if n, part := task.attempts+1, m.cfg.historyPart; (n-1)%part == 0 && n > 2*part {
			for i := n - 2*part; i < n-part; i++ {
				if text, kept := task.history[i]; kept {
					trimmed += 64 + int64(len(text))
				}
			}
		}
		task.attemptFailed(m.now+int64(delay), m.now, s.Error, a.has(64+int64(len(s.Error)), held.bytes-trimmed), m.cfg.historyPart)
		if s.Permanent {
			task.die(m.now, FailedPermanently)
		}
		held.bytes += task.charged() - before
		m.noteDeath(task)
	case Release:
		task.comeBack(m.now+int64(s.DelayMs), m.now)
		held.bytes += task.charged() - before
		m.noteDeath(task)
	case Extend:
		if more := int64(len(s.Error)) - int64(len(task.note)); s.Error != "" && (more <= 0 || a.has(more, held.bytes)) {
			task.note = s.Error
			held.bytes += more
		}
		task.expiresMs = m.now + int64(s.LeaseMs)
	}
	return nil
}

// look reads the records of a task, as a shard does for a call about a single task.
func (m *machine) look(t *rapid.T, task *modelTask) (Stored, bool) {
	if task == nil {
		return Stored{}, false
	}
	stored, found := m.journal.look(task.ref)
	if found != task.stored() {
		t.Fatalf("%+v is stored: %v", *task, found)
	}
	if found && m.state.Leased(&stored) != (task.phase == leased) {
		t.Fatalf("%+v is leased: %v", *task, m.state.Leased(&stored))
	}
	return stored, found
}

func (m *machine) cancel(t *rapid.T) {
	of := rapid.SampledFrom([]phase{fresh, returned, leased, dead}).Draw(t, "phase")
	task := m.drawTask(t, of)
	stored, found := m.look(t, task)
	if !found {
		return
	}
	m.state.Cancel(&stored)
	if task.phase == leased {
		c := CancelledLease{Ref: task.ref, Token: task.token()}
		m.cancelled = append(m.cancelled, c)
		m.cancelled = m.cancelled[max(0, len(m.cancelled)-m.cfg.cancelledMax):]
		if w := task.holder; w != nil && !w.once && !w.gone {
			c.Waiter = w.waiter
			m.reported = append(m.reported, c)
		}
	}
	m.remove(task)
}

func (m *machine) remove(task *modelTask) {
	if task.phase != dead {
		task.endClaims()
	}
	task.phase = removed
	for key, k := range m.keys {
		if k.ref == task.ref {
			k.freed = true
			m.keys[key] = k
		}
	}
	if u := m.unique(task.ref.Queue, task.key); u != nil && u.task == task {
		u.freed = true
	}
	m.end(Ended{Ref: task.ref, How: Removed})
}

func (m *machine) purgeDead(t *rapid.T) {
	task := m.drawTask(t, dead)
	stored, found := m.look(t, task)
	if !found {
		return
	}
	if did := m.state.PurgeDead(&stored); did != (task.phase == dead) {
		t.Fatalf("%+v was purged: %v", *task, did)
	}
	if task.phase == dead {
		m.remove(task)
	}
}

func (m *machine) purge(t *rapid.T) {
	if len(m.order) == 0 {
		return
	}
	q := rapid.SampledFrom(m.order).Draw(t, "queue")
	n := rapid.IntRange(1, 9).Draw(t, "at most")
	all := rapid.IntRange(0, 3).Draw(t, "all") == 0
	for range 1_000 {
		if !m.purgeSome(t, q, n) || !all {
			return
		}
		m.lateRefill(t)
	}
	t.Fatalf("the purge does not end")
}

func (m *machine) purgeSome(t *rapid.T, q *modelQueue, n int) (more bool) {
	got, more := m.state.Purge(m.state.byID[q.id], n)
	lanes := map[uint8][]*modelTask{}
	for _, task := range q.tasks {
		if task.waits() {
			lanes[task.lane()] = append(lanes[task.lane()], task)
		}
	}
	went, left := 0, 0
	for _, lane := range lanes {
		slices.SortFunc(lane, compareWaiting)
		for i, task := range lane {
			if _, stored := m.journal.tasks[task.ref]; stored {
				left++
				continue
			}
			if i > 0 && lane[i-1].waits() && !q.grouped {
				t.Fatalf("%+v was purged before %+v", *task, *lane[i-1])
			}
			went++
			task.purged = true
			m.remove(task)
		}
	}
	if went != got || got > n || !more && left > 0 {
		t.Fatalf("purged %d of at most %d, reported %d, more %v; left %d", went, n, got, more, left)
	}
	return more
}
