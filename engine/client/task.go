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
	Payload     []byte // must not change until the call has returned
	Delay       time.Duration
	NotBefore   time.Time     // when the task becomes ready; excludes Delay; zero: immediately
	MaxAttempts uint32        // 0, here and below: the queue's policy, or the server's default
	Lease       time.Duration // of claims that set none
	TTL         time.Duration // time to live, from the enqueue
	Backoff     Backoff       // before further attempts
	// ResultRetention is how long the server retains the task's result for AwaitResult, from its
	// completion.
	ResultRetention time.Duration
	// Key is an idempotency key of at most 128 bytes. A second task with the same key in the same
	// queue, within the server's window, is not stored; the first one's id is returned.
	Key string
}

// Backoff is how long a task waits after a failed attempt. Zero fields mean the queue's policy, or
// the server's default.
type Backoff struct {
	Initial           time.Duration // after the first attempt
	Max               time.Duration
	MultiplierPercent uint32 // of the wait for each further attempt, 100 to 1,000
	JitterPercent     uint32 // largest random reduction of the wait, 1 to 100
}

// fill sets all fields of a message from the task.
func (t *Task) fill(m *queuepb.NewTask) {
	m.Queue, m.Priority, m.Payload, m.DelayMs = sendable(t.Queue), t.Priority, t.Payload, uint64(t.Delay.Milliseconds())
	m.MaxAttempts, m.LeaseMs = t.MaxAttempts, uint64(t.Lease.Milliseconds())
	m.TtlMs, m.ResultRetentionMs = uint64(t.TTL.Milliseconds()), uint64(t.ResultRetention.Milliseconds())
	m.IdempotencyKey = sendable(t.Key)
	m.NotBeforeMs, m.Backoff = 0, nil
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

// sendable replaces invalid UTF-8: a message with it cannot be sent, and the attempt would end the
// session for all callers. The server refuses a queue name with the replacement character.
func sendable(text string) string {
	if utf8.ValidString(text) { // faster than ToValidUTF8
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// bytes returns the approximate size of the task's message.
func (t *Task) bytes() int { return len(t.Payload) + len(t.Queue) + len(t.Key) }
