package queue

import (
	"crypto/sha256"
	"math"
)

// A task may hold its key while it is unfinished, or for a window that it sets. Such a key is unique: the
// task stores a hash of it, so that the event that frees the key also removes the key's record, in
// the same commit. A task with a plain idempotency key does not store its key; see removed.go.
//
// At any time, at most one task of a queue holds a key, whether unique or plain. At most one record
// of a unique key exists.

// Scope is how long a task holds its key.
type Scope uint8

// The scopes.
const (
	NotUnique     Scope = iota // an idempotency key of Config.KeyWindowMs
	ForATime                   // until a window from the enqueue has passed
	UntilStarted               // until the task is leased or dies
	UntilFinished              // until the task is completed or dies
)

// Conflict is what an enqueue gets if another task holds the key.
type Conflict uint8

// The conflicts.
const (
	First   Conflict = iota // the holder's ref, as a duplicate
	Replace                 // it replaces a holder that has not started, and gets ErrKeyTaken otherwise
	Refuse                  // ErrKeyTaken
)

// KeyWindowMsMax is the longest window of a task or a queue.
const KeyWindowMsMax = 30 * 24 * 3600_000

// MakeUnique makes the key of a new task unique. It returns an error that names a field with an
// invalid value.
func (t *NewTask) MakeUnique(scope Scope, windowMs uint64, conflict Conflict) *FieldError {
	switch {
	case t.Key == "":
		return &FieldError{"unique", "is set without idempotency_key: set both"}
	case scope > UntilFinished:
		return &FieldError{"unique.scope", "is not known: use FOR_A_TIME, UNTIL_STARTED or UNTIL_FINISHED"}
	case conflict > Refuse:
		return &FieldError{"unique.conflict", "is not known: use FIRST, REPLACE or REFUSE"}
	case windowMs > KeyWindowMsMax:
		return Outside("unique.window_ms", windowMs, 0, uint64(KeyWindowMsMax))
	case windowMs > 0 && scope != ForATime:
		return &FieldError{"unique.window_ms", "is set with another scope than FOR_A_TIME: set one of them"}
	}
	t.KeyScope, t.KeyWindowMs, t.KeyConflict = scope, uint32(windowMs), conflict
	return nil
}

// KeyHash identifies a unique key in its queue.
type KeyHash [16]byte

// HashKey returns the first half of the SHA-256 hash of a key.
func HashKey(key string) (h KeyHash) {
	sum := sha256.Sum256([]byte(key))
	copy(h[:], sum[:])
	return h
}

// Unique is the unique key of a task. It is immutable.
type Unique struct {
	Key    KeyHash
	Scope  Scope
	Bucket int64 // of the key's record; Unlimited if the key has no window
}

// Unlimited is the bucket of the records of unique keys that have no window. It never expires.
const Unlimited = math.MaxInt64

// UniqueRef is the record of a unique key.
type UniqueRef struct {
	Ref         Ref
	Bucket      int64 // part of the record's key in the store
	ExpiresAtMs int64 // 0 if the key has no window
	// Started is true if the task was leased or died, so that it cannot be replaced. The other fields
	// are those of the task's records, until it starts. With them the task can be
	// removed without reading its records, which may still be on their way to the store.
	Started  bool
	Bytes    uint32 // of the payload, including headers
	DueAtMs  int64  // 0 if the task is not delayed
	EndsAtMs int64  // the end of the time to live; 0 means that it never ends
	// PriorityShift is as in Progress.
	PriorityShift int8
	Depends       *Depends
}

// stored returns the records of the task, which has not started.
func (k *UniqueRef) stored(key KeyHash) *Stored {
	extras := &Extras{ExpiresAtMs: k.EndsAtMs, Unique: &Unique{Key: key, Bucket: k.Bucket}, Depends: k.Depends}
	t := &Stored{Ref: k.Ref, Task: Task{Extras: extras}, Bytes: k.Bytes}
	if k.DueAtMs != 0 {
		t.HasProgress, t.Progress = true, Progress{DueAtMs: k.DueAtMs, ExpiresAtMs: k.EndsAtMs, PriorityShift: k.PriorityShift}
		t.HasDue, t.Lane = true, DelayedLane(t.Priority())
	}
	return t
}

// uniqueBucketMs returns the width of the buckets for a window. It is base or, for a long window, a
// multiple of base by a power of two, so that at most eight buckets of each width exist, and few
// widths.
func uniqueBucketMs(base, windowMs int64) int64 {
	width := base
	for 8*width <= windowMs {
		width *= 2
	}
	return width
}

// newUnique prepares the record of a unique key that belongs to no task.
func (r *retention) newUnique(key KeyHash, scope Scope, windowMs int64) newKey {
	k := newKey{bucket: Unlimited, bytes: UniqueBytes}
	if scope == ForATime {
		k.expiresAtMs = r.nowMs + windowMs
		k.bucket = bucketAt(k.expiresAtMs, uniqueBucketMs(r.keys.widthMs, windowMs))
	}
	k.unique = &Unique{key, scope, k.bucket}
	return k
}

// findUnique returns the record of a unique key. valid reports whether the key still belongs to the
// record's task.
func (r *retention) findUnique(q *Queue, key KeyHash) (k UniqueRef, valid, found bool) {
	if !q.uniques {
		return k, false, false
	}
	k, found = r.journal.FindUnique(q.record.ID, key, r.uniques.live)
	return k, found && (k.ExpiresAtMs == 0 || k.ExpiresAtMs > r.nowMs), found
}

func (r *retention) putUnique(q *Queue, key KeyHash, k UniqueRef) {
	q.keep(k.ExpiresAtMs)
	q.uniques = true
	r.uniques.note(k.Bucket)
	r.uniques.add(k.Bucket, q.record.Tenant, UniqueBytes)
	r.journal.PutUnique(q.record.ID, key, k)
}

func (r *retention) dropUnique(q *Queue, key KeyHash, k UniqueRef) {
	r.uniques.add(k.Bucket, q.record.Tenant, -UniqueBytes)
	r.accounts.free(q).bytes += UniqueBytes
	r.journal.DropUnique(q.record.ID, key, k.Bucket)
}

// heldUnique returns the record of a task's unique key, or false if the task does not hold the key
// any more.
func (r *retention) heldUnique(q *Queue, ref Ref, u *Unique) (UniqueRef, bool) {
	r.ofUnique[0] = u.Bucket
	if !r.uniques.has(u.Bucket) { // it has expired
		return UniqueRef{}, false
	}
	k, found := r.journal.FindUnique(q.record.ID, u.Key, r.ofUnique[:])
	return k, found && k.Ref == ref
}

// freeUnique frees the unique key of a task, unless another task holds it.
func (r *retention) freeUnique(q *Queue, ref Ref, u *Unique) {
	if k, held := r.heldUnique(q, ref, u); held {
		r.dropUnique(q, u.Key, k)
	}
}

// started notes that a task with a unique key was leased or died. It frees the key, if that is its
// scope.
func (r *retention) started(q *Queue, ref Ref, u *Unique) {
	k, held := r.heldUnique(q, ref, u)
	switch {
	case !held || k.Started:
	case u.Scope == UntilStarted:
		r.dropUnique(q, u.Key, k)
	default:
		k.Started = true
		r.journal.PutUnique(q.record.ID, u.Key, k)
	}
}

// movedUnique notes the new place of a task with a unique key.
func (r *retention) movedUnique(ref Ref, u *Unique, priority uint8, dueAtMs int64) {
	q := r.queues.numbered(ref.Queue)
	if k, held := r.heldUnique(q, ref, u); held && !k.Started {
		k.DueAtMs, k.PriorityShift = dueAtMs, int8(priority)-int8(ref.Priority)
		r.journal.PutUnique(q.record.ID, u.Key, k)
	}
}

// replace removes a task that has not started, and charges the tenant for the task that takes its
// key. The new task needs only the difference to be free, and no room in the quota of tasks.
func (s *State) replace(q *Queue, key KeyHash, k UniqueRef, bytes int64) error {
	before := TaskBytes(int(k.Bytes)) + UniqueBytes
	charged := max(0, bytes-before)
	if charged > 0 {
		if err := s.charge(q.account, charged); err != nil {
			return err
		}
	}
	s.Cancel(k.stored(key))
	freed := s.free(q)
	freed.tasks--
	freed.bytes -= bytes - charged
	s.reportFreed()
	return nil
}

// retakeUnique gives a task its key back. It does not look for a plain key with the same text,
// because the task stores only the hash.
func (r *retention) retakeUnique(ref Ref, u *Unique) error {
	q := r.queues.numbered(ref.Queue)
	k, valid, found := r.findUnique(q, u.Key)
	if valid {
		return ErrKeyTaken
	}
	if found {
		r.dropExpired(q, u.Key, k)
	}
	if err := r.accounts.charge(q.account, UniqueBytes); err != nil {
		return err
	}
	r.putUnique(q, u.Key, UniqueRef{Ref: ref, Bucket: u.Bucket, Started: true})
	return nil
}

// dropExpired drops the record of a key that another task takes, because at most one record of a
// unique key exists.
func (r *retention) dropExpired(q *Queue, key KeyHash, k UniqueRef) {
	r.queues.touch(q)
	r.dropUnique(q, key, k)
	r.accounts.reportFreed()
}
