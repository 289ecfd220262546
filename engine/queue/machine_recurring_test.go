package queue

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"

	"pgregory.net/rapid"
)

// modelRecurring is a recurring task in the model.
type modelRecurring struct {
	queue *modelQueue
	name  string
	spec  RecurringSpec
	want  RecurringProgress
	last  *modelTask // nil before the first run
	// without is the number of due times that were not missed and did not become tasks.
	without uint64
}

func (r *modelRecurring) unfinished() bool {
	return r.last != nil && r.last.stored() && r.last.phase != dead
}

func (m *machine) recurs(q *modelQueue) bool {
	return slices.ContainsFunc(m.recurring, func(r *modelRecurring) bool { return r.queue == q })
}

func (m *machine) recurringOf(tenant string) (n int, bytes int64) {
	for _, r := range m.recurring {
		if r.queue.tenant == tenant {
			n++
		}
		bytes += r.spec.bytes(r.name)
	}
	return n, bytes
}

func drawRecurring(t *rapid.T) RecurringSpec {
	s := RecurringSpec{
		Missed:  rapid.SampledFrom([]Missed{MissedOnce, MissedSkip, MissedAll}).Draw(t, "missed"),
		Overlap: rapid.SampledFrom([]Overlap{OverlapAllow, OverlapSkip}).Draw(t, "overlap"),
		Template: Template{
			Priority: drawPrio.Draw(t, "priority"), MaxAttempts: rapid.Uint32Range(0, 3).Draw(t, "attempts"),
			LeaseMs: rapid.SampledFrom([]uint64{0, 15}).Draw(t, "lease"), TTLMs: rapid.SampledFrom([]uint64{0, 0, 0, 0, 90}).Draw(t, "ttl"),
			Payload: rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "payload"),
		},
	}
	if s.Missed == MissedAll {
		s.MissedMax = rapid.Uint32Range(1, 3).Draw(t, "missed max")
	}
	if rapid.Bool().Draw(t, "cron") {
		s.Schedule.Cron = rapid.SampledFrom([]string{"* * * * *", "*/2 * * * *"}).Draw(t, "expression")
	} else {
		s.Schedule.EveryMs = rapid.SampledFrom([]uint64{1_000, 1_000, 2_500}).Draw(t, "interval")
	}
	s.Schedule.JitterMs = rapid.SampledFrom([]uint64{0, 0, 400, 5_000}).Draw(t, "jitter")
	if rapid.Bool().Draw(t, "header") {
		s.Template.Headers = map[string]string{KindHeader: "k"}
	}
	return s
}

func (m *machine) setRecurring(t *rapid.T) {
	tenant, name := drawTenant.Draw(t, "tenant"), rapid.SampledFrom([]string{"r0", "r1"}).Draw(t, "name")
	queueName, spec := drawQueue.Draw(t, "queue"), drawRecurring(t)
	if some := m.ofTenant(tenant); len(some) > 0 && rapid.Bool().Draw(t, "again") {
		r := rapid.SampledFrom(some).Draw(t, "which recurring")
		queueName, name = r.queue.name, r.name
		if rapid.Bool().Draw(t, "same schedule") {
			spec.Schedule = r.spec.Schedule
		}
	}
	held := m.held(tenant)
	err := m.state.SetRecurring(tenant, queueName, name, spec)
	q, refused := m.queue(held, tenant, queueName)
	if refused != nil {
		requireRefused(t, refused, err)
		return
	}
	r := m.findRecurring(q, name)
	more := spec.bytes(name)
	if r != nil {
		more -= r.spec.bytes(name)
	}
	n, bytes := m.recurringOf(tenant)
	var quota *QuotaError
	switch {
	case r == nil && n >= m.cfg.RecurringPerTenant, more > 0 && bytes+more > m.cfg.RecurringBytesMax:
		if !errors.Is(err, ErrTooManyRecurring) {
			t.Fatalf("set: %v", err)
		}
		return
	case more > 0 && !m.accounts[tenant].has(more, held.bytes):
		if !errors.As(err, &quota) {
			t.Fatalf("set: %v", err)
		}
		return
	case err != nil:
		t.Fatalf("set: %v", err)
	}
	if r == nil {
		r = &modelRecurring{queue: q, name: name}
		m.recurring = append(m.recurring, r)
	}
	was := r.spec.Schedule
	was.JitterMs = spec.Schedule.JitterMs
	if was != spec.Schedule {
		r.want.AfterMs = m.now
	}
	r.spec = spec
	m.sweep() // with less jitter, a run may start now
	m.ran(t)
}

func (m *machine) ofTenant(tenant string) (some []*modelRecurring) {
	for _, r := range m.recurring {
		if r.queue.tenant == tenant {
			some = append(some, r)
		}
	}
	return some
}

func (m *machine) findRecurring(q *modelQueue, name string) *modelRecurring {
	for _, r := range m.recurring {
		if r.queue == q && r.name == name {
			return r
		}
	}
	return nil
}

func (m *machine) drawRecurring(t *rapid.T) *modelRecurring {
	if len(m.recurring) == 0 {
		return nil
	}
	return rapid.SampledFrom(m.recurring).Draw(t, "recurring")
}

func (m *machine) pauseRecurring(t *rapid.T) {
	r := m.drawRecurring(t)
	if r == nil {
		return
	}
	paused := rapid.Bool().Draw(t, "paused")
	if !m.state.PauseRecurring(m.state.byID[r.queue.id], r.name, paused) {
		t.Fatalf("pause: not found")
	}
	if r.want.Paused != paused {
		r.want.Paused, r.want.AfterMs = paused, m.now
	}
}

func (m *machine) runRecurring(t *rapid.T) {
	r := m.drawRecurring(t)
	if r == nil {
		return
	}
	got, found := m.state.RunRecurring(m.state.byID[r.queue.id], r.name)
	if !found {
		t.Fatalf("run: not found")
	}
	if got.Err != nil {
		m.mayRefuse(t, r, 0)
		return
	}
	m.addRun(t, r, got.Ref, 0)
	r.want.Runs++
}

func (m *machine) deleteRecurring(t *rapid.T) {
	r := m.drawRecurring(t)
	if r == nil {
		return
	}
	q := m.state.byID[r.queue.id]
	if rapid.Bool().Draw(t, "all of the queue") {
		want := 0
		for _, other := range slices.Clone(m.recurring) {
			if other.queue == r.queue {
				want++
				m.forgetRecurring(other)
			}
		}
		if n := m.state.DeleteRecurringOf(q, 5); n != want {
			t.Fatalf("%d recurring tasks were deleted, want %d", n, want)
		}
		return
	}
	if !m.state.DeleteRecurring(q, r.name) || m.state.DeleteRecurring(q, r.name) {
		t.Fatalf("a recurring task is not deleted once")
	}
	m.forgetRecurring(r)
}

func (m *machine) forgetRecurring(r *modelRecurring) {
	m.recurring = slices.DeleteFunc(m.recurring, func(o *modelRecurring) bool { return o == r })
}

// mayRefuse fails unless the tenant has a quota that can refuse a task.
func (m *machine) mayRefuse(t *rapid.T, r *modelRecurring, dueMs int64) {
	if a := m.accounts[r.queue.tenant]; a.bytesMax == 0 && a.tasksMax == math.MaxInt64 {
		t.Fatalf("the run of %q for %d was refused although its tenant has no quota", r.name, dueMs)
	}
}

// addRun adds the task of a run to the model. Its other fields are compared by check.
func (m *machine) addRun(t *rapid.T, r *modelRecurring, ref Ref, dueMs int64) {
	n := NewTask{Queue: r.queue.name, Priority: r.spec.Template.Priority, Payload: r.spec.Template.Payload, MaxAttempts: r.spec.Template.MaxAttempts, LeaseMs: r.spec.Template.LeaseMs, TTLMs: r.spec.Template.TTLMs}
	headers := map[string]string{"recurring": r.name}
	maps.Copy(headers, r.spec.Template.Headers)
	if dueMs != 0 {
		headers["recurring-due-ms"] = strconv.FormatInt(dueMs, 10)
	}
	n.AddHeaders(headers)
	if want := (Ref{Queue: r.queue.id, Priority: n.Priority, Seq: max(r.queue.nextSeq(), m.skipped.Seq)}); ref != want {
		t.Fatalf("a run of %q has the ref %v, want %v", r.name, ref, want)
	}
	m.add(r.queue, &n, ref)
	r.last, r.want.Last = m.byRef[ref], ref
}

// ran adds the tasks to the model that the recurring tasks have enqueued since the last Tick. It
// requires one task for each due time that the policies select, unless the last task is unfinished
// or a quota may have refused the task.
func (m *machine) ran(t *rapid.T) {
	type run struct {
		queue uint32
		name  string
		dueMs int64
	}
	var refs []Ref
	for ref := range m.journal.tasks {
		if m.byRef[ref] == nil {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b Ref) int { return cmp.Compare(a.Seq, b.Seq) })
	expected := map[run]*modelRecurring{}
	for _, r := range m.recurring {
		for _, due := range m.select1(r) {
			expected[run{r.queue.id, r.name, due}] = r
		}
	}
	for _, ref := range refs {
		task := m.journal.tasks[ref]
		headers, _ := task.Split()
		due, err := strconv.ParseInt(headers.Get("recurring-due-ms"), 10, 64)
		key := run{ref.Queue, headers.Get("recurring"), due}
		r := expected[key]
		if err != nil || r == nil {
			t.Fatalf("task %v of %q for %d is not due, or was enqueued twice", ref, key.name, due)
		}
		delete(expected, key)
		if r.spec.Overlap == OverlapSkip && r.unfinished() {
			t.Fatalf("task %v of %q overlaps with %v", ref, r.name, r.last.ref)
		}
		m.addRun(t, r, ref, due)
		r.want.Runs++
	}
	for key, r := range expected {
		r.without++
		// The last task may have died in this Tick after the run was due.
		if r.spec.Overlap != OverlapSkip || !r.unfinished() && (r.last == nil || r.last.diedMs != m.now) {
			m.mayRefuse(t, r, key.dueMs)
		}
	}
}

// select1 settles the due times of a recurring task until now, and returns those that the policy
// for missed due times selects.
func (m *machine) select1(r *modelRecurring) (selected []int64) {
	if r.want.Paused {
		return nil
	}
	s, _ := r.spec.Schedule.Parse()
	var all []int64
	for due := s.Next(r.want.AfterMs); s.StartMs(r.name, due) <= m.now; due = s.Next(due) {
		all = append(all, due)
	}
	if len(all) == 0 {
		return nil
	}
	r.want.AfterMs = all[len(all)-1]
	selected = all[max(0, len(all)-max(1, int(r.spec.MissedMax))):]
	if r.spec.Missed == MissedSkip && m.now-s.StartMs(r.name, selected[0]) >= 60_000 {
		selected = nil
	}
	r.want.Missed += uint64(len(all) - len(selected))
	return selected
}

func (m *machine) checkRecurring(t *rapid.T) {
	if got := len(m.journal.recurring); got != len(m.recurring) {
		t.Fatalf("%d recurring tasks are stored, want %d", got, len(m.recurring))
	}
	for _, r := range m.recurring {
		got := m.journal.recurring[recurringEntry{r.queue.id, r.name}]
		if without := got.Progress.Overlapped + got.Progress.Refused; without != r.without {
			t.Fatalf("recurring task %q counts %d due times without a task, want %d", r.name, without, r.without)
		}
		got.Progress.Overlapped, got.Progress.Refused = 0, 0
		if want := (Recurring{Queue: r.queue.id, Name: r.name, Spec: r.spec, Progress: r.want}); !reflect.DeepEqual(got, want) {
			t.Fatalf("recurring task %q is stored as %+v, want %+v", r.name, got, want)
		}
		view, found := m.state.Recurring(m.state.byID[r.queue.id], r.name)
		if !found || view.Unfinished != r.unfinished() {
			t.Fatalf("recurring task %q: found %v, its last task is unfinished: %v", r.name, found, view.Unfinished)
		}
		s, _ := r.spec.Schedule.Parse()
		if start := s.StartMs(r.name, s.Next(r.want.AfterMs)); !r.want.Paused && m.state.NextDeadlineMs() > start {
			t.Fatalf("recurring task %q starts at %d; the next deadline is %d", r.name, start, m.state.NextDeadlineMs())
		}
	}
}
