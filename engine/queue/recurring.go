package queue

import (
	"fmt"
	"strconv"

	"github.com/pronybench/prony/engine/schedule"
)

// Missed determines which missed due times of a recurring task become tasks. A due time is missed
// if its run did not start before the run of the next due time was to start, because no server was
// running or the shard had no leader.
type Missed uint8

// The policies for missed due times.
const (
	// MissedOnce runs the last due time only, however late.
	MissedOnce Missed = iota
	// MissedSkip runs the last due time only, and only if it is less than lateMs late.
	MissedSkip
	// MissedAll runs the last RecurringSpec.MissedMax due times.
	MissedAll
)

// lateMs is how late, in milliseconds, MissedSkip still starts a run, exclusive.
const lateMs = 60_000

// Overlap determines what happens at a due time if the last task of the recurring task is neither
// done nor dead.
type Overlap uint8

// The policies for overlapping runs.
const (
	OverlapAllow Overlap = iota
	OverlapSkip
)

// Template contains the options of the tasks that a recurring task enqueues. A field that is zero
// selects the value of the queue, as in NewTask.
type Template struct {
	Priority    uint8
	MaxAttempts uint32
	LeaseMs     uint64
	TTLMs       uint64
	RetentionMs uint64
	Headers     map[string]string // nil if there are none
	Payload     []byte
}

// RecurringSpec is the part of a recurring task that a client sets.
type RecurringSpec struct {
	Schedule  schedule.Spec
	Missed    Missed
	MissedMax uint32 // 0 unless Missed is MissedAll
	Overlap   Overlap
	Template  Template
}

// RecurringProgress is the part of a recurring task that changes with its runs.
type RecurringProgress struct {
	AfterMs int64 // the due times up to this time are settled: they ran, or never will
	Last    Ref   // the last task, if Runs is not 0
	Paused  bool
	Runs    uint64 // number of enqueued tasks
	Missed  uint64 // number of due times that were missed and did not become tasks
	// Overlapped is the number of due times without a task because of OverlapSkip.
	Overlapped uint64
	// Refused is the number of due times without a task because a quota or the disk's free space
	// did not allow it.
	Refused uint64
}

// Recurring is a recurring task: it enqueues a task of its queue at each due time of a schedule.
// Its name is unique in its queue.
type Recurring struct {
	Queue    uint32
	Name     string
	Spec     RecurringSpec
	Progress RecurringProgress
}

// RecoveredRecurring is a stored recurring task. Unfinished is true if its last task is stored and
// not dead.
type RecoveredRecurring struct {
	Recurring
	Unfinished bool
}

// RecurringView describes a recurring task at one moment. Its spec must not be changed.
type RecurringView struct {
	Recurring
	Tenant     string
	QueueName  string
	Unfinished bool // the last task is neither done nor dead

	schedule *schedule.Schedule
	fromMs   int64
}

// Next returns the next n due times, without jitter, or fewer if the schedule ends before. A paused
// task has none.
func (v *RecurringView) Next(n int) (due []int64) {
	if v.Progress.Paused {
		return nil
	}
	for at := v.fromMs; len(due) < n; {
		if at = v.schedule.Next(at); at == schedule.Never {
			break
		}
		due = append(due, at)
	}
	return due
}

// The headers that the state adds to the tasks of a recurring task.
const (
	// RecurringHeader contains the name of the recurring task.
	RecurringHeader = "recurring"
	// RecurringDueHeader contains the due time in Unix milliseconds. A task that was enqueued on
	// request does not have it.
	RecurringDueHeader = "recurring-due-ms"
)

const (
	// recurringPayloadMax limits the payload of a template, because memory holds all templates.
	recurringPayloadMax = 64 << 10
	recurringMissedMax  = 1_000
)

// CheckRecurring checks the spec of a recurring task. priority, missed and overlap are separate
// arguments, because their types can represent invalid values.
func (l *Limits) CheckRecurring(name string, s *RecurringSpec, priority uint32) *FieldError {
	if err := CheckName("name", name); err != nil {
		return err
	}
	if _, err := s.Schedule.Parse(); err != nil {
		return &FieldError{err.Field, err.Problem}
	}
	t := &s.Template
	switch {
	case s.Missed == MissedAll && (s.MissedMax < 1 || s.MissedMax > recurringMissedMax):
		return Outside("missed_max", s.MissedMax, 1, recurringMissedMax)
	case s.Missed != MissedAll && s.MissedMax != 0:
		return &FieldError{"missed_max", "is set, but missed is not ALL: set both, or none"}
	case len(t.Payload) > recurringPayloadMax:
		return &FieldError{"task.payload", fmt.Sprintf("has %d bytes: use at most %d", len(t.Payload), recurringPayloadMax)}
	}
	for _, header := range []string{RecurringHeader, RecurringDueHeader} {
		if _, set := t.Headers[header]; set {
			return &FieldError{"task.headers", fmt.Sprintf("has the key %q, which the server sets: use another", header)}
		}
	}
	if err := CheckHeaders(t.headers(name, schedule.Never)); err != nil {
		return &FieldError{"task." + err.Field, err.Problem}
	}
	// The queue has been checked, and no recurring task has a delay.
	if err := l.CheckTask(0, &NewTask{Queue: name, Payload: t.Payload, MaxAttempts: t.MaxAttempts, LeaseMs: t.LeaseMs, TTLMs: t.TTLMs, RetentionMs: t.RetentionMs}, priority); err != nil {
		return &FieldError{"task." + err.Field, err.Problem}
	}
	return nil
}

// headers returns the headers of the task for a due time, or of a task without one if dueMs is 0.
func (t *Template) headers(name string, dueMs int64) map[string]string {
	headers := make(map[string]string, len(t.Headers)+2)
	for key, value := range t.Headers {
		headers[key] = value
	}
	headers[RecurringHeader] = name
	if dueMs != 0 {
		headers[RecurringDueHeader] = strconv.FormatInt(dueMs, 10)
	}
	return headers
}

// task returns the task for a due time, or a task without one if dueMs is 0.
func (t *Template) task(queue, name string, dueMs int64) *NewTask {
	n := &NewTask{
		Queue: queue, Priority: t.Priority, Payload: t.Payload,
		MaxAttempts: t.MaxAttempts, LeaseMs: t.LeaseMs, TTLMs: t.TTLMs, RetentionMs: t.RetentionMs,
	}
	n.AddHeaders(t.headers(name, dueMs))
	return n
}

// keep returns the number of due times that become tasks if more have passed.
func (s *RecurringSpec) keep() int {
	if s.Missed == MissedAll {
		return int(s.MissedMax)
	}
	return 1
}

// bytes returns the charge of a recurring task.
func (s *RecurringSpec) bytes(name string) int64 {
	n := recurringRecordBytes + len(name) + len(s.Schedule.Cron) + len(s.Schedule.Zone) + len(s.Template.Payload)
	return int64(n + HeadersBytes(s.Template.Headers))
}
