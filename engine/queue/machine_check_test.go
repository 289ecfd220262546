package queue

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"
)

// check compares the state with the model after each command: journal, counters, accounts and
// windows.
func (m *machine) check(t *rapid.T) {
	m.state.Flush()
	if m.cfg.Reserve {
		if err := reservedIs(m.journal); err != nil {
			t.Fatal(err)
		}
	}
	stored := map[string]int{}
	for _, task := range m.tasks {
		if err := m.checkStored(task, stored); err != nil {
			t.Fatalf("%+v: %v", *task, err)
		}
		ref, ok := m.state.FindLease(task.ref)
		if ok != (task.phase == leased) || ok && ref.ExpiresAtMs != task.expiresMs {
			t.Fatalf("%+v: its lease is %+v, %v", *task, ref, ok)
		}
		next := m.state.NextDeadlineMs()
		if task.phase == leased && next > task.expiresMs {
			t.Fatalf("%+v: the next deadline is %d", *task, next)
		}
		if task.waits() && task.dieByMs() != 0 && next > task.dieByMs() && m.state.expiring == nil {
			t.Fatalf("%+v: the next deadline is %d", *task, next)
		}
	}
	if (m.state.expiring != nil) != (m.askedExpired() || slices.ContainsFunc(m.state.refills, func(r Refill) bool { return r.Stream == StreamExpired })) {
		t.Fatalf("a sweep of expired tasks is under way: %v", m.state.expiring != nil)
	}
	j := m.journal
	got := map[string]int{
		"attempts": len(j.attempts), "tasks": len(j.tasks), "due": len(j.due), "progress": len(j.progress), "dead": len(j.dead), "expiries": len(j.expiries),
	}
	for kind, n := range got {
		if n != stored[kind] {
			t.Fatalf("stored %v, want %v", got, stored)
		}
	}
	m.checkLeases(t)
	m.checkBuckets(t)
	m.checkUniques(t)
	m.checkQueues(t)
	m.checkHistories(t)
	m.checkRecurring(t)
	m.checkAccounts(t)
	m.checkEnded(t)
	if got := m.state.CancelledLeases(); !slices.Equal(got, m.reported) {
		t.Fatalf("cancelled leases %+v; want %+v", got, m.reported)
	}
	m.reported = nil
	if got := len(m.state.cancelled.leases); got != len(m.cancelled) {
		t.Fatalf("%d cancelled leases are remembered; want %d", got, len(m.cancelled))
	}
	m.checkWindows(t)
	m.checkLimits(t)
}

// checkStored returns an error for wrong records of one task, and counts the records that it has.
func (m *machine) checkStored(task *modelTask, stored map[string]int) error {
	j := m.journal
	rec, has := j.tasks[task.ref]
	if has != task.stored() {
		return fmt.Errorf("has a task record: %v", has)
	}
	if has {
		stored["tasks"]++
		if !bytes.Equal(rec.Payload, task.payload) || rec.HasHeaders != task.hasHeaders || rec.MaxAttempts != task.attemptsMax || rec.LeaseMs != task.leaseMs || rec.EnqueuedAtMs != task.enqueuedMs ||
			!sameExtras(rec.Extras, NewExtras(task.extras, task.common)) {
			return fmt.Errorf("stored as %+v", rec)
		}
	}
	if err := m.checkProgress(task, stored); err != nil {
		return err
	}
	if note, has := j.notes[task.ref]; has != (task.stored() && task.note != "") || has && note != task.note {
		return fmt.Errorf("has the note %q: %v", note, has)
	}
	history := j.attempts[task.ref]
	if want := task.history; !task.stored() && len(history) > 0 || task.stored() && len(history) != len(want) || len(history) > int(2*m.cfg.historyPart) {
		return fmt.Errorf("has a history of %d attempts, want %d", len(history), len(want))
	}
	for n, attempt := range history {
		if text, kept := task.history[n]; !kept || attempt.Error != text {
			return fmt.Errorf("its attempt %d is stored as %+v", n, attempt)
		}
	}
	if len(history) > 0 {
		stored["attempts"]++
	}
	if due, has := j.due[dueEntry{task.ref, task.lane(), task.dueMs}]; has != (task.phase == returned) {
		return fmt.Errorf("has a due record: %v", has)
	} else if has {
		stored["due"]++
		extras := due.Extras
		due.Extras = nil
		if due != (Due{DueAtMs: task.dueMs, Attempts: task.attempts, MaxAttempts: task.maxAttempts, LeaseMs: task.leaseMs, Bytes: uint32(len(task.payload)), History: task.historyBytes(m.cfg.historyPart), NoteBytes: uint16(len(task.note)), PriorityShift: task.shift}) ||
			!sameExtras(extras, task.wantExtras()) {
			return fmt.Errorf("has due record %+v", due)
		}
	}
	if d, has := j.dead[task.ref]; has != (task.phase == dead) {
		return fmt.Errorf("has a dead record: %v", has)
	} else if has {
		stored["dead"]++
		if d != (Dead{DiedAtMs: task.diedMs, Reason: task.reason}) {
			return fmt.Errorf("has dead record %+v", d)
		}
	}
	if cursor := j.queues[task.ref.Queue].Cursors[task.ref.Priority]; task.phase == fresh && task.ref.Seq < cursor {
		return fmt.Errorf("is behind the cursor %d", cursor)
	}
	return m.checkExpiry(task, stored)
}

func (m *machine) checkProgress(task *modelTask, stored map[string]int) error {
	p, has := m.journal.progress[task.ref]
	if has != (task.settled && task.stored()) {
		return fmt.Errorf("has progress: %v", has)
	}
	if !has {
		return nil
	}
	stored["progress"]++
	want := Progress{DueAtMs: task.dueMs, Attempts: task.attempts, MaxAttempts: task.maxAttempts, ExpiresAtMs: task.dieByMs(), Token: task.token(), History: task.historyBytes(m.cfg.historyPart), NoteBytes: uint16(len(task.note)), PriorityShift: task.shift, Claims: task.claims}
	if task.phase == dead {
		want.ExpiresAtMs = 0
	}
	// A task that was never leased may have any token below its next one.
	if task.reason == TimeToLiveOver {
		want.Token = max(want.Token, p.Token)
	}
	if task.phase != leased && p != want || p.Token > m.state.lastToken() {
		return fmt.Errorf("has progress %+v, want %+v", p, want)
	}
	return nil
}

// checkExpiry checks that a task is in the index of times to live exactly while it may expire. A
// leased task that the sweep has visited expires when its lease ends.
func (m *machine) checkExpiry(task *modelTask, stored map[string]int) error {
	has := m.journal.expiries[expiryEntry{task.ref, task.extras.ExpiresAtMs}]
	may := task.dieByMs() != 0 && (task.waits() || task.phase == leased)
	must := may && (task.phase != leased || !task.overdue(m.now))
	if has && !may || !has && must {
		return fmt.Errorf("is in the index of times to live: %v", has)
	}
	if has {
		stored["expiries"]++
	}
	return nil
}

// checkLeases compares the leases that a recovery would find with the model's.
func (m *machine) checkLeases(t *rapid.T) {
	n := 0
	for _, l := range m.journal.recovered().Leases {
		live := 0
		for i, ref := range l.Refs {
			if ref.Attempt == 0 {
				continue
			}
			live++
			task := m.byRef[ref.Ref]
			if task.phase != leased || task.token() != Token(l.Batch, i) || task.expiresMs != ref.ExpiresAtMs || task.attempts+1 != ref.Attempt ||
				task.maxAttempts != ref.MaxAttempts || ref.HasProgress != task.settled || int(ref.NoteBytes) != len(task.note) || ref.PriorityShift != task.shift || !sameExtras(ref.Extras, task.wantExtras()) {
				t.Fatalf("lease %d has %+v of %+v", l.Batch, ref, *task)
			}
		}
		if live == 0 {
			t.Fatalf("lease %d is stored although all its tasks are settled", l.Batch)
		}
		n += live
	}
	for token := range m.journal.extended {
		if m.journal.leases[token>>batchBits] == nil {
			t.Fatalf("an extension of lease %d is stored without the lease", token>>batchBits)
		}
	}
	if claims := len(m.state.claimed); claims != len(m.journal.claimed) {
		t.Fatalf("%d times of claims are in memory, and %d are stored", claims, len(m.journal.claimed))
	}
	if held := len(m.leased()); n != held {
		t.Fatalf("%d leases are stored, want %d", n, held)
	}
}

// checkBuckets compares the stored keys and results and their buckets.
func (m *machine) checkBuckets(t *rapid.T) {
	j, s := m.journal, m.state
	bucket := func(until, width int64) int64 { return (until + width - 1) / width * width }
	var keys, results int
	for k, v := range m.keys {
		at := bucket(v.untilMs, max(1_000, int64(m.cfg.KeyWindowMs)/4))
		got, has := j.keys[keyEntry{at, k.queue, k.key}]
		if has != (at > m.now) || has && got != (KeyRef{v.ref, v.untilMs}) {
			t.Fatalf("key %q of queue %d, %+v, is stored as %+v, %v", k.key, k.queue, v, got, has)
		}
		if has {
			keys++
		}
	}
	// A key that was used again keeps its older record until that record's bucket ends.
	for k := range j.keys {
		if k.bucket <= m.now || !slices.Contains(s.keys.live, k.bucket) {
			t.Fatalf("key %q is in bucket %d; live buckets are %v", k.key, k.bucket, s.keys.live)
		}
	}
	for ref, r := range m.results {
		at := bucket(r.RetainedUntilMs, resultBucketMs)
		got, has := j.results[resultEntry{at, ref}]
		if has != (at > m.now) || has && (got.CompletedAtMs != r.CompletedAtMs || got.RetainedUntilMs != r.RetainedUntilMs || !bytes.Equal(got.Value, r.Value)) {
			t.Fatalf("the result of %v, %+v, is stored as %+v, %v", ref, r, got, has)
		}
		if has {
			results++
			if !slices.Contains(s.ResultBuckets(), at) {
				t.Fatalf("the result of %v is in bucket %d; live buckets are %v", ref, at, s.ResultBuckets())
			}
		}
	}
	if len(j.keys) < keys || len(j.results) != results {
		t.Fatalf("%d keys and %d results are stored, want %d, %d", len(j.keys), len(j.results), keys, results)
	}
	if len(s.keys.live) > 6 {
		t.Fatalf("a lookup of a key reads %d buckets", len(s.keys.live))
	}
}

func (m *machine) checkQueues(t *rapid.T) {
	if len(m.journal.queues) != len(m.order) || len(m.state.QueueIDs()) != len(m.order) {
		t.Fatalf("%d queues are stored, %d have figures, want %d", len(m.journal.queues), len(m.state.QueueIDs()), len(m.order))
	}
	if n := m.state.names.Len(); n != len(m.order) {
		t.Fatalf("%d queues are listed, want %d", n, len(m.order))
	}
	for _, q := range m.order {
		if ids, _ := m.state.List(QueueList{Tenant: q.tenant, Prefix: q.name, Limit: 1}); !slices.Equal(ids, []uint32{q.id}) {
			t.Fatalf("the list from queue %s of %s begins with %v, want %d", q.name, q.tenant, ids, q.id)
		}
		rec, want := m.journal.queues[q.id], q.counts()
		m.checkDue(t, q, &rec)
		rec.Due = nil
		if rec.Tenant != q.tenant || rec.Name != q.name || rec.NextSeq < q.nextSeq() || rec.NextSeq > max(q.nextSeq(), m.skipped.Seq) || rec.Counts != want ||
			rec.Policy != q.policy || rec.PolicyVersion != q.version || rec.Paused != q.paused {
			t.Fatalf("queue %s of %s is stored as %+v, want %+v with counts %+v", q.name, q.tenant, rec, q, want)
		}
		// Reading the figures fills windows. The test must also reach states in which the figures
		// were not read.
		if rapid.IntRange(0, 2).Draw(t, "figures") == 0 {
			m.checkStats(t, q, &want)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "changed figures") == 0 {
		m.checkChanged(t)
	}
}

// exact returns a queue's exact figures, for which it answers the necessary refills.
func (m *machine) exact(q *Queue) Stats {
	for !m.state.Refresh(q, m.now) {
		m.answerPending(func(r *pendingRefill) bool { return r.Stream != StreamExpired })
	}
	return m.state.Stats(q, m.now)
}

// checkChanged checks that the figures of queues that are not reported as changed are the same as
// before.
func (m *machine) checkChanged(t *rapid.T) {
	withoutRates := func(q *Queue) Stats {
		st := m.exact(q)
		st.EnqueuedPerS, st.CompletedPerS = 0, 0
		return st
	}
	for n := m.state.ChangedQueues(); n > 0; n-- {
		if q := m.state.TakeChanged(); q.Stored() {
			m.figures[q.ID()] = withoutRates(q)
		}
	}
	for _, q := range m.state.byID {
		if got, want := m.figures[q.ID()], withoutRates(q); got != want {
			t.Fatalf("the figures of an unchanged queue are %+v, and were %+v", want, got)
		}
	}
}

// checkDue checks the count of due tasks, in memory and in the record. It must be the number of
// tasks before its place, and the place must be after all due tasks unless the lane is behind.
func (m *machine) checkDue(t *rapid.T, q *modelQueue, rec *Record) {
	if (rec.Due != nil) != (rec.Counts.Returned > 0) {
		t.Fatalf("a queue with %d returned tasks is stored with the counts %v", rec.Counts.Returned, rec.Due)
	}
	before := func(n int, at returnedKey) (tasks uint64) {
		for _, k := range m.journal.dueKeys(laneOf{q.id, uint8(n)}) {
			if k.less(at) {
				tasks++
			}
		}
		return tasks
	}
	for n, l := range m.state.byID[q.id].lanes {
		if l == nil {
			continue
		}
		if got := before(n, l.counted); got != l.due {
			t.Fatalf("a lane counts %d due tasks before %+v, and has %d", l.due, l.counted, got)
		}
		if want := before(n, returnedKey{m.now + 1, 0}); !l.behind && l.due != want {
			t.Fatalf("a lane that is not behind counts %d due tasks, and has %d", l.due, want)
		}
		if l.behind && !l.listed && !l.reads(StreamDue) {
			t.Fatalf("a lane is behind, and no work is scheduled for it: %+v", l)
		}
		if rec.Due == nil {
			continue
		}
		if c := rec.Due[n]; before(n, returnedKey{c.BeforeMs, c.BeforeSeq}) != c.Tasks {
			t.Fatalf("a lane is stored with %+v", c)
		}
	}
}

func (m *machine) checkStats(t *rapid.T, q *modelQueue, want *Counts) {
	s := m.exact(m.state.byID[q.id])
	due := uint64(0)
	for _, task := range q.tasks {
		if task.phase == returned && task.dueMs <= m.now {
			due++
		}
	}
	if s.Tenant != q.tenant || s.Name != q.name || s.Enqueued != want.Enqueued || s.Completed != want.Completed || s.Removed != want.Removed ||
		s.Leased != want.Leased || s.Dead != want.Dead || s.Bytes != want.Bytes || s.Ready != want.Fresh+due || s.Delayed != want.Returned-due {
		t.Fatalf("queue %s of %s has figures %+v, want counts %+v, %d due", q.name, q.tenant, s, *want, due)
	}
	if s.Policy != q.policy || s.PolicyVersion != q.version || s.Paused != q.paused {
		t.Fatalf("queue %s of %s has figures %+v, want %+v", q.name, q.tenant, s, *q)
	}
	since := s.ReadySinceMs
	if want := q.readySinceMs(m.now); since != want {
		t.Fatalf("queue %s of %s has had a ready task since %d, want %d; figures %+v", q.name, q.tenant, since, want, s)
	}
}

func (m *machine) checkAccounts(t *rapid.T) {
	for tenant, a := range m.accounts {
		if want := m.held(tenant); a.tasks != want.tasks || a.bytes != want.bytes || a.leases != want.leases {
			t.Fatalf("the account of %s holds %+v, want %+v", tenant, *a, *want)
		}
	}
}

func (m *machine) checkEnded(t *rapid.T) {
	inOrder := func(a, b Ended) int {
		return cmp.Or(cmp.Compare(a.Ref.Queue, b.Ref.Queue), cmp.Compare(a.Ref.Seq, b.Ref.Seq))
	}
	got, want := m.state.Ended(), m.ended
	slices.SortStableFunc(got, inOrder)
	slices.SortStableFunc(want, inOrder)
	if !slices.Equal(got, want) {
		t.Fatalf("Ended returned %+v; want %+v", got, want)
	}
	m.ended = nil
	maps.DeleteFunc(m.watched, func(_ Ref, n int) bool { return n == 0 })
	if len(m.state.watched) != len(m.watched) {
		t.Fatalf("%d tasks are watched, want %d", len(m.state.watched), len(m.watched))
	}
}

// checkWindows compares the contents of the windows with the state's counters and bounds.
func (m *machine) checkWindows(t *rapid.T) {
	tasks, back, lanes, cached := 0, 0, 0, int64(0)
	for _, q := range m.state.byID {
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
				f := l.fresh.at(i)
				if f.cached {
					cached += int64(len(f.task.Payload))
				} else if f.task.Payload != nil {
					t.Fatalf("a payload of %d bytes is in memory but not counted", len(f.task.Payload))
				}
				if task := m.byRef[l.ref(f.seq)]; f.gone == (task.phase == fresh) {
					t.Fatalf("%+v is in the window, gone %v", *task, f.gone)
				}
			}
		}
	}
	if s := m.state; tasks != s.windowsTasks || back != s.returnedTasks || cached != s.cacheBytes || cached > m.cfg.CacheBytesMax {
		t.Fatalf("windows have %d fresh, %d returned tasks and %d bytes; counted: %d, %d, %d",
			tasks, back, cached, s.windowsTasks, s.returnedTasks, s.cacheBytes)
	}
	if most := m.cfg.WindowsTasks + lanes*m.cfg.windowFloor(); max(tasks, back) > most {
		t.Fatalf("the windows of %d lanes have %d fresh, %d returned tasks; at most %d are allowed", lanes, tasks, back, most)
	}
}
