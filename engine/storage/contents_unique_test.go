package storage

import (
	"maps"
	"math"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
)

var someBuckets = append(slices.Clone(someMs), queue.Unlimited)

func drawUnique(t *rapid.T) *queue.Unique {
	if rapid.Bool().Draw(t, "not unique") {
		return nil
	}
	return &queue.Unique{
		Key: queue.HashKey(rapid.SampledFrom(someKeys).Draw(t, "unique key")), Scope: rapid.SampledFrom([]queue.Scope{queue.ForATime, queue.UntilFinished}).Draw(t, "scope"),
		Bucket: rapid.SampledFrom(someBuckets).Draw(t, "bucket"),
	}
}

// mutateUnique puts or drops a unique key. At most one record of a key exists.
func (c *contents) mutateUnique(t *rapid.T, b *Batch, ref queue.Ref, at int64, drop bool) {
	if drop && rapid.IntRange(0, 3).Draw(t, "a bucket") == 0 {
		maps.DeleteFunc(c.uniques, func(_ uniqueKey, k queue.UniqueRef) bool { return k.Bucket <= at })
		c.dropSums(queue.KeptUniques, at)
		b.DropUniques(at)
		return
	}
	key := uniqueKey{ref.Queue, queue.HashKey(rapid.SampledFrom(someKeys).Draw(t, "unique key"))}
	bucket := rapid.SampledFrom(someBuckets).Draw(t, "bucket")
	if before, found := c.uniques[key]; found && (drop || before.Bucket != bucket) {
		delete(c.uniques, key)
		b.DropUnique(key.queue, key.key, before.Bucket)
	}
	if !drop {
		c.uniques[key] = queue.UniqueRef{Ref: ref, Bucket: bucket, ExpiresAtMs: rapid.SampledFrom([]int64{0, 1, math.MaxInt64}).Draw(t, "expires")}
		b.PutUnique(key.queue, key.key, c.uniques[key])
	}
}

func (c *contents) compareUniques(t *rapid.T, s *Store) {
	live := rapid.SliceOfDistinct(rapid.SampledFrom(someBuckets), rapid.ID).Draw(t, "live")
	b := s.NewBatch()
	for _, q := range someQueues {
		for _, key := range someKeys {
			want, found := c.uniques[uniqueKey{q, queue.HashKey(key)}]
			if found = found && slices.Contains(live, want.Bucket); !found {
				want = queue.UniqueRef{}
			}
			got, ok := b.FindUnique(q, queue.HashKey(key), live)
			require.Equal(t, found, ok)
			require.Equal(t, want, got)
		}
	}
}
