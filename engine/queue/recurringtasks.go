package queue

import (
	"cmp"
	"fmt"

	"github.com/google/btree"

	"github.com/pronybench/prony/engine/schedule"
)

// recurringTask is a recurring task in memory.
type recurringTask struct {
	Recurring
	queue      *Queue
	schedule   *schedule.Schedule
	backlog    schedule.Backlog
	unfinished bool  // the last task is neither done nor dead
	startMs    int64 // when the next run starts; deadline in recurring.due
	index      int   // place in recurring.due; -1 while paused
}

func (r *recurringTask) deadlineMs() int64 { return r.startMs }
func (r *recurringTask) place() *int       { return &r.index }

func (r *recurringTask) less(other *recurringTask) bool {
	a, b := &r.queue.record, &other.queue.record
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name), cmp.Compare(r.Name, other.Name)) < 0
}

// recurring contains the recurring tasks of a shard.
type recurring struct {
	byName    *btree.BTreeG[*recurringTask] // by tenant, queue and name
	due       deadlines[*recurringTask]     // those that are not paused
	perTenant map[string]int
	bytes     int64 // charges of all recurring tasks
}

func newRecurring() recurring {
	return recurring{byName: btree.NewG(8, (*recurringTask).less), perTenant: map[string]int{}}
}

// find returns a recurring task, or nil. q may be nil.
func (rs *recurring) find(q *Queue, name string) *recurringTask {
	if q == nil {
		return nil
	}
	r, _ := rs.byName.Get(&recurringTask{Recurring: Recurring{Name: name}, queue: q})
	return r
}

// ofQueue returns the recurring tasks of a queue.
func (rs *recurring) ofQueue(q *Queue) (all []*recurringTask) {
	if rs.byName.Len() == 0 {
		return nil
	}
	rs.byName.AscendGreaterOrEqual(&recurringTask{queue: q}, func(r *recurringTask) bool {
		if r.queue == q {
			all = append(all, r)
		}
		return r.queue == q
	})
	return all
}

// SetRecurring creates a recurring task, or replaces its spec. It creates the queue if it does not
// exist. A new schedule is first due after now. Otherwise the due times, the counters and the pause
// stay as they were. spec must have passed Limits.CheckRecurring; the state retains its payload and
// headers. The error is ErrTooManyQueues, ErrTooManyRecurring or a *QuotaError.
func (s *State) SetRecurring(tenant, queue, name string, spec RecurringSpec) error {
	parsed, bad := spec.Schedule.Parse()
	if bad != nil {
		return &FieldError{bad.Field, bad.Problem}
	}
	q, err := s.queue(tenant, queue)
	if err != nil {
		return err
	}
	r := s.recurring.find(q, name)
	before := int64(0)
	if r != nil {
		before = r.Spec.bytes(name)
	}
	more := spec.bytes(name) - before
	switch n := s.recurring.perTenant[tenant]; {
	case r == nil && n >= s.cfg.RecurringPerTenant:
		return fmt.Errorf("%w: tenant %q has %d in the shard", ErrTooManyRecurring, tenant, n)
	case more > 0 && s.recurring.bytes+more > s.cfg.RecurringBytesMax:
		return fmt.Errorf("%w: those of the shard have %d bytes", ErrTooManyRecurring, s.recurring.bytes)
	case more > 0:
		if err := s.charge(q.account, more); err != nil {
			return err
		}
	default:
		s.free(q).bytes -= more
	}
	s.recurring.bytes += more
	if r == nil {
		r = &recurringTask{Recurring: Recurring{Queue: q.record.ID, Name: name}, queue: q, index: -1}
		s.addRecurring(r)
	}
	same := r.schedule != nil && r.Spec.Schedule.Cron == spec.Schedule.Cron &&
		r.Spec.Schedule.EveryMs == spec.Schedule.EveryMs && r.Spec.Schedule.Zone == spec.Schedule.Zone
	r.Spec, r.schedule = spec, parsed
	if !same {
		r.skipTo(s.nowMs)
	}
	s.touch(q)
	s.journal.PutRecurring(q.record.ID, name, &r.Spec)
	s.saveRecurring(r)
	return nil
}

func (s *State) addRecurring(r *recurringTask) {
	s.recurring.byName.ReplaceOrInsert(r)
	s.recurring.perTenant[r.queue.record.Tenant]++
}

// skipTo settles the due times up to a time. It does not go back: the clock of an earlier leader
// may have been ahead.
func (r *recurringTask) skipTo(nowMs int64) {
	r.Progress.AfterMs = max(r.Progress.AfterMs, nowMs)
	r.backlog = schedule.Backlog{AfterMs: r.Progress.AfterMs}
}

// saveRecurring writes the progress of a recurring task to the journal, and schedules its next run.
func (s *State) saveRecurring(r *recurringTask) {
	s.journal.PutRecurringProgress(r.Queue, r.Name, &r.Progress)
	s.scheduleRecurring(r)
}

func (s *State) scheduleRecurring(r *recurringTask) {
	if r.Progress.Paused {
		s.recurring.due.remove(r)
		return
	}
	r.startMs = s.nowMs
	if len(r.backlog.Times) == 0 {
		r.startMs = r.schedule.StartMs(r.Name, r.schedule.Next(r.backlog.AfterMs))
	}
	s.recurring.due.set(r)
}

// PauseRecurring stops (true) or resumes (false) the runs of a recurring task. Due times during the
// pause are neither run nor missed. It returns false if there is no such task.
func (s *State) PauseRecurring(q *Queue, name string, paused bool) bool {
	r := s.recurring.find(q, name)
	if r != nil && r.Progress.Paused != paused {
		r.Progress.Paused = paused
		r.skipTo(s.nowMs)
		s.saveRecurring(r)
	}
	return r != nil
}

// DeleteRecurring removes a recurring task. Tasks that it enqueued stay. It returns false if there
// is no such task.
func (s *State) DeleteRecurring(q *Queue, name string) bool {
	r := s.recurring.find(q, name)
	if r != nil {
		s.dropRecurring(r)
	}
	return r != nil
}

func (s *State) dropRecurring(r *recurringTask) {
	rs, tenant := &s.recurring, r.queue.record.Tenant
	rs.byName.Delete(r)
	rs.due.remove(r)
	if rs.perTenant[tenant]--; rs.perTenant[tenant] == 0 {
		delete(rs.perTenant, tenant)
	}
	s.forgetRun(r)
	bytes := r.Spec.bytes(r.Name)
	rs.bytes -= bytes
	s.free(r.queue).bytes += bytes
	s.touch(r.queue)
	s.journal.DropRecurring(r.Queue, r.Name)
}

// DeleteRecurringOf removes up to n recurring tasks of a queue. It returns the number of removed
// tasks; if it is n, there may be more.
func (s *State) DeleteRecurringOf(q *Queue, n int) (removed int) {
	all := s.recurring.ofQueue(q)
	all = all[:min(n, len(all))]
	for _, r := range all {
		s.dropRecurring(r)
	}
	s.worked += len(all)
	return len(all)
}

// Recurring returns a recurring task.
func (s *State) Recurring(q *Queue, name string) (v RecurringView, found bool) {
	if r := s.recurring.find(q, name); r != nil {
		return r.view(), true
	}
	return v, false
}

// ListRecurring returns up to n recurring tasks in the order of queue and name, starting after
// those names. It returns those of a tenant, of one queue only if queue is not empty.
func (s *State) ListRecurring(tenant, queue, afterQueue, afterName string, n int) (out []RecurringView) {
	from := &recurringTask{queue: &Queue{record: Record{Tenant: tenant, Name: max(queue, afterQueue)}}}
	if from.queue.record.Name == afterQueue {
		from.Name = afterName
	}
	s.recurring.byName.AscendGreaterOrEqual(from, func(r *recurringTask) bool {
		of := &r.queue.record
		if len(out) == n || of.Tenant != tenant || queue != "" && of.Name != queue {
			return false
		}
		if of.Name != afterQueue || r.Name != afterName {
			out = append(out, r.view())
		}
		return true
	})
	s.worked += len(out)
	return out
}

func (r *recurringTask) view() RecurringView {
	return RecurringView{
		Recurring: r.Recurring, Tenant: r.queue.record.Tenant, QueueName: r.queue.record.Name, Unfinished: r.unfinished,
		schedule: r.schedule, fromMs: r.backlog.AfterMs,
	}
}

// recoverRecurring adds a stored recurring task. If its queue is not stored, because an older
// program deleted the queue, it removes the task.
func (s *State) recoverRecurring(from *RecoveredRecurring) error {
	q := s.byID[from.Queue]
	if q == nil {
		s.journal.DropRecurring(from.Queue, from.Name)
		return nil
	}
	parsed, bad := from.Spec.Schedule.Parse()
	if bad != nil {
		return fmt.Errorf("recurring task %q of queue %q of tenant %q: %w", from.Name, q.record.Name, q.record.Tenant, bad)
	}
	r := &recurringTask{
		Recurring: from.Recurring, queue: q, schedule: parsed, unfinished: from.Unfinished, index: -1,
		backlog: schedule.Backlog{AfterMs: from.Progress.AfterMs},
	}
	s.addRecurring(r)
	s.recurring.bytes += r.Spec.bytes(r.Name)
	if r.Progress.Runs > 0 {
		s.runs[r.Progress.Last] = r
	}
	s.scheduleRecurring(r)
	return nil
}
