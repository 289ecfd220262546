package queue

import (
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
	KeptUniques
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
		if s.bytes == 0 {
			delete(b.sums, s.sumKey)
		}
		s.dirty = false
		b.dirty[i] = nil
	}
	b.dirty = b.dirty[:0]
}

func (b *buckets) at(expiresAtMs int64) int64 { return bucketAt(expiresAtMs, b.widthMs) }

func bucketAt(expiresAtMs, widthMs int64) int64 {
	return (expiresAtMs + widthMs - 1) / widthMs * widthMs
}

func (b *buckets) has(bucket int64) bool {
	_, found := slices.BinarySearch(b.live, bucket)
	return found
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

// last returns the time when the last bucket with a limited time can be dropped, or 0 if there is no
// such bucket.
func (b *buckets) last() int64 {
	for _, bucket := range slices.Backward(b.live) {
		if bucket != Unlimited {
			return bucket
		}
	}
	return 0
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
