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
	NotBefore   time.Time     // when the task becomes ready, not together with Delay; zero: at once
	MaxAttempts uint32        // 0, here and below: the queue's policy, or the server's default
	Lease       time.Duration // of a claim that names none
	TTL         time.Duration // how long after its enqueue the task is worth doing
	Backoff     Backoff       // before further attempts
	// ResultRetention is how long after its completion the task's result is kept for AwaitResult.
	ResultRetention time.Duration
	// Key is an idempotency key, at most 128 bytes: a second task with the same key in the same queue, within the
	// server's window, is not stored, and the first one's id is returned.
	Key string
}

// Backoff says how long a task waits after a failed attempt. Zero fields mean the queue's policy, or the server's
// default.
type Backoff struct {
	Initial           time.Duration // after the first attempt
	Max               time.Duration
	MultiplierPercent uint32 // of the wait with each further attempt, 100 to 1,000
	JitterPercent     uint32 // up to how much of the wait is taken off at random, 1 to 100
}

// fill writes the task into a message, all of whose fields it sets.
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

// sendable replaces what is not UTF-8: a message with it can't be sent, and the attempt would end the
// session for everybody. The server refuses a queue's name with the replacement in it.
func sendable(text string) string {
	if utf8.ValidString(text) { // faster than ToValidUTF8 finds it out
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// bytes is about how large the task is as a message.
func (t *Task) bytes() int { return len(t.Payload) + len(t.Queue) + len(t.Key) }
