package client

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pronybench/prony/engine/queuepb"
)

// Task is a task to enqueue.
type Task struct {
	Queue       string
	Priority    uint32 // 0 to 9; 9 is the most urgent
	Payload     []byte // must not be changed until the call has returned
	Delay       time.Duration
	NotBefore   time.Time     // when the task becomes ready; zero means now; excludes Delay
	MaxAttempts uint32        // here and below, 0 means the queue's policy or the server's default
	Lease       time.Duration // lease duration for claims that do not set one
	TTL         time.Duration // time to live, starting at the enqueue
	Backoff     Backoff       // pauses before further attempts
	// ResultRetention is how long the server retains the task's result for AwaitResult, from the
	// completion on.
	ResultRetention time.Duration
	// Key is an idempotency key of at most 128 bytes. If another task with the same key is enqueued
	// in the same queue, within the window of the queue or the server, it is not stored, and the call
	// returns the id of the first task. Cancelling or purging the first task, or deleting the queue,
	// frees the key.
	Key string
	// Unique, if not nil, changes how long the task holds its Key, and what a further enqueue with
	// the Key gets.
	Unique *Unique
	// Headers are delivered with the task. There are at most 32, with at most 4 KiB together; keys
	// consist of a-z, 0-9 and "-_.". Tasks can be listed by the value of the key "kind". The key
	// "group" names the task's group, whose leases the queue may limit. The map must not be changed
	// until the call has returned.
	Headers map[string]string
	// After has the ids of the tasks that must finish before this one becomes ready: at most 100 tasks
	// of the same tenant, in any queues. A task that no longer exists counts as done, because it
	// usually finished before this enqueue.
	After []string
	// BatchSize makes the task the final task of a batch: so many members must finish before it becomes
	// ready, at most 100,000. The members are enqueued afterwards with the task's id as their Batch; see
	// Producer.EnqueueWithFinal.
	BatchSize uint32
	Batch     string // the id of the final task of the batch that this task is a member of
	// DeadDependency is what happens to this task when a task that it waits for dies, or is cancelled
	// or purged.
	DeadDependency DeadDependency
}

// DeadDependency is what happens to a waiting task when a task that it waits for dies, or is cancelled
// or purged.
type DeadDependency int

// What can happen to the waiting task.
const (
	// KeepWaiting lets the task wait until the dead task is redriven and finishes, or the waiting task
	// is rescheduled.
	KeepWaiting DeadDependency = iota
	// RunAnyway counts the dead task as finished.
	RunAnyway
	// DieToo makes the waiting task a dead letter.
	DieToo
)

func (d DeadDependency) message() queuepb.DeadDependency {
	if d == KeepWaiting { // the server's default
		return queuepb.DeadDependency_DEAD_DEPENDENCY_UNSPECIFIED
	}
	return queuepb.DeadDependency(d + 1)
}

// Unique makes the key of a task unique in its queue for a scope.
type Unique struct {
	Scope UniqueScope
	// Window is how long the key is held with ForATime: at most 30 days. 0 means the window of the
	// queue or the server.
	Window   time.Duration
	Conflict UniqueConflict // of this enqueue with an earlier task
}

// UniqueScope is how long a task holds its key.
type UniqueScope int

// The scopes. With all of them, cancelling or purging the task frees the key.
const (
	// ForATime holds the key until the window has passed since the enqueue, even if the task is done
	// or dead before.
	ForATime UniqueScope = iota
	// UntilStarted holds the key until the task is leased for the first time, or is dead.
	UntilStarted
	// UntilFinished holds the key until the task is done or dead.
	UntilFinished
)

// UniqueConflict is what an enqueue gets if another task holds the key.
type UniqueConflict int

// The conflicts.
const (
	// ReturnFirst stores nothing, and returns the id of the other task.
	ReturnFirst UniqueConflict = iota
	// ReplaceWaiting cancels the other task if it was enqueued with Unique, was never leased and is
	// not dead, and stores the new task. Otherwise the enqueue fails with ErrKeyTaken.
	ReplaceWaiting
	// RefuseSecond makes the enqueue fail with ErrKeyTaken.
	RefuseSecond
)

func (u *Unique) message() *queuepb.Unique {
	if u == nil {
		return nil
	}
	return &queuepb.Unique{
		Scope: queuepb.UniqueScope(u.Scope + 1), WindowMs: uint64(u.Window.Milliseconds()), Conflict: queuepb.UniqueConflict(u.Conflict + 1),
	}
}

// repeatable reports whether the task may be enqueued again after a try whose outcome is unknown: the
// server then stores it once, and the second try succeeds.
func (t *Task) repeatable() bool {
	return t.Key != "" && (t.Unique == nil || t.Unique.Scope == ForATime && t.Unique.Conflict == ReturnFirst)
}

// Backoff determines how long a task waits after a failed attempt. A field that is 0 means the
// queue's policy or the server's default.
type Backoff struct {
	Initial           time.Duration // the wait after the first attempt
	Max               time.Duration
	MultiplierPercent uint32 // each wait in percent of the previous one, 100 to 1,000
	JitterPercent     uint32 // maximum random reduction of a wait in percent, 1 to 100
}

func (t *Task) fill(m *queuepb.NewTask) {
	m.Queue, m.Priority, m.Payload, m.DelayMs = sendable(t.Queue), t.Priority, t.Payload, uint64(t.Delay.Milliseconds())
	m.MaxAttempts, m.LeaseMs = t.MaxAttempts, uint64(t.Lease.Milliseconds())
	m.TtlMs, m.ResultRetentionMs = uint64(t.TTL.Milliseconds()), uint64(t.ResultRetention.Milliseconds())
	m.IdempotencyKey, m.Headers = sendable(t.Key), sendableHeaders(t.Headers)
	m.NotBeforeMs, m.Backoff, m.Unique = 0, nil, t.Unique.message()
	m.After, m.BatchSize, m.Batch, m.DeadDependency = sendableAll(t.After), t.BatchSize, sendable(t.Batch), t.DeadDependency.message()
	if !t.NotBefore.IsZero() {
		m.NotBeforeMs = t.NotBefore.UnixMilli()
	}
	if b := t.Backoff; b != (Backoff{}) {
		m.Backoff = &queuepb.Backoff{
			InitialMs: uint64(b.Initial.Milliseconds()), MaxMs: uint64(b.Max.Milliseconds()),
			MultiplierPercent: b.MultiplierPercent, JitterPercent: b.JitterPercent,
		}
	}
}

// sendable replaces invalid UTF-8 in a text. A message with invalid UTF-8 cannot be sent, and
// trying to send it would end the session for all callers. If the text is a queue name, the server
// refuses the replacement character.
func sendable(text string) string {
	if utf8.ValidString(text) { // faster than ToValidUTF8
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

func sendableAll(texts []string) []string {
	for _, text := range texts {
		if utf8.ValidString(text) {
			continue
		}
		out := make([]string, len(texts))
		for i, text := range texts {
			out[i] = sendable(text)
		}
		return out
	}
	return texts
}

// sendableHeaders replaces invalid UTF-8 in headers. The server refuses the replacement character in
// a key, and stores it in a value.
func sendableHeaders(headers map[string]string) map[string]string {
	for key, value := range headers {
		if utf8.ValidString(key) && utf8.ValidString(value) {
			continue
		}
		out := make(map[string]string, len(headers))
		for key, value := range headers {
			out[sendable(key)] = sendable(value)
		}
		return out
	}
	return headers
}

func (t *Task) bytes() int {
	n := len(t.Payload) + len(t.Queue) + len(t.Key) + len(t.Batch)
	for _, id := range t.After {
		n += 2 + len(id) // with its tag and length
	}
	for key, value := range t.Headers {
		n += headerBytes + len(key) + len(value)
	}
	return n
}

// headerBytes is the approximate size in bytes of a header in a message, without its texts.
const headerBytes = 8
