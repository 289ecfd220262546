package record

import (
	"bytes"
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
)

func compareRefs(a, b queue.Ref) int {
	return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Seq, b.Seq))
}

func TestRefKeysSortAsTheirFieldsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawRef(t), drawRef(t)
		ka, kb := RefKey(PrefixTask, a), RefKey(PrefixTask, b)
		require.Equal(t, compareRefs(a, b), bytes.Compare(ka, kb))
		back, err := ParseRefKey(ka)
		require.NoError(t, err)
		require.Equal(t, a, back)
	})
}

func TestDueKeysSortByTimeWithinALane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawRef(t), drawRef(t)
		laneOf := func(ref queue.Ref) uint8 {
			return rapid.SampledFrom([]uint8{ref.Priority, queue.DelayedLane(ref.Priority)}).Draw(t, "lane")
		}
		laneA, laneB := laneOf(a), laneOf(b)
		if rapid.Bool().Draw(t, "one lane") {
			b.Queue, b.Priority, laneB = a.Queue, a.Priority, laneA
		}
		dueA, dueB := drawMs.Draw(t, "due"), drawMs.Draw(t, "due")
		ka, kb := DueKey(a, laneA, dueA), DueKey(b, laneB, dueB)
		want := cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(laneA, laneB), cmp.Compare(dueA, dueB), cmp.Compare(a.Seq, b.Seq))
		require.Equal(t, want, bytes.Compare(ka, kb))
		require.True(t, bytes.HasPrefix(ka, DueLanePrefix(a.Queue, laneA)))
		back, lane, due, err := ParseDueKey(ka)
		require.NoError(t, err)
		require.Equal(t, a, back)
		require.Equal(t, laneA, lane)
		require.Equal(t, dueA, due)
	})
}

func TestKeysOfAWrongLengthAreRefused(t *testing.T) {
	ref := queue.Ref{Queue: 1, Seq: 2}
	_, err := ParseRefKey(RefKey(PrefixTask, ref)[1:])
	require.ErrorContains(t, err, "has 13 bytes, expected 14")
	_, _, _, err = ParseDueKey(append(DueKey(ref, 0, 3), 0))
	require.ErrorContains(t, err, "has 23 bytes, expected 22")
}

// A key is in [prefix, PrefixEnd(prefix)) exactly when it has the prefix.
func TestPrefixEndBoundsThePrefix(t *testing.T) {
	few := rapid.SampledFrom([]byte{0, 1, 0xfe, 0xff})
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SliceOfN(few, 1, 4).Draw(t, "prefix")
		key := rapid.SliceOfN(few, 0, 6).Draw(t, "key")
		before := bytes.Clone(prefix)
		end := PrefixEnd(prefix)
		require.Equal(t, before, prefix, "the prefix must stay unchanged")
		within := bytes.Compare(key, prefix) >= 0 && (end == nil || bytes.Compare(key, end) < 0)
		require.Equal(t, bytes.HasPrefix(key, prefix), within, "prefix %x, end %x, key %x", prefix, end, key)
	})
}

func TestKindsOfKeysDoNotMeet(t *testing.T) {
	seen := map[byte]bool{}
	for _, p := range []byte{PrefixTask, PrefixProgress, PrefixDue, PrefixNote, PrefixDead, PrefixLease, PrefixQueue, PrefixMeta} {
		require.False(t, seen[p], "prefix %c is used twice", p)
		seen[p] = true
	}
}

func TestUniqueKeysComeBackFromTheirBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bucket, queueID, hash := drawMs.Draw(t, "bucket"), rapid.Uint32().Draw(t, "queue"), drawHash(t)
		k := UniqueKey(bucket, queueID, hash)
		gotBucket, gotQueue, gotHash, err := ParseUniqueKey(k)
		require.NoError(t, err)
		require.Equal(t, []any{bucket, queueID, hash}, []any{gotBucket, gotQueue, gotHash})
		_, _, _, err = ParseUniqueKey(k[:rapid.IntRange(0, len(k)-1).Draw(t, "cut")])
		require.ErrorContains(t, err, "of a unique key has")
	})
}
