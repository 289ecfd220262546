package queue

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A record's bucket ends at the record's expiry or less than a bucket's width later.
func TestBucketsOutliveTheirRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBuckets(KeptKeys, rapid.Int64Range(1, 50).Draw(t, "width"), nil, nil)
		want := map[int64]bool{}
		held := map[string]int64{}
		free := func(tenant string, bytes int64) { held[tenant] -= bytes }
		now := int64(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			expires := now + rapid.Int64Range(1, 200).Draw(t, "expires in")
			at := b.at(expires)
			b.note(at)
			tenant, bytes := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tenant"), rapid.Int64Range(1, 9).Draw(t, "bytes")
			b.add(at, tenant, bytes)
			held[tenant] += bytes
			require.GreaterOrEqual(t, at, expires)
			require.Less(t, at, expires+b.widthMs)
			want[at] = true

			now += rapid.Int64Range(0, 40).Draw(t, "passes")
			last, any := b.drop(now, free)
			var gone int64
			for at := range want {
				if at <= now {
					gone = max(gone, at)
					delete(want, at)
				}
			}
			require.Equal(t, gone > 0, any)
			require.Equal(t, gone, last)
			next := int64(math.MaxInt64)
			for at := range want {
				next = min(next, at)
				require.Contains(t, b.live, at)
			}
			require.Equal(t, next, b.next())
			require.Len(t, b.live, len(want))
			require.True(t, slices.IsSorted(b.live))
			left := map[string]int64{"a": 0, "b": 0}
			for at, s := range b.sums {
				require.Contains(t, want, at.bucket)
				left[at.tenant] += s.bytes
			}
			require.Equal(t, left["a"], held["a"])
			require.Equal(t, left["b"], held["b"])
		}
	})
}

// A server that is started with a different key window continues with the stored buckets.
func TestKeysOutliveAChangeOfTheirWindow(t *testing.T) {
	for name, windows := range map[string][2]uint64{"shorter": {60_000, 2_000}, "longer": {2_000, 60_000}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Config{KeyWindowMs: windows[0]})
			keyed := func(n *NewTask) { n.Key = "k" }
			first := f.fill("a", 2, keyed)
			assert.Equal(t, first[0], first[1])
			f.Flush()
			s, err := New(Config{KeyWindowMs: windows[1]}, f.journal, f.journal.recovered())
			require.NoError(t, err)
			f.State = s
			f.now += int64(windows[0]) - 1
			assert.Equal(t, first[0], f.fill("a", 1, keyed)[0])
			f.now++
			next := f.fill("a", 1, keyed)[0]
			assert.NotEqual(t, first[0], next)
			f.now += int64(windows[1]) - 1
			assert.Equal(t, next, f.fill("a", 1, keyed)[0])
			f.now++
			assert.NotEqual(t, next, f.fill("a", 1, keyed)[0])
		})
	}
}

// A rate follows a steady stream, and falls after its end.
func TestRateFollowsTheEventsOfAboutAMinute(t *testing.T) {
	var r rates
	var c Counts
	now := int64(0)
	for range 10 * 60 * 5 {
		now += 100
		c.Enqueued += 7
		r.update(&c, now)
	}
	perSecond := func(now int64) float64 {
		enqueued, completed := r.perSecond(now)
		assert.Zero(t, completed)
		return enqueued
	}
	assert.InDelta(t, 70, perSecond(now), 1.5, "after five minutes at 70 per second")
	assert.InDelta(t, 70/math.E, perSecond(now+rateTauMs), 1.5)
	assert.InDelta(t, 0, perSecond(now+20*rateTauMs), 1e-3)
	assert.Equal(t, perSecond(now), perSecond(now-5), "an earlier time counts as the time of the last event")
}
