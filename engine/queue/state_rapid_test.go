package queue

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func init() {
	// Windows, refills and expiries need longer runs than rapid's default. A flag on the command
	// line still counts: it is read later.
	for name, value := range map[string]string{"rapid.steps": "100", "rapid.checks": "300"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}

// machine runs the same commands through a State and a model.
type machine struct {
	cfg     Config
	now     int64
	journal *mapJournal
	state   *State

	queues  map[queueName]*modelQueue
	order   []*modelQueue // of creation
	tasks   []*modelTask
	byRef   map[Ref]*modelTask
	waiters []*modelWaiter
	tokens  map[uint64]bool // ever given
	pending []Refill        // asked for, not answered
}

// TestStateBehavesAsTheModel runs random commands against the state and a model of maps and
// slices, with windows so small that refills and evictions are the rule, and recoveries between them.
func TestStateBehavesAsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"":            m.check,
			"enqueue":     m.enqueue,
			"subscribe":   m.subscribe,
			"credit":      m.credit,
			"unsubscribe": m.unsubscribe,
			"settle":      m.settle,
			"tick":        m.tick,
			"dispatch":    m.dispatchAll,
			"dispatch one": func(t *rapid.T) {
				m.dispatchOne(t)
				m.pending = m.state.Refills()
			},
			"late refill": m.lateRefill,
			"recover":     m.recover,
		})
	})
}

func newMachine(t *rapid.T) *machine {
	m := &machine{
		cfg: Config{
			LeaseMs: 40, MaxAttempts: 2, Backoff: Backoff{InitialMs: 10, MaxMs: 50, MultiplierPercent: 200, JitterPercent: 25},
			Queues:        rapid.IntRange(3, 6).Draw(t, "queues max"),
			WindowTasks:   rapid.IntRange(2, 4).Draw(t, "window"),
			WindowsTasks:  rapid.IntRange(1, 12).Draw(t, "windows"),
			CacheBytesMax: int64(rapid.IntRange(1, 40).Draw(t, "cache")),
		},
		now:     1_000,
		journal: newMapJournal(t.Fatalf),
		queues:  map[queueName]*modelQueue{},
		byRef:   map[Ref]*modelTask{},
		tokens:  map[uint64]bool{},
	}
	m.open(t, Recovered{NextExpiryMs: math.MaxInt64})
	return m
}

func (m *machine) open(t *rapid.T, from Recovered) {
	s, err := New(m.cfg, m.journal, from)
	if err != nil {
		t.Fatalf("recover: %v", err)
	}
	m.state = s
}

var (
	drawTenant = rapid.SampledFrom([]string{"t0", "t1"})
	drawQueue  = rapid.SampledFrom([]string{"q0", "q1", "q2"})
	drawPrio   = rapid.SampledFrom([]uint8{0, 0, 3, MaxPriority})
)

// queue mirrors the state's making of a queue: nil when there are too many.
func (m *machine) queue(tenant, name string) *modelQueue {
	key := queueName{tenant, name}
	q := m.queues[key]
	if q == nil && len(m.order) < m.cfg.Queues {
		q = &modelQueue{tenant: tenant, name: name, id: uint32(len(m.order))}
		m.queues[key] = q
		m.order = append(m.order, q)
	}
	return q
}

func (m *machine) enqueue(t *rapid.T) {
	tenant := drawTenant.Draw(t, "tenant")
	tasks := make([]NewTask, rapid.IntRange(1, 6).Draw(t, "n"))
	for i := range tasks {
		tasks[i] = NewTask{
			Queue:       drawQueue.Draw(t, "queue"),
			Priority:    drawPrio.Draw(t, "priority"),
			Payload:     rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "payload"),
			DelayMs:     rapid.SampledFrom([]uint64{0, 0, 0, 5, 5, 60}).Draw(t, "delay"),
			MaxAttempts: rapid.Uint32Range(0, 3).Draw(t, "attempts"),
			LeaseMs:     rapid.SampledFrom([]uint64{0, 15}).Draw(t, "lease"),
		}
	}
	out := make([]Enqueued, len(tasks))
	m.state.Enqueue(m.now, tenant, tasks, out)
	for i, n := range tasks {
		q := m.queue(tenant, n.Queue)
		if q == nil {
			if !errors.Is(out[i].Err, ErrTooManyQueues) {
				t.Fatalf("task %d: got %v beyond the queues that the shard may hold", i, out[i].Err)
			}
			continue
		}
		want := Ref{Queue: q.id, Priority: n.Priority, Seq: uint64(len(q.tasks))}
		if out[i].Err != nil || out[i].Ref != want {
			t.Fatalf("task %d: got %+v, want %+v", i, out[i], want)
		}
		task := &modelTask{
			ref: want, tenant: tenant, queue: n.Queue, payload: n.Payload, enqueuedMs: m.now,
			maxAttempts: orDefault(n.MaxAttempts, 2), leaseMs: orDefault(n.LeaseMs, 40), phase: fresh,
		}
		if n.DelayMs > 0 {
			task.phase, task.dueMs, task.settled = returned, m.now+int64(n.DelayMs), true
		}
		q.tasks = append(q.tasks, task)
		m.tasks = append(m.tasks, task)
		m.byRef[want] = task
	}
}

func (m *machine) subscribe(t *rapid.T) {
	c := Claim{
		Tenant:  drawTenant.Draw(t, "tenant"),
		Queues:  rapid.SliceOfNDistinct(drawQueue, 1, 3, rapid.ID[string]).Draw(t, "queues"),
		LeaseMs: rapid.SampledFrom([]uint64{0, 25}).Draw(t, "lease"),
		Credit:  rapid.IntRange(0, 6).Draw(t, "credit"),
		Once:    rapid.Bool().Draw(t, "once"),
	}
	w := &modelWaiter{leaseMs: c.LeaseMs, credits: c.Credit, once: c.Once}
	waiter, err := m.state.Subscribe(c, w)
	for _, name := range c.Queues {
		q := m.queue(c.Tenant, name)
		if q == nil {
			if !errors.Is(err, ErrTooManyQueues) {
				t.Fatalf("subscribe: got %v beyond the queues that the shard may hold", err)
			}
			return
		}
		w.queues = append(w.queues, q)
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
	n := rapid.IntRange(0, 8).Draw(t, "credit")
	w.credits += n
	m.state.Credit(w.waiter, n)
}

func (m *machine) unsubscribe(t *rapid.T) {
	if len(m.waiters) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.waiters)-1).Draw(t, "waiter")
	m.state.Unsubscribe(m.waiters[i].waiter)
	m.waiters = slices.Delete(m.waiters, i, i+1)
}

func (m *machine) tick(t *rapid.T) {
	m.now += int64(rapid.IntRange(0, 50).Draw(t, "ms"))
	m.state.Tick(m.now)
	for _, task := range m.tasks {
		if task.phase == leased && task.expiresMs <= m.now {
			task.attemptFailed(m.now, m.now, "lease expired")
		}
	}
}

// dispatchAll does what a shard does: it dispatches and answers refills until nothing is left to
// hand out. Then no waiter with credit may have a ready task.
func (m *machine) dispatchAll(t *rapid.T) {
	for range 10_000 {
		m.dispatchOne(t)
		refills := m.state.Refills()
		for _, r := range refills {
			m.journal.answer(m.state, r)
		}
		if len(refills) == 0 && !m.state.Unfinished() {
			m.checkNothingLeft(t)
			return
		}
	}
	t.Fatalf("the dispatch does not come to an end")
}

func (m *machine) checkNothingLeft(t *rapid.T) {
	for _, w := range m.waiters {
		for _, q := range w.queues {
			if w.credits == 0 {
				continue
			}
			if left := q.ready(m.now); len(left) > 0 {
				t.Fatalf("a waiter with %d credits was not given %+v", w.credits, *left[0])
			}
			if next, due := m.state.NextDeadlineMs(), q.earliest(m.now); next > due {
				t.Fatalf("the next deadline is %d, but a task that is waited for is due at %d", next, due)
			}
		}
	}
}

func (m *machine) dispatchOne(t *rapid.T) {
	want := map[*modelQueue][]*modelTask{}
	for _, q := range m.order {
		want[q] = q.ready(m.now)
	}
	got := map[*modelQueue]map[*modelTask]bool{}
	for _, g := range m.state.Dispatch(m.now, nil) {
		w, ok := g.Waiter.Owner.(*modelWaiter)
		if !ok || w.waiter != g.Waiter || !slices.Contains(m.waiters, w) {
			t.Fatalf("a grant for someone who does not wait")
		}
		m.checkGrant(t, w, g.Deliveries, want, got)
	}
	for q, tasks := range got { // whoever got them, what was leased is the beginning of what was ready
		for _, task := range want[q][:len(tasks)] {
			if !tasks[task] {
				t.Fatalf("queue %s of %s: %+v was passed over", q.name, q.tenant, *task)
			}
		}
	}
}

func (m *machine) checkGrant(t *rapid.T, w *modelWaiter, ds []Delivery, want map[*modelQueue][]*modelTask, got map[*modelQueue]map[*modelTask]bool) {
	if len(ds) == 0 || len(ds) > w.credits {
		t.Fatalf("a grant of %d tasks for %d credits", len(ds), w.credits)
	}
	place := map[*modelQueue]int{}
	for i := range ds {
		d := &ds[i]
		task := m.byRef[d.Ref]
		if task == nil {
			t.Fatalf("%v was delivered and never enqueued", d.Ref)
		}
		q := m.queues[queueName{task.tenant, task.queue}]
		if !slices.Contains(w.queues, q) {
			t.Fatalf("%v was delivered to a waiter of other queues", d.Ref)
		}
		at := slices.Index(want[q], task)
		if at < 0 {
			t.Fatalf("%+v was delivered and was not ready at %d", *task, m.now)
		}
		if at < place[q] {
			t.Fatalf("%v was delivered after a task that comes later", d.Ref)
		}
		place[q] = at
		if got[q] == nil {
			got[q] = map[*modelTask]bool{}
		}
		if got[q][task] {
			t.Fatalf("%v was delivered twice at once", d.Ref)
		}
		got[q][task] = true
		m.lease(t, w, task, d)
	}
	w.credits -= len(ds)
	if w.once {
		w.credits = 0
	}
}

// lease checks a delivery against the task and leases it in the model.
func (m *machine) lease(t *rapid.T, w *modelWaiter, task *modelTask, d *Delivery) {
	if m.tokens[d.Token] {
		t.Fatalf("token %x is given a second time", d.Token)
	}
	if d.Token == 0 || d.Token <= task.token() {
		t.Fatalf("token %x of a lease after token %x", d.Token, task.token())
	}
	m.tokens[d.Token] = true
	task.tokens = append(task.tokens, d.Token)
	task.phase, task.expiresMs = leased, m.now+int64(orDefault(w.leaseMs, task.leaseMs))
	want := LeaseRef{
		Bytes: uint32(len(task.payload)),
		Ref:   task.ref, Attempt: task.attempts + 1, MaxAttempts: task.maxAttempts, LeaseMs: task.leaseMs,
		ExpiresAtMs: task.expiresMs, HasProgress: task.settled,
	}
	if d.LeaseRef != want {
		t.Fatalf("delivered %+v, want %+v", d.LeaseRef, want)
	}
	if d.Queue.Name() != task.queue || d.Queue.Tenant() != task.tenant {
		t.Fatalf("delivered from %s of %s, want %s of %s", d.Queue.Name(), d.Queue.Tenant(), task.queue, task.tenant)
	}
	if d.Cached && (!bytes.Equal(d.Payload, task.payload) || d.EnqueuedAtMs != task.enqueuedMs || task.settled) {
		t.Fatalf("delivered %+v from the cache for %+v", *d, *task)
	}
}

func (m *machine) lateRefill(*rapid.T) {
	for _, r := range m.pending {
		m.journal.answer(m.state, r)
	}
	m.pending = nil
}

// recover drops the state and makes one from what is stored. Waiters are gone with it.
func (m *machine) recover(t *rapid.T) {
	m.pending, m.waiters = nil, nil
	m.open(t, m.journal.recovered())
}

func (m *machine) settle(t *rapid.T) {
	if len(m.tasks) == 0 {
		return
	}
	tenant := drawTenant.Draw(t, "tenant")
	var settlements []Settlement
	for range rapid.IntRange(1, 5).Draw(t, "n") {
		settlements = append(settlements, m.drawSettlement(t))
	}
	out := make([]error, len(settlements))
	m.state.Settle(m.now, tenant, settlements, out)
	for i := range settlements {
		if err := m.settled(tenant, &settlements[i]); !errors.Is(out[i], err) {
			t.Fatalf("settlement %+v: got %v, want %v", settlements[i], out[i], err)
		}
	}
}

func (m *machine) drawSettlement(t *rapid.T) Settlement {
	task := rapid.SampledFrom(m.tasks).Draw(t, "task")
	if held := m.leased(); len(held) > 0 && rapid.IntRange(0, 3).Draw(t, "of leased") > 0 {
		task = rapid.SampledFrom(held).Draw(t, "leased task")
	}
	out := Settlement{
		Ref: task.ref, Token: task.token(),
		Action:  rapid.SampledFrom([]Action{Complete, Fail, Release, Extend}).Draw(t, "action"),
		Error:   rapid.SampledFrom([]string{"", "oops"}).Draw(t, "error"),
		DelayMs: rapid.SampledFrom([]uint64{0, 7}).Draw(t, "delay"),
		LeaseMs: rapid.Uint64Range(1, 80).Draw(t, "lease"),
	}
	switch rapid.SampledFrom([]string{"", "", "", "stale", "garbage", "other task"}).Draw(t, "wrong") {
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

func (m *machine) leased() []*modelTask {
	var out []*modelTask
	for _, task := range m.tasks {
		if task.phase == leased {
			out = append(out, task)
		}
	}
	return out
}

// settled carries out a settlement in the model.
func (m *machine) settled(tenant string, s *Settlement) error {
	task := m.byRef[s.Ref]
	if task.phase != leased || task.token() != s.Token || task.tenant != tenant {
		return ErrStaleToken
	}
	switch s.Action {
	case Complete:
		task.phase = done
	case Fail:
		delay := s.DelayMs
		if delay == 0 {
			delay = m.cfg.Backoff.waitMs(task.ref, task.attempts+1)
		}
		task.attemptFailed(m.now+int64(delay), m.now, s.Error)
	case Release:
		task.phase, task.dueMs, task.settled = returned, m.now+int64(s.DelayMs), true
	case Extend:
		task.expiresMs = m.now + int64(s.LeaseMs)
	}
	return nil
}

// check compares everything after each command: model, journal, counters, windows.
func (m *machine) check(t *rapid.T) {
	m.state.Flush()
	stored := map[string]int{}
	for _, task := range m.tasks {
		if err := m.checkStored(task, stored); err != nil {
			t.Fatalf("%+v: %v", *task, err)
		}
		ref, ok := m.state.FindLease(task.ref)
		if ok != (task.phase == leased) || ok && ref.ExpiresAtMs != task.expiresMs {
			t.Fatalf("%+v: its lease is %+v, %v", *task, ref, ok)
		}
		if task.phase == leased && m.state.NextDeadlineMs() > task.expiresMs {
			t.Fatalf("%+v: the next deadline is %d", *task, m.state.NextDeadlineMs())
		}
	}
	j := m.journal
	if len(j.attempts) != stored["attempts"] || len(j.tasks) != stored["tasks"] || len(j.due) != stored["due"] || len(j.progress) != stored["progress"] || len(j.dead) != stored["dead"] {
		t.Fatalf("stored %d tasks, %d due, %d progress, %d dead records, want %v",
			len(j.tasks), len(j.due), len(j.progress), len(j.dead), stored)
	}
	m.checkLeases(t)
	m.checkQueues(t)
	m.checkWindows(t)
}

// checkStored says what is wrong with the records of one task, and counts those that it has.
func (m *machine) checkStored(task *modelTask, stored map[string]int) error {
	j := m.journal
	rec, has := j.tasks[task.ref]
	if has != (task.phase != done) {
		return fmt.Errorf("has a task record: %v", has)
	}
	if has {
		stored["tasks"]++
		if !bytes.Equal(rec.Payload, task.payload) || rec.MaxAttempts != task.maxAttempts || rec.LeaseMs != task.leaseMs || rec.EnqueuedAtMs != task.enqueuedMs {
			return fmt.Errorf("stored as %+v", rec)
		}
	}
	if p, has := j.progress[task.ref]; has != (task.settled && task.phase != done) {
		return fmt.Errorf("has progress: %v", has)
	} else if has {
		stored["progress"]++
		if task.phase != leased && p != (Progress{DueAtMs: task.dueMs, Attempts: task.attempts, MaxAttempts: task.maxAttempts, Token: task.token()}) {
			return fmt.Errorf("has progress %+v", p)
		}
	}
	if history := j.attempts[task.ref]; task.phase == done && len(history) > 0 || task.phase != done && len(history) != int(task.attempts) {
		return fmt.Errorf("has a history of %d attempts", len(history))
	} else if len(history) > 0 {
		stored["attempts"]++
		if last := history[task.attempts]; last.Error != task.lastError {
			return fmt.Errorf("its last attempt is stored as %+v", last)
		}
	}
	if due, has := j.due[dueEntry{task.ref, task.dueMs}]; has != (task.phase == returned) {
		return fmt.Errorf("has a due record: %v", has)
	} else if has {
		stored["due"]++
		if due != (Due{DueAtMs: task.dueMs, Attempts: task.attempts, MaxAttempts: task.maxAttempts, LeaseMs: task.leaseMs, Bytes: uint32(len(task.payload))}) {
			return fmt.Errorf("has due record %+v", due)
		}
	}
	if d, has := j.dead[task.ref]; has != (task.phase == dead) {
		return fmt.Errorf("has a dead record: %v", has)
	} else if has {
		stored["dead"]++
		if d != (Dead{DiedAtMs: task.diedMs, Reason: AttemptsUsedUp}) {
			return fmt.Errorf("has dead record %+v", d)
		}
	}
	if cursor := j.queues[task.ref.Queue].Cursors[task.ref.Priority]; task.phase == fresh && task.ref.Seq < cursor {
		return fmt.Errorf("is behind the cursor %d", cursor)
	}
	return nil
}

// checkLeases compares the leases that a recovery would find with the model's.
func (m *machine) checkLeases(t *rapid.T) {
	n := 0
	for _, l := range m.journal.recovered().Leases {
		for i, ref := range l.Refs {
			if ref.Attempt == 0 {
				continue
			}
			n++
			task := m.byRef[ref.Ref]
			if task.phase != leased || task.token() != Token(l.Batch, i) || task.expiresMs != ref.ExpiresAtMs || task.attempts+1 != ref.Attempt {
				t.Fatalf("lease %d holds %+v of %+v", l.Batch, ref, *task)
			}
		}
	}
	if held := len(m.leased()); n != held {
		t.Fatalf("%d leases are stored, want %d", n, held)
	}
}

func (m *machine) checkQueues(t *rapid.T) {
	stats := m.state.Stats(m.now)
	if len(m.journal.queues) != len(m.order) || len(stats) != len(m.order) {
		t.Fatalf("%d queues are stored, %d have figures, want %d", len(m.journal.queues), len(stats), len(m.order))
	}
	for _, q := range m.order {
		rec, want := m.journal.queues[q.id], q.counts()
		if rec.Tenant != q.tenant || rec.Name != q.name || rec.NextSeq != uint64(len(q.tasks)) || rec.Counts != want {
			t.Fatalf("queue %s of %s is stored as %+v, want counts %+v", q.name, q.tenant, rec, want)
		}
		i := slices.IndexFunc(stats, func(s Stats) bool { return s.Tenant == q.tenant && s.Name == q.name })
		ready := uint64(len(q.ready(m.now)))
		if s := stats[i]; s.Enqueued != want.Enqueued || s.Completed != want.Completed || s.Leased != want.Leased || s.Dead != want.Dead ||
			s.Ready+s.Delayed != want.Fresh+want.Returned || s.Ready > ready || s.Ready < want.Fresh {
			t.Fatalf("queue %s of %s has figures %+v, want counts %+v, ready %d", q.name, q.tenant, s, want, ready)
		}
	}
}

// checkWindows compares what the windows hold with what the state accounts for, and its bounds.
func (m *machine) checkWindows(t *rapid.T) {
	tasks, back, lanes, cached := 0, 0, 0, int64(0)
	for _, q := range m.state.queues {
		for _, l := range q.lanes {
			if l == nil {
				continue
			}
			lanes++
			tasks += l.fresh.len()
			back += l.returned.Len()
			if l.fresh.len() > m.cfg.WindowTasks || l.returned.Len() > m.cfg.WindowTasks {
				t.Fatalf("a lane keeps %d fresh, %d returned tasks in memory", l.fresh.len(), l.returned.Len())
			}
			for i := range l.fresh.len() {
				f := l.fresh.buf[(l.fresh.head+i)%len(l.fresh.buf)]
				if f.cached {
					cached += int64(len(f.task.Payload))
				} else if f.task.Payload != nil {
					t.Fatalf("a payload of %d bytes is kept and not accounted for", len(f.task.Payload))
				}
			}
		}
	}
	if s := m.state; tasks != s.windowsTasks || back != s.returnedTasks || cached != s.cacheBytes || cached > m.cfg.CacheBytesMax {
		t.Fatalf("windows hold %d fresh, %d returned tasks and %d bytes; accounted for: %d, %d, %d",
			tasks, back, cached, s.windowsTasks, s.returnedTasks, s.cacheBytes)
	}
	if most := m.cfg.WindowsTasks + lanes*m.cfg.windowFloor(); max(tasks, back) > most {
		t.Fatalf("the windows of %d lanes hold %d fresh, %d returned tasks; at most %d are allowed", lanes, tasks, back, most)
	}
}
