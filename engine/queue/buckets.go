package queue

import (
	"fmt"
	"math"
	"slices"
)

// buckets groups records by their expiry. The time of a record's bucket is the record's expiry,
// rounded up to a multiple of widthMs. A record is stored under the time of its bucket, so that one
// operation drops all records of an expired bucket.
type buckets struct {
	kind    Kept
	widthMs int64
	live    []int64 // the times of the nonempty buckets, ascending
	sums    map[sumKey]*bucketSum
	dirty   []*bucketSum // the sums that the next flush writes
}

// Kept is a kind of record that is stored for a limited time.
type Kept uint8

// The kinds of kept records.
const (
	KeptKeys Kept = iota + 1
	KeptResults
)

// Sum is a tenant's charge, in bytes, for its records in one bucket. It is stored, because a bucket
// is dropped without reading its records.
type Sum struct {
	Kind   Kept
	Bucket int64
	Tenant string
	Bytes  int64
}

type sumKey struct {
	bucket int64
	tenant string
}

type bucketSum struct {
	sumKey
	bytes int64
	dirty bool
	gone  bool // the bucket was dropped
}

func newBuckets(kind Kept, widthMs int64, live []int64, sums []Sum) buckets {
	b := buckets{kind: kind, widthMs: widthMs, live: slices.Clone(live), sums: map[sumKey]*bucketSum{}}
	for _, s := range sums {
		if at := (sumKey{s.Bucket, s.Tenant}); s.Kind == kind {
			b.sums[at] = &bucketSum{sumKey: at, bytes: s.Bytes}
		}
	}
	return b
}

func (b *buckets) add(bucket int64, tenant string, bytes int64) {
	at := sumKey{bucket, tenant}
	s := b.sums[at]
	if s == nil {
		s = &bucketSum{sumKey: at}
		b.sums[at] = s
	}
	s.bytes += bytes
	if !s.dirty {
		s.dirty = true
		b.dirty = append(b.dirty, s)
	}
}

func (b *buckets) flush(j Journal) {
	for i, s := range b.dirty {
		if !s.gone {
			j.PutSum(Sum{Kind: b.kind, Bucket: s.bucket, Tenant: s.tenant, Bytes: s.bytes})
		}
		s.dirty = false
		b.dirty[i] = nil
	}
	b.dirty = b.dirty[:0]
}

func (b *buckets) at(expiresAtMs int64) int64 {
	return (expiresAtMs + b.widthMs - 1) / b.widthMs * b.widthMs
}

func (b *buckets) note(bucket int64) {
	if i, found := slices.BinarySearch(b.live, bucket); !found {
		b.live = slices.Insert(b.live, i, bucket)
	}
}

// next returns the time when the first bucket can be dropped, or math.MaxInt64.
func (b *buckets) next() int64 {
	if len(b.live) == 0 {
		return math.MaxInt64
	}
	return b.live[0]
}

// drop removes the expired buckets. It returns the time of the last of them, and whether there was
// any. It calls free with the charge of each tenant's records in them.
func (b *buckets) drop(now int64, free func(tenant string, bytes int64)) (last int64, any bool) {
	n := 0
	for n < len(b.live) && b.live[n] <= now {
		last = b.live[n]
		n++
	}
	b.live = slices.Delete(b.live, 0, n)
	if n > 0 {
		for at, s := range b.sums {
			if at.bucket <= last {
				free(at.tenant, s.bytes)
				s.gone = true
				delete(b.sums, at)
			}
		}
	}
	return last, n > 0
}

// resultBucketMs is the width of the buckets of results, in milliseconds.
const resultBucketMs = 3600_000

// keyBucketMs returns the width of the buckets of idempotency keys: a quarter of the key window, so
// that a lookup reads at most five buckets. A sixth bucket may exist if an enqueue reused the key
// of a task that was removed in the same millisecond.
func keyBucketMs(windowMs uint64) int64 { return max(1_000, int64(windowMs)/4) }

// KeyRef is the record of an idempotency key.
type KeyRef struct {
	Ref         Ref
	ExpiresAtMs int64
}

// findKey returns the record of a key. valid reports whether the key still belongs to the record's
// task: the key has not expired, and the task was not removed.
func (s *State) findKey(q *Queue, key string, now int64) (k KeyRef, valid, found bool) {
	k, found = s.journal.FindKey(q.record.ID, key, s.keys.live)
	return k, found && k.ExpiresAtMs > now && !s.removed(q, k.Ref), found
}

type newKey struct {
	bucket      int64
	expiresAtMs int64
	bytes       int64 // the charge; 0 if it replaces an older record
}

// newKey prepares the record of a key that belongs to no task. If used is true, before is an older
// record of the key. The new record must expire later than the older record, because FindKey
// returns the record that expires last.
func (s *State) newKey(q *Queue, key string, before KeyRef, used bool, now int64) newKey {
	expires := now + int64(s.cfg.KeyWindowMs)
	if used && before.ExpiresAtMs >= expires {
		expires = before.ExpiresAtMs + 1
	}
	k := newKey{bucket: s.keys.at(expires), expiresAtMs: expires, bytes: KeyBytes(len(key))}
	if used && s.journal.HasKey(q.record.ID, key, k.bucket) {
		k.bytes = 0
	}
	return k
}

func (s *State) putKey(q *Queue, key string, ref Ref, k newKey) {
	q.keep(k.expiresAtMs)
	q.keyed(k.expiresAtMs)
	s.keys.note(k.bucket)
	if k.bytes > 0 {
		s.keys.add(k.bucket, q.record.Tenant, k.bytes)
	}
	s.journal.PutKey(q.record.ID, key, k.bucket, KeyRef{ref, k.expiresAtMs})
}

// Result is the result of a completed task.
type Result struct {
	CompletedAtMs   int64
	RetainedUntilMs int64
	Value           []byte
}

// keepResult stores the result of a task that is about to be dropped. The tenant's charge for the
// task becomes the charge for the result. Only a result that is larger than the task with its
// history needs an additional charge, which the quota may refuse.
func (s *State) keepResult(ref *LeaseRef, retentionMs uint64, value []byte, now int64) error {
	q := s.numbered(ref.Queue)
	bytes, task := ResultBytes(len(value)), ref.chargedBytes()
	if more := bytes - task; more > 0 {
		if err := s.charge(q.account, more); err != nil {
			return fmt.Errorf("keep a result of %d bytes: %w, or complete the task without a result", len(value), err)
		}
	}
	s.free(q).bytes -= min(bytes, task) // drop later subtracts the whole charge of the task
	until := now + int64(retentionMs)
	bucket := s.results.at(until)
	q.keep(until)
	s.results.note(bucket)
	s.results.add(bucket, q.record.Tenant, bytes)
	s.journal.PutResult(ref.Ref, bucket, Result{CompletedAtMs: now, RetainedUntilMs: until, Value: value})
	return nil
}

// ResultBuckets returns the times of the buckets that may contain results, oldest first. The caller
// must not change the slice.
func (s *State) ResultBuckets() []int64 { return s.results.live }

func (s *State) dropBuckets(now int64) {
	free := func(tenant string, bytes int64) { s.cfg.Account(tenant).Remove(0, bytes) }
	if last, any := s.keys.drop(now, free); any {
		s.journal.DropKeys(last)
	}
	if last, any := s.results.drop(now, free); any {
		s.journal.DropResults(last)
	}
}
