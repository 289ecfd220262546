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
	// in the same queue, within the server's window, it is not stored, and the call returns the id
	// of the first task. Cancelling or purging the first task, or deleting the queue, frees the key.
	Key string
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

// sendable replaces invalid UTF-8 in a text. A message with invalid UTF-8 cannot be sent, and
// trying to send it would end the session for all callers. If the text is a queue name, the server
// refuses the replacement character.
func sendable(text string) string {
	if utf8.ValidString(text) { // faster than ToValidUTF8
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

func (t *Task) bytes() int { return len(t.Payload) + len(t.Queue) + len(t.Key) }
