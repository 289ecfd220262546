package queue

import (
	"flag"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func init() {
	// Windows, refills and expiries need longer runs than rapid's default. A flag on the command
	// line overrides these values, because it is parsed later.
	for name, value := range map[string]string{"rapid.steps": "200", "rapid.checks": "500"} {
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

	accounts map[string]*fakeAccount
	queues   map[queueName]*modelQueue
	order    []*modelQueue // in the order of creation
	issued   []string      // the tenants of all queues ever created, by number
	// Numbers that may have been issued before the last recovery and must not be issued again.
	skipped   Reserved
	tasks     []*modelTask
	byRef     map[Ref]*modelTask
	waiters   []*modelWaiter
	tokens    map[uint64]bool // all tokens ever issued
	keys      map[keyOf]modelKey
	uniques   map[keyOf]*modelUnique
	results   map[Ref]Result
	histories map[uint32]*modelHistory
	recurring []*modelRecurring
	watched   map[Ref]int
	ended     []Ended // of watched tasks, since the last call of Ended
	// cancelled contains the cancelled leases that the state remembers, from the oldest. reported
	// contains those that CancelledLeases has not returned yet.
	cancelled, reported []CancelledLease
	pending             []*pendingRefill // unanswered
	figures             map[uint32]Stats // last known figures of the queues
}

// TestStateBehavesAsTheModel runs random commands against the state and a model of maps and slices.
// The windows are so small that refills and evictions are frequent. Recoveries are among the
// commands.
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
			"settle more": m.settle,
			"tick":        m.tick,
			"dispatch":    m.dispatchAll,
			"dispatch one": func(t *rapid.T) {
				m.dispatchOne(t)
				m.takeRefills()
			},
			"late refill": m.lateRefill,
			"one answer":  m.oneAnswer,
			"read":        m.readPending,
			"one task":    oneOf(m.cancel, m.redrive, m.redrive, m.purgeDead, m.edit, m.watch, m.watch, m.reschedule, m.reschedule, m.prioritize, m.prioritize),
			"queue":       oneOf(m.configure, m.pause, m.pause, m.purge, m.deleteQueue, m.otherShard, m.recover),
			"recurring":   oneOf(m.setRecurring, m.setRecurring, m.pauseRecurring, m.runRecurring, m.deleteRecurring),
		})
		m.drain(t)
	})
}

func oneOf(actions ...func(*rapid.T)) func(*rapid.T) {
	return func(t *rapid.T) { actions[rapid.IntRange(0, len(actions)-1).Draw(t, "which")](t) }
}

func newMachine(t *rapid.T) *machine {
	m := &machine{
		figures: map[uint32]Stats{},
		cfg: Config{
			LeaseMs: 40, MaxAttempts: 2, Backoff: Backoff{InitialMs: 10, MaxMs: 50, MultiplierPercent: 200, JitterPercent: 25},
			KeyWindowMs:        rapid.SampledFrom([]uint64{100, 5_000}).Draw(t, "key window"),
			Queues:             rapid.IntRange(3, 6).Draw(t, "queues max"),
			QueuesPerTenant:    rapid.IntRange(2, 4).Draw(t, "queues per tenant max"),
			trimAfterMs:        rapid.SampledFrom([]int64{1, 10_000}).Draw(t, "trim"),
			IdleMs:             rapid.SampledFrom([]uint64{1, 60_000, 24 * 3600_000}).Draw(t, "idle"),
			WindowTasks:        rapid.IntRange(2, 4).Draw(t, "window"),
			WindowsTasks:       rapid.IntRange(1, 12).Draw(t, "windows"),
			parkedMax:          rapid.SampledFrom([]int{1, 3, 1_000, 1_000}).Draw(t, "parked"),
			Shards:             rapid.IntRange(0, 3).Draw(t, "shards"),
			runsMax:            rapid.SampledFrom([]int{1, 2, 1_000}).Draw(t, "runs"),
			RecurringPerTenant: rapid.IntRange(1, 3).Draw(t, "recurring per tenant max"),
			RecurringBytesMax:  rapid.SampledFrom([]int64{1_100, 1 << 20}).Draw(t, "recurring bytes max"),
			cancelledMax:       rapid.IntRange(1, 5).Draw(t, "cancelled max"),
			turnMax:            rapid.SampledFrom([]int{2, 5, 1_000}).Draw(t, "turn"),
			finishedWindow:     rapid.SampledFrom([]int{1, 2, 256}).Draw(t, "history window"),
			historyPart:        uint32(rapid.IntRange(1, 2).Draw(t, "history part")),
			CacheBytesMax:      int64(rapid.IntRange(1, 40).Draw(t, "cache")),
			// Some refills read one task, others read all.
			SweepMax:       rapid.SampledFrom([]int{1, 1_000}).Draw(t, "sweep"),
			LookMax:        rapid.SampledFrom([]int{1, 3, 4_096}).Draw(t, "count"),
			RefillBytesMax: rapid.SampledFrom([]int64{1, 20, 1 << 20}).Draw(t, "refill bytes"),
			Reserve:        rapid.Bool().Draw(t, "reserve"),
		},
		now:      1_000,
		journal:  newMapJournal(t.Fatalf),
		accounts: map[string]*fakeAccount{},
		queues:   map[queueName]*modelQueue{},
		byRef:    map[Ref]*modelTask{},
		tokens:   map[uint64]bool{},
		keys:     map[keyOf]modelKey{},
		uniques:  map[keyOf]*modelUnique{},
		results:  map[Ref]Result{},

		histories: map[uint32]*modelHistory{},
		watched:   map[Ref]int{},
	}
	for _, tenant := range []string{"t0", "t1"} {
		a := &fakeAccount{tenant: tenant, broken: t.Fatalf, tasksMax: math.MaxInt64, leasesMax: math.MaxInt64}
		if rapid.IntRange(0, 2).Draw(t, "quotas") == 1 {
			a.bytesMax = rapid.SampledFrom([]int64{0, 1_500, 4_000, 10_000}).Draw(t, "bytes")
			a.tasksMax, a.leasesMax = 60-rapid.Int64Range(0, 60).Draw(t, "tasks less"), 12-rapid.Int64Range(0, 12).Draw(t, "leases less")
		}
		m.accounts[tenant] = a
	}
	m.cfg.Account = func(tenant string) Account { return m.accounts[tenant] }
	m.open(t, Recovered{NextExpiryMs: math.MaxInt64})
	return m
}

func (m *machine) open(t *rapid.T, from Recovered) {
	s, err := New(m.cfg, m.journal, from)
	if err != nil {
		t.Fatalf("recover: %v", err)
	}
	m.state = s
	m.sweep()
	m.vanished(t)
	m.ran(t)
}

// recover replaces the state by one made from the stored records. Waiters and watches end.
func (m *machine) recover(t *rapid.T) {
	m.state.LeaveAccounts()
	for _, a := range m.accounts {
		if a.tasks != 0 || a.bytes != 0 || a.leases != 0 {
			t.Fatalf("the old state leaves %+v in its account", *a)
		}
	}
	m.pending, m.waiters, m.ended, m.cancelled, m.reported = nil, nil, nil, nil, nil
	clear(m.watched)
	for _, task := range m.tasks {
		task.holder = nil
	}
	for _, q := range m.order {
		q.buckets = nil // all are full
	}
	m.skipped = m.journal.reserved
	m.open(t, m.journal.recovered())
}

// tick advances the time: mostly a little, sometimes until buckets of keys or results end.
func (m *machine) tick(t *rapid.T) {
	most := rapid.SampledFrom([]int{9, 9, 50, 50, 3_000, 2 * resultBucketMs}).Draw(t, "at most")
	m.now += int64(rapid.IntRange(0, most).Draw(t, "ms"))
	m.sweep()
	m.vanished(t)
	for _, task := range m.tasks {
		if task.phase == leased && task.expiresMs <= m.now {
			_, kept := m.journal.attempts[task.ref][task.attempts+1]
			// With a quota, the order of the leases determines which attempts are stored.
			if !kept && m.accounts[task.tenant].bytesMax == 0 {
				t.Fatalf("%+v: the expiry of its lease is not in its history", *task)
			}
			task.attemptFailed(m.now, m.now, "lease expired", kept, m.cfg.historyPart)
			m.noteDeath(task)
		}
	}
	m.ran(t)
}

// sweep calls Tick until all expired leases have ended and all recurring tasks have run, as a shard
// does between commands.
func (m *machine) sweep() {
	for m.state.Tick(m.now); !m.state.Swept(m.now) || m.state.recurring.due.nextMs() <= m.now; m.state.Tick(m.now) {
	}
}

// drain leases all ready tasks to a waiter of each tenant.
func (m *machine) drain(t *rapid.T) {
	for _, tenant := range []string{"t0", "t1"} {
		c := Claim{Tenant: tenant, Credit: 10_000}
		w := &modelWaiter{credits: c.Credit}
		for _, q := range m.order {
			if q.tenant == tenant {
				c.Queues, w.queues = append(c.Queues, q.name), append(w.queues, queueName{tenant, q.name})
			}
		}
		waiter, err := m.state.Subscribe(c, w)
		if err != nil {
			t.Fatalf("subscribe: %v", err)
		}
		w.waiter = waiter
		m.waiters = append(m.waiters, w)
	}
	m.dispatchAll(t)
	m.check(t)
	m.checkTrimmed(t)
}

// pendingRefill is an unanswered Refill. Its answer may have been read earlier.
type pendingRefill struct {
	Refill
	answer func() // nil if not read yet
}

func (m *machine) takeRefills() {
	for _, r := range m.state.Refills() {
		m.pending = append(m.pending, &pendingRefill{Refill: r})
	}
}

// readPending reads the answers of some Refills. They do not include decisions made between the
// reading and the answer.
func (m *machine) readPending(t *rapid.T) {
	for _, r := range m.pending {
		if r.answer == nil && rapid.Bool().Draw(t, "read") {
			r.answer = m.journal.read(m.state, r.Refill)
		}
	}
}

// lateRefill answers all Refills, including those whose answers were read earlier.
func (m *machine) lateRefill(*rapid.T) {
	m.answerPending(func(*pendingRefill) bool { return true })
	m.reconcile()
}

// oneAnswer answers one of the Refills, in any order.
func (m *machine) oneAnswer(t *rapid.T) {
	m.takeRefills()
	if len(m.pending) == 0 {
		return
	}
	one := rapid.SampledFrom(m.pending).Draw(t, "refill")
	m.answerPending(func(r *pendingRefill) bool { return r == one })
	m.reconcile()
}

func (m *machine) answerPending(which func(*pendingRefill) bool) {
	m.takeRefills()
	m.pending = slices.DeleteFunc(m.pending, func(r *pendingRefill) bool {
		if !which(r) {
			return false
		}
		if r.answer == nil {
			r.answer = m.journal.read(m.state, r.Refill)
		}
		r.answer()
		return true
	})
}

// reconcile makes the tasks dead in the model that the state found to be expired. The state may
// find them arbitrarily late, if it leases none of them.
func (m *machine) reconcile() {
	for _, task := range m.tasks {
		if task.waits() && task.overdue(m.now) {
			if _, died := m.journal.dead[task.ref]; died {
				task.die(m.now, TimeToLiveOver)
				m.noteDeath(task)
			}
		}
	}
}

func (m *machine) noteDeath(task *modelTask) {
	if task.phase == dead {
		m.end(Ended{Ref: task.ref, How: Died, Attempts: task.attempts})
	}
}

func (m *machine) end(e Ended) {
	if m.watched[e.Ref] > 0 {
		m.ended = append(m.ended, e)
	}
}

func (m *machine) watch(t *rapid.T) {
	if len(m.tasks) == 0 {
		return
	}
	ref := rapid.SampledFrom(m.tasks).Draw(t, "task").ref
	if m.watched[ref] > 0 && rapid.Bool().Draw(t, "unwatch") {
		m.watched[ref]--
		m.state.Unwatch(ref)
		return
	}
	m.watched[ref]++
	m.state.Watch(ref)
}

// otherShard leases or settles tasks of the tenant in another shard.
func (m *machine) otherShard(t *rapid.T) {
	a := m.accounts[drawTenant.Draw(t, "tenant")]
	a.others = rapid.SampledFrom([]int64{0, 0, 2, 5}).Draw(t, "leases")
}

var (
	drawTenant = rapid.SampledFrom([]string{"t0", "t1"})
	drawQueue  = rapid.SampledFrom([]string{"q0", "q1", "q2"})
	drawPrio   = rapid.SampledFrom([]uint8{0, 0, 3, MaxPriority})
)

// queue creates a queue in the model. It fails if there are too many queues or the account has no
// room.
func (m *machine) queue(held *fakeAccount, tenant, name string) (*modelQueue, error) {
	key := queueName{tenant, name}
	q := m.queues[key]
	if q == nil {
		bytes := 512 + int64(len(tenant)+len(name))
		switch {
		case len(m.order) >= m.cfg.Queues || m.queuesOf(tenant) >= m.cfg.QueuesPerTenant:
			return nil, ErrTooManyQueues
		case !m.accounts[tenant].has(bytes, held.bytes):
			return nil, errNoRoom
		}
		held.bytes += bytes
		for uint32(len(m.issued)) < m.skipped.Queue {
			m.issued = append(m.issued, "")
		}
		q = &modelQueue{tenant: tenant, name: name, id: uint32(len(m.issued))}
		m.issued = append(m.issued, tenant)
		m.queues[key] = q
		m.order = append(m.order, q)
	}
	return q, nil
}

func (m *machine) of(task *modelTask) *modelQueue {
	return m.queues[queueName{task.tenant, task.queue}]
}

func (m *machine) leased() (out []*modelTask) {
	for _, task := range m.tasks {
		if task.phase == leased {
			out = append(out, task)
		}
	}
	return out
}

// drawTask draws a task, usually one in the given phase, because most commands affect only such
// tasks.
func (m *machine) drawTask(t *rapid.T, of phase) *modelTask {
	var some []*modelTask
	for _, task := range m.tasks {
		if task.phase == of {
			some = append(some, task)
		}
	}
	if len(some) > 0 && rapid.IntRange(0, 3).Draw(t, "of its phase") > 0 {
		return rapid.SampledFrom(some).Draw(t, "task")
	}
	if len(m.tasks) == 0 {
		return nil
	}
	return rapid.SampledFrom(m.tasks).Draw(t, "any task")
}

// askedExpired reports whether a sweep of expired tasks is under way.
func (m *machine) askedExpired() bool {
	return slices.ContainsFunc(m.pending, func(r *pendingRefill) bool { return r.Stream == StreamExpired })
}
