package queue

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// phase is the state of a task in the model.
type phase string

const (
	fresh    phase = "fresh"
	returned phase = "returned" // delayed, or ready again
	leased   phase = "leased"
	dead     phase = "dead"
	done     phase = "done"
	removed  phase = "removed" // cancelled or purged
)

// modelTask is a task that behaves as DESIGN.md specifies.
type modelTask struct {
	ref         Ref
	tenant      string
	queue       string
	payload     []byte
	hasHeaders  bool
	enqueuedMs  int64
	attemptsMax uint32 // as enqueued
	leaseMs     uint64
	extras      Extras // as enqueued, without Common
	common      Common
	key         string // of extras.Unique

	phase       phase
	shift       int8 // current priority minus that in ref
	edited      bool // its payload was replaced while it was dead
	immortal    bool // was redriven: it has no time to live
	maxAttempts uint32
	attempts    uint32       // used attempts
	dueMs       int64        // while returned
	expiresMs   int64        // while leased
	holder      *modelWaiter // while leased
	diedMs      int64
	reason      Reason
	tokens      []uint64          // of all its leases; the last one is current while leased
	claimed     bool              // since it was enqueued or redriven
	settled     bool              // the task was returned or dead, and so has a progress record
	history     map[uint32]string // the texts of the stored attempts
	note        string            // until it dies
	home        *modelQueue
	claims      Claims // of its progress record or, once it has finished, of its history entry
	claimMs     int64  // of its lease; claimNone if it is not leased
	purged      bool
	over        bool // whether it had finished at the last check
}

func (t *modelTask) charged() int64 {
	bytes := 128 + int64(len(t.payload)) + int64(len(t.note))
	for _, text := range t.history {
		bytes += 64 + int64(len(text))
	}
	return bytes
}

// historyBytes returns the charge of the stored attempts: the part of the last attempt and the part
// before.
func (t *modelTask) historyBytes(part uint32) (h History) {
	for n, text := range t.history {
		if (n-1)/part == (t.attempts-1)/part {
			h.NewestBytes += uint32(64 + len(text))
		} else {
			h.BeforeBytes += uint32(64 + len(text))
		}
	}
	return h
}

// remember stores the text of the last attempt if there is room for it. It drops old attempts, one
// whole part of the history at a time.
func (t *modelTask) remember(text string, room bool, part uint32) {
	if t.history == nil {
		t.history = map[uint32]string{}
	}
	if room {
		t.history[t.attempts] = text
	}
	maps.DeleteFunc(t.history, func(n uint32, _ string) bool { return (n-1)/part+1 < (t.attempts-1)/part })
}

func (t *modelTask) priority() uint8 { return uint8(int8(t.ref.Priority) + t.shift) }

func (t *modelTask) token() uint64 {
	if len(t.tokens) == 0 {
		return 0
	}
	return t.tokens[len(t.tokens)-1]
}

// dieByMs returns the end of the time to live, or 0.
func (t *modelTask) dieByMs() int64 {
	if t.immortal {
		return 0
	}
	return t.extras.ExpiresAtMs
}

func (t *modelTask) overdue(now int64) bool { return t.dieByMs() != 0 && t.dieByMs() <= now }

// waits reports whether the task is in its queue and neither leased nor dead.
func (t *modelTask) waits() bool { return t.phase == fresh || t.phase == returned }

func (t *modelTask) stored() bool { return t.waits() || t.phase == leased || t.phase == dead }

// isReady reports whether the task may be leased now.
func (t *modelTask) isReady(now int64) bool {
	return !t.overdue(now) && (t.phase == fresh || t.phase == returned && t.dueMs <= now)
}

// wantExtras returns the extras that the task's records must have now.
func (t *modelTask) wantExtras() *Extras {
	x := t.extras
	if t.immortal {
		x.ExpiresAtMs = 0
	}
	return NewExtras(x, t.common)
}

func sameExtras(a, b *Extras) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Common != nil && *a.Common == (Common{}) {
		return false // Common must be nil
	}
	x, y := *a, *b
	x.Unique, y.Unique, x.Common, y.Common = nil, nil, nil, nil
	if x != y || a.Shared() != b.Shared() {
		return false
	}
	if a.Unique == nil || b.Unique == nil {
		return a.Unique == b.Unique
	}
	return *a.Unique == *b.Unique
}

// attemptFailed ends the task's lease with a failed attempt, whose text is stored if there is room
// for it.
func (t *modelTask) attemptFailed(dueMs, now int64, reason string, room bool, part uint32) {
	t.attempts++
	t.remember(reason, room, part)
	if t.attempts >= t.maxAttempts {
		t.die(now, AttemptsUsedUp)
		return
	}
	t.comeBack(dueMs, now)
}

// comeBack returns a leased or dead task to its queue.
func (t *modelTask) comeBack(dueMs, now int64) {
	if t.overdue(now) {
		t.die(now, TimeToLiveOver)
		return
	}
	if t.phase == leased {
		t.endClaims()
		t.claimMs = claimNone
	}
	t.phase, t.dueMs, t.settled = returned, dueMs, true
}

func (t *modelTask) die(now int64, why Reason) {
	t.endClaims()
	t.claimMs = claimNone
	t.phase, t.diedMs, t.dueMs, t.reason, t.settled, t.note = dead, now, now, why, true, ""
}

func (t *modelTask) redrive(now int64) {
	t.immortal, t.claimed, t.maxAttempts = true, false, t.attempts+t.attemptsMax
	t.comeBack(now, now)
}

// modelQueue is a queue: its tasks by sequence number.
type modelQueue struct {
	tenant, name string
	id           uint32
	tasks        []*modelTask
	paused       bool
	policy       Policy
	version      uint64
	grouped      bool  // it had a limit of groups
	own          Limit // the limit of the queue in this shard
	buckets      map[uint64]*modelBucket
}

// nextSeq returns a seq above those of all tasks.
func (q *modelQueue) nextSeq() uint64 {
	if n := len(q.tasks); n > 0 {
		return q.tasks[n-1].ref.Seq + 1
	}
	return 0
}

// ready returns the tasks that may be leased now, in the required order.
func (q *modelQueue) ready(now int64) (out []*modelTask) {
	if q.paused {
		return nil
	}
	for _, t := range q.tasks {
		if t.isReady(now) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *modelTask) int {
		// Most urgent first.
		return cmp.Or(cmp.Compare(b.priority(), a.priority()), compareWaiting(a, b))
	})
	return out
}

// compareWaiting orders the waiting tasks of one queue and priority as they are leased: tasks that
// were claimed before come first, and then the oldest task.
func compareWaiting(a, b *modelTask) int {
	switch {
	case a.claimed && !b.claimed:
		return -1
	case !a.claimed && b.claimed:
		return 1
	}
	return cmp.Or(cmp.Compare(a.sinceMs(), b.sinceMs()), cmp.Compare(a.ref.Seq, b.ref.Seq))
}

// sinceMs returns the time since when a waiting task is ready, or will be.
func (t *modelTask) sinceMs() int64 {
	if t.phase == fresh {
		return t.enqueuedMs
	}
	return t.dueMs
}

// lane returns the number of the lane that contains a waiting task.
func (t *modelTask) lane() uint8 {
	if t.phase == returned && !t.claimed {
		return DelayedLane(t.priority())
	}
	return t.priority()
}

func (q *modelQueue) counts() Counts {
	c := Counts{Enqueued: uint64(len(q.tasks))}
	for _, t := range q.tasks {
		if t.stored() {
			c.Bytes += uint64(len(t.payload))
			c.HistoryBytes += uint64(len(t.note))
			for _, text := range t.history {
				c.HistoryBytes += uint64(64 + len(text))
			}
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
		case removed:
			c.Removed++
		}
	}
	return c
}

// readySinceMs returns when the oldest ready task became ready.
func (q *modelQueue) readySinceMs(now int64) int64 {
	since := int64(math.MaxInt64)
	for _, t := range q.tasks {
		if t.waits() && t.sinceMs() <= now {
			since = min(since, t.sinceMs())
		}
	}
	return since
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

// modelWaiter is a waiter with its remaining credit.
type modelWaiter struct {
	waiter  *Waiter
	queues  []queueName
	leaseMs uint64
	credits int
	pool    *testPool // the source of the credits; nil if the state has them
	once    bool
	seen    int  // number of tasks in its retained grant
	gone    bool // unsubscribed while a grant was retained
}

// modelKey is the task of an idempotency key and the key's expiry.
type modelKey struct {
	ref     Ref
	untilMs int64
	freed   bool // the task was cancelled or purged
}

type keyOf struct {
	queue uint32
	key   string
}

// fakeAccount is a tenant's account, shared with another shard.
type fakeAccount struct {
	tenant               string
	broken               func(format string, args ...any)
	tasks, bytes, leases int64 // of this shard
	others               int64 // leases of another shard

	tasksMax, bytesMax, leasesMax int64
}

var _ Account = (*fakeAccount)(nil)

func (a *fakeAccount) Add(bytes int64) error {
	if a.tasks >= a.tasksMax {
		return &QuotaError{Tenant: a.tenant, Quota: "tasks_max", Max: uint64(a.tasksMax), RetryAfterMs: 7}
	}
	if err := a.Charge(bytes); err != nil {
		return err
	}
	a.tasks++
	return nil
}

func (a *fakeAccount) Charge(bytes int64) error {
	if a.bytesMax != 0 && a.bytes+bytes > a.bytesMax {
		return &QuotaError{Tenant: a.tenant, Quota: "bytes_max", Max: uint64(a.bytesMax), RetryAfterMs: 7}
	}
	a.bytes += bytes
	return nil
}

// has reports whether there is room for further bytes if held are in use.
func (a *fakeAccount) has(bytes, held int64) bool { return a.bytesMax == 0 || held+bytes <= a.bytesMax }

func (a *fakeAccount) Remove(tasks, bytes int64) { a.Restore(-tasks, -bytes, 0) }

func (a *fakeAccount) Lease(n int) int {
	if n < 1 {
		a.broken("invalid request for %d leases", n)
	}
	got := max(0, min(int64(n), a.room()))
	a.leases += got
	return int(got)
}

func (a *fakeAccount) room() int64 { return a.leasesMax - a.leases - a.others }

func (a *fakeAccount) EndLeases(n int) { a.Restore(0, 0, -int64(n)) }

func (a *fakeAccount) Restore(tasks, bytes, leases int64) {
	a.tasks, a.bytes, a.leases = a.tasks+tasks, a.bytes+bytes, a.leases+leases
	if a.tasks < 0 || a.bytes < 0 || a.leases < 0 {
		a.broken("the account of %s has %d tasks of %d bytes and %d leases", a.tenant, a.tasks, a.bytes, a.leases)
	}
}
