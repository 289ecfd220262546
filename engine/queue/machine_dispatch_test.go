package queue

import (
	"bytes"
	"slices"

	"pgregory.net/rapid"
)

func (m *machine) subscribe(t *rapid.T) {
	c := Claim{
		Tenant:  drawTenant.Draw(t, "tenant"),
		Queues:  rapid.SliceOfNDistinct(drawQueue, 1, 3, rapid.ID[string]).Draw(t, "queues"),
		LeaseMs: rapid.SampledFrom([]uint64{0, 25}).Draw(t, "lease"),
		Credit:  6 - rapid.IntRange(0, 6).Draw(t, "credit less"),
		Once:    rapid.Bool().Draw(t, "once"),
	}
	if rapid.Bool().Draw(t, "weighted") {
		for range c.Queues {
			c.Weights = append(c.Weights, rapid.Uint32Range(1, 4).Draw(t, "weight"))
		}
	}
	w := &modelWaiter{leaseMs: c.LeaseMs, credits: c.Credit, once: c.Once}
	if rapid.IntRange(0, 2).Draw(t, "of a pool") == 1 {
		w.pool = &testPool{left: c.Credit}
		c.Credit, c.Pool = 0, w.pool
	}
	absent := m.absent()
	waiter, err := m.state.Subscribe(c, w)
	for _, name := range c.Queues {
		key := queueName{c.Tenant, name}
		if m.queues[key] == nil && !absent[key] {
			if len(absent) >= m.cfg.Queues {
				requireRefused(t, ErrTooManyQueues, err)
				return
			}
			absent[key] = true
		}
		w.queues = append(w.queues, key)
	}
	if err != nil {
		t.Fatalf("subscribe: %v", err)
	}
	w.waiter = waiter
	m.waiters = append(m.waiters, w)
}

func (m *machine) credit(t *rapid.T) {
	if len(m.waiters) == 0 {
		return
	}
	w := rapid.SampledFrom(m.waiters).Draw(t, "waiter")
	if w.once && w.pool != nil {
		return // a claim's pool gets its credit only once
	}
	n := 9 - rapid.IntRange(0, 9).Draw(t, "credit less")
	w.credits += n
	if w.pool != nil && !w.waiter.starved { // a pool passes new credit to a starved waiter
		w.pool.left += n
		m.state.Sent(w.waiter, 0)
		return
	}
	m.state.Credit(w.waiter, n)
}

func (m *machine) unsubscribe(t *rapid.T) {
	if len(m.waiters) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.waiters)-1).Draw(t, "waiter")
	m.state.Unsubscribe(m.waiters[i].waiter)
	m.waiters[i].gone = true
	m.waiters = slices.Delete(m.waiters, i, i+1)
}

// dispatchAll dispatches and answers refills, as a shard does, until no work is left. Then no queue
// of a waiter with credit may have a ready task.
func (m *machine) dispatchAll(t *rapid.T) {
	m.lateRefill(t)
	for range 10_000 {
		m.dispatchOne(t)
		asked := len(m.state.refills) > 0
		m.lateRefill(t)
		switch {
		case asked || m.state.Unfinished():
		case m.state.NextDeadlineMs() <= m.now:
			m.state.Tick(m.now)
			m.vanished(t)
		default:
			m.checkNothingLeft(t)
			return
		}
	}
	t.Fatalf("the dispatch does not end")
}

func (m *machine) checkNothingLeft(t *rapid.T) {
	for _, task := range m.tasks {
		if task.waits() && task.overdue(m.now) {
			t.Fatalf("%+v still waits after the end of its time to live", *task)
		}
	}
	for _, w := range m.waiters {
		for _, key := range w.queues {
			q := m.queues[key]
			if w.credits == 0 || q == nil {
				continue
			}
			starved := m.state.byID[q.id].starved && m.retriesLease()
			if next, due := m.state.NextDeadlineMs(), q.earliest(m.now); next > due && !q.paused && !starved {
				t.Fatalf("the next deadline is %d, but a task with a waiter is due at %d", next, due)
			}
			if next, at := m.state.NextDeadlineMs(), q.nextToken(m.now); next > at && !starved {
				t.Fatalf("the next deadline is %d, but a task with a waiter has a token at %d", next, at)
			}
			left := q.admitted(m.now)
			switch {
			case len(left) == 0 || starved || m.isStuck(t, q):
				// Dispatch tries again soon, since another shard may free room.
			default:
				t.Fatalf("a waiter with %d credits did not get %+v, with room for %d leases", w.credits, *left[0], m.accounts[q.tenant].room())
			}
		}
	}
}

// retriesLease reports whether the state will soon check again for room for leases.
func (m *machine) retriesLease() bool { return m.state.NextDeadlineMs() <= m.now+leaseRetryMs }

func (m *machine) dispatchOne(t *rapid.T) {
	want := map[*modelQueue][]*modelTask{}
	for _, q := range m.order {
		want[q] = q.admitted(m.now)
	}
	got := map[*modelQueue]map[*modelTask]bool{}
	for _, g := range m.state.Dispatch(m.now, nil) {
		w := m.ownerOf(t, g.Waiter)
		if w.once && m.awaitsMore(w, len(g.Deliveries)-w.seen) {
			t.Fatalf("the only grant of a claim was returned while a Refill was unanswered")
		}
		m.checkGrant(t, w, g.Deliveries[w.seen:], want, got)
		w.seen = 0
		if w.once {
			w.credits = 0
		}
	}
	for _, held := range m.state.held { // leased already; returned with further tasks later
		w := m.ownerOf(t, held)
		m.checkGrant(t, w, held.grant[w.seen:], want, got)
		w.seen = len(held.grant)
	}
	// The leased tasks, of all waiters together, are a prefix of the ready ones.
	for q, tasks := range got {
		for _, task := range want[q][:len(tasks)] {
			if !tasks[task] {
				t.Fatalf("queue %s of %s: %+v was skipped", q.name, q.tenant, *task)
			}
		}
	}
	for _, w := range m.waiters {
		if w.pool != nil && w.pool.left+w.waiter.credits != w.credits || !w.waiter.held && w.pool != nil && w.waiter.credits != 0 {
			t.Fatalf("a waiter with %d credits has %d of them, its pool %d", w.credits, w.waiter.credits, w.pool.left)
		}
	}
	m.reconcile()
}

// awaitsMore reports whether a waiter that gets n tasks may get more once a Refill is answered.
func (m *machine) awaitsMore(w *modelWaiter, n int) bool {
	return !w.gone && w.credits > n && slices.ContainsFunc(w.queues, func(key queueName) bool {
		q := m.state.byName[key]
		return q != nil && q.awaits
	})
}

func (m *machine) ownerOf(t *rapid.T, waiter *Waiter) *modelWaiter {
	w, ok := waiter.Owner.(*modelWaiter)
	if !ok || w.waiter != waiter || !slices.Contains(m.waiters, w) && (!w.gone || w.seen == 0) {
		t.Fatalf("a grant for an unknown waiter")
	}
	return w
}

func (m *machine) checkGrant(t *rapid.T, w *modelWaiter, ds []Delivery, want map[*modelQueue][]*modelTask, got map[*modelQueue]map[*modelTask]bool) {
	if len(ds) == 0 && w.seen == 0 || len(ds) > 0 && len(ds) > w.credits {
		t.Fatalf("a grant of %d tasks for %d credits", len(ds), w.credits)
	}
	place := map[*modelQueue]int{}
	for i := range ds {
		d := &ds[i]
		task := m.byRef[d.Ref]
		if task == nil {
			t.Fatalf("%v was delivered but never enqueued", d.Ref)
		}
		q := m.of(task)
		if !slices.Contains(w.queues, queueName{q.tenant, q.name}) {
			t.Fatalf("%v was delivered to a waiter of other queues", d.Ref)
		}
		at := slices.Index(want[q], task)
		if at < 0 {
			t.Fatalf("%+v was delivered but not ready at %d", *task, m.now)
		}
		if at < place[q] {
			t.Fatalf("%v was delivered after a later task", d.Ref)
		}
		place[q] = at
		if got[q] == nil {
			got[q] = map[*modelTask]bool{}
		}
		if got[q][task] {
			t.Fatalf("%v was delivered twice in one dispatch", d.Ref)
		}
		got[q][task] = true
		m.lease(t, w, task, d)
	}
	w.credits -= len(ds)
}

// lease checks a delivery against the task and leases it in the model.
func (m *machine) lease(t *rapid.T, w *modelWaiter, task *modelTask, d *Delivery) {
	if m.tokens[d.Token] {
		t.Fatalf("token %x is issued twice", d.Token)
	}
	if d.Token == 0 || d.Token <= task.token() || d.Token <= m.journal.progress[task.ref].Token {
		t.Fatalf("token %x of a lease after token %x", d.Token, task.token())
	}
	m.tokens[d.Token] = true
	task.tokens, task.claimed, task.holder = append(task.tokens, d.Token), true, w
	batch, _ := TokenPlace(d.Token)
	if b := m.state.batches[batch]; b != nil {
		if task.claimMs = m.state.claimedMs(b); task.claimMs != m.now && (task.claimMs != 0 || task.home.policy.keepsHistory()) {
			t.Fatalf("%+v was claimed at %d; the lease has the time %d", *task, m.now, task.claimMs)
		}
	}
	task.phase, task.expiresMs = leased, m.now+int64(orDefault(w.leaseMs, task.leaseMs))
	extras := d.Extras
	d.Extras = nil
	m.of(task).took(task, m.now)
	want := LeaseRef{
		Bytes: uint32(len(task.payload)),
		Ref:   task.ref, Attempt: task.attempts + 1, MaxAttempts: task.maxAttempts, LeaseMs: task.leaseMs,
		ExpiresAtMs: task.expiresMs, HasProgress: task.settled, History: task.historyBytes(m.cfg.historyPart), NoteBytes: uint16(len(task.note)), PriorityShift: task.shift,
	}
	if d.LeaseRef != want || !sameExtras(extras, task.wantExtras()) {
		t.Fatalf("delivered %+v, want %+v", d.LeaseRef, want)
	}
	if d.Queue.Name() != task.queue || d.Queue.Tenant() != task.tenant {
		t.Fatalf("delivered from %s of %s, want %s of %s", d.Queue.Name(), d.Queue.Tenant(), task.queue, task.tenant)
	}
	if d.Cached && (!bytes.Equal(d.Payload, task.payload) || d.HasHeaders != task.hasHeaders || d.EnqueuedAtMs != task.enqueuedMs || task.settled) {
		t.Fatalf("delivered %+v from the cache for %+v", *d, *task)
	}
}
