package queue

import (
	"cmp"
	"math"
	"slices"
)

// phase is the one state that a task of the model is in.
type phase string

const (
	fresh    phase = "fresh"
	returned phase = "returned" // delayed, or ready again
	leased   phase = "leased"
	dead     phase = "dead"
	done     phase = "done"
)

// modelTask is a task as the words of the design say it behaves.
type modelTask struct {
	ref         Ref
	tenant      string
	queue       string
	payload     []byte
	enqueuedMs  int64
	maxAttempts uint32
	leaseMs     uint64

	phase     phase
	attempts  uint32 // used up
	dueMs     int64  // while returned
	expiresMs int64  // while leased
	diedMs    int64
	lastError string
	tokens    []uint64 // of all its leases; the last is the current one while leased
	settled   bool     // was ever returned or dead: it has a progress record
}

func (t *modelTask) token() uint64 {
	if len(t.tokens) == 0 {
		return 0
	}
	return t.tokens[len(t.tokens)-1]
}

// isReady says that the task may be leased now.
func (t *modelTask) isReady(now int64) bool {
	return t.phase == fresh || t.phase == returned && t.dueMs <= now
}

// modelQueue is a queue: its tasks by sequence number.
type modelQueue struct {
	tenant, name string
	id           uint32
	tasks        []*modelTask
}

// ready returns the tasks that may be leased now, in the order in which they must be.
func (q *modelQueue) ready(now int64) []*modelTask {
	var out []*modelTask
	for _, t := range q.tasks {
		if t.isReady(now) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *modelTask) int {
		if c := cmp.Compare(b.ref.Priority, a.ref.Priority); c != 0 {
			return c // the most urgent first
		}
		if a.phase != b.phase {
			if a.phase == returned {
				return -1
			}
			return 1
		}
		if a.phase == returned {
			return cmp.Or(cmp.Compare(a.dueMs, b.dueMs), cmp.Compare(a.ref.Seq, b.ref.Seq))
		}
		return cmp.Compare(a.ref.Seq, b.ref.Seq)
	})
	return out
}

func (q *modelQueue) counts() Counts {
	c := Counts{Enqueued: uint64(len(q.tasks))}
	for _, t := range q.tasks {
		if t.phase != done {
			c.Bytes += uint64(len(t.payload))
		}
		switch t.phase {
		case fresh:
			c.Fresh++
		case returned:
			c.Returned++
		case leased:
			c.Leased++
		case dead:
			c.Dead++
		case done:
			c.Completed++
		}
	}
	return c
}

// modelWaiter is a waiter: how many tasks it may still have.
type modelWaiter struct {
	waiter  *Waiter
	queues  []*modelQueue
	leaseMs uint64
	credits int
	once    bool
}

// attemptFailed ends the model task's lease with a used-up attempt.
func (t *modelTask) attemptFailed(dueMs, now int64, reason string) {
	t.attempts++
	t.settled = true
	t.lastError = reason
	t.dueMs = dueMs
	if t.attempts >= t.maxAttempts {
		t.phase, t.diedMs, t.dueMs = dead, now, now
		return
	}
	t.phase = returned
}

// earliest returns the earliest due time of the queue's tasks that are not ready yet.
func (q *modelQueue) earliest(now int64) int64 {
	next := int64(math.MaxInt64)
	for _, t := range q.tasks {
		if t.phase == returned && t.dueMs > now {
			next = min(next, t.dueMs)
		}
	}
	return next
}
