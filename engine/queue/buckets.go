package queue

import (
	"math"
	"slices"
)

// buckets are the times at which records that expire are dropped, a range at once: each record is stored
// under the time of its bucket, which is its own expiry rounded up.
type buckets struct {
	widthMs int64
	live    []int64 // ascending
}

// of returns the bucket of a record that expires at a time, and notes that there is one.
func (b *buckets) of(expiresAtMs int64) int64 {
	at := (expiresAtMs + b.widthMs - 1) / b.widthMs * b.widthMs
	if i, found := slices.BinarySearch(b.live, at); !found {
		b.live = slices.Insert(b.live, i, at)
	}
	return at
}

// next is when the first bucket is over.
func (b *buckets) next() int64 {
	if len(b.live) == 0 {
		return math.MaxInt64
	}
	return b.live[0]
}

// drop forgets the buckets that are over and returns the last of them.
func (b *buckets) drop(now int64) (last int64, any bool) {
	n := 0
	for n < len(b.live) && b.live[n] <= now {
		last = b.live[n]
		n++
	}
	b.live = slices.Delete(b.live, 0, n)
	return last, n > 0
}

// resultBucketMs is the width of the buckets that results are dropped by.
const resultBucketMs = 3600_000

// keyBucketMs is the width of the buckets of idempotency keys: a quarter of their window, so that a look-up
// reads at most five of them.
func keyBucketMs(windowMs uint64) int64 { return max(1_000, int64(windowMs)/4) }

// KeyRef is what is stored under an idempotency key.
type KeyRef struct {
	Ref         Ref
	ExpiresAtMs int64
}

// findKey returns the task that was enqueued under a key within the window.
func (s *State) findKey(q *Queue, key string, now int64) (Ref, bool) {
	k, found := s.journal.FindKey(q.record.ID, key, s.keys.live)
	return k.Ref, found && k.ExpiresAtMs > now
}

func (s *State) putKey(q *Queue, key string, ref Ref, now int64) {
	expires := now + int64(s.cfg.KeyWindowMs)
	s.journal.PutKey(q.record.ID, key, s.keys.of(expires), KeyRef{ref, expires})
}

// Result is what came of a task.
type Result struct {
	CompletedAtMs   int64
	RetainedUntilMs int64
	Value           []byte
}

func (s *State) keepResult(ref Ref, retentionMs uint64, value []byte, now int64) {
	until := now + int64(retentionMs)
	s.journal.PutResult(ref, s.results.of(until), Result{CompletedAtMs: now, RetainedUntilMs: until, Value: value})
}

// ResultBuckets returns where results may be, oldest first. The caller must not change it.
func (s *State) ResultBuckets() []int64 { return s.results.live }

// dropBuckets drops keys and results whose time is over.
func (s *State) dropBuckets(now int64) {
	if last, any := s.keys.drop(now); any {
		s.journal.DropKeys(last)
	}
	if last, any := s.results.drop(now); any {
		s.journal.DropResults(last)
	}
}
