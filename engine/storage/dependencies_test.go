package storage

import (
	"math"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

func commitNow(t *testing.T, b *Batch) {
	t.Helper()
	c, err := b.Submit()
	require.NoError(t, err)
	require.NoError(t, c.Wait())
}

// Messages are read in the order of their seqs, up to the limits, and counted for each shard.
func TestMessagesAreReadInOrder(t *testing.T) {
	s, err := Open("store", Options{FS: vfs.NewMem(), Durability: Sync})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	b := s.NewBatch()
	for seq := range uint64(5) {
		b.PutMessage(2, &queue.Message{Seq: 300 - seq, Kind: queue.Link, Tenant: "t", Result: make([]byte, 100)})
	}
	b.PutMessage(7, &queue.Message{Seq: 1, Kind: queue.Link, Tenant: "t"})
	commitNow(t, b)
	all, err := s.Messages(2, 0, math.MaxUint64, 10, 1<<20)
	require.NoError(t, err)
	require.Len(t, all, 5)
	for i := range all {
		assert.EqualValues(t, 296+i, all[i].Seq)
	}
	for _, limits := range [][2]int{{3, 1 << 20}, {10, 300}} {
		some, err := s.Messages(2, 0, math.MaxUint64, limits[0], limits[1])
		require.NoError(t, err)
		assert.Equal(t, all[:3], some)
	}
	some, err := s.Messages(2, all[1].Seq, all[3].Seq, 10, 1<<20)
	require.NoError(t, err)
	assert.Equal(t, all[1:3], some)
	from, err := s.Recover()
	require.NoError(t, err)
	assert.EqualValues(t, 1<<2|1<<7, from.Outgoing)
	got, err := DecodeMessages(EncodeMessages(all))
	require.NoError(t, err)
	assert.Equal(t, all, got)
	_, err = DecodeMessages([][]byte{{99}})
	require.ErrorContains(t, err, "message 0")
}

// The links and the Dependency records of a task are read in parts.
func TestLinksAndDependenciesAreReadInParts(t *testing.T) {
	s, err := Open("store", Options{FS: vfs.NewMem(), Durability: Sync})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	ref, other := queue.Ref{Queue: 1, Seq: 5}, queue.Ref{Queue: 1, Seq: 6}
	b := s.NewBatch()
	var ids []queue.ID
	for i := range uint64(5) {
		id := queue.ID{Shard: uint16(i % 2), Ref: queue.Ref{Queue: 3, Seq: i}}
		ids = append(ids, id)
		b.PutLink(ref, id)
		b.PutDependency(ref, &queue.Dependency{ID: id, Outcome: queue.DependencyDone, Result: make([]byte, 100)})
	}
	ids = []queue.ID{ids[0], ids[2], ids[4], ids[1], ids[3]} // the order of the keys
	b.PutLink(other, ids[0])
	b.PutLinked(ref, 5)
	b.PutWaiting(ref, queue.Waiting{Total: 9})
	commitNow(t, b)
	left := 3
	k, err := s.Known(ref, []queue.Message{{Kind: queue.EndedTask}}, &left)
	require.NoError(t, err)
	assert.Equal(t, ids[:3], k.Links)
	assert.True(t, k.More)
	assert.Zero(t, left)
	k, err = s.Known(ref, []queue.Message{{Kind: queue.EndedTask}}, &left)
	require.NoError(t, err)
	assert.Empty(t, k.Links)
	assert.True(t, k.More)
	left = 2
	k, err = s.Known(ref, []queue.Message{{Kind: queue.EndedTask, Begun: true, Of: ids[2]}}, &left)
	require.NoError(t, err)
	assert.Equal(t, ids[3:], k.Links)
	assert.False(t, k.More)
	left = 9
	k, err = s.Known(ref, []queue.Message{{Kind: queue.DroppedTask}}, &left)
	require.NoError(t, err)
	assert.Equal(t, ids, k.Records)
	assert.EqualValues(t, 9, k.Waiting.Total)
	k, err = s.Known(ref, []queue.Message{{Kind: queue.Link, Of: ids[1]}, {Kind: queue.DependencyFinished, Of: ids[2]}}, &left)
	require.NoError(t, err)
	assert.True(t, k.Waiters[ids[1]])
	assert.EqualValues(t, 5, k.Linked)
	assert.Equal(t, queue.DependencyDone, k.Outcomes[ids[2]])

	var all []queue.ID
	var after Place
	for pages := 0; ; pages++ {
		out, next, err := s.Dependencies(ref, after, 10, 200)
		require.NoError(t, err)
		for _, d := range out {
			all = append(all, d.ID)
		}
		if after = next; len(next) == 0 {
			assert.Equal(t, 2, pages)
			break
		}
	}
	assert.Equal(t, ids, all)
	out, next, err := s.Dependencies(ref, nil, 2, 1<<20)
	require.NoError(t, err)
	assert.Len(t, out, 2)
	_, _, err = s.Dependencies(other, next, 2, 1<<20)
	require.ErrorIs(t, err, ErrPlace)
	_, _, err = s.Dependencies(ref, next[:5], 2, 1<<20)
	require.ErrorIs(t, err, ErrPlace)
}

// A replicated batch sees which tasks have links, although the entries are not applied yet.
func TestLinksInFlightAreFound(t *testing.T) {
	s := openReplicated(t, vfs.NewMem())
	defer func() { require.NoError(t, s.Close()) }()
	tenure := Tenure{Term: 1, ID: 7}
	p := &paper{entries: [][]byte{tenure.Begin()}}
	b := s.NewReplicatedBatch(p, tenure)
	linked, free, again := queue.Ref{Seq: 1}, queue.Ref{Seq: 2}, queue.Ref{Seq: 3}
	check := func(b *Batch) {
		t.Helper()
		assert.True(t, b.FindLinked(linked))
		assert.False(t, b.FindLinked(free))
		assert.True(t, b.FindLinked(again))
		assert.False(t, b.FindLinked(queue.Ref{Seq: 4}))
	}
	for _, change := range []func(){
		func() { b.PutLinked(linked, 1); b.PutLinked(free, 1); b.PutLinked(again, 1) },
		func() { b.DropLinked(free); b.DropLinked(again) },
		func() { b.PutLinked(again, 1) },
	} {
		change()
		_, err := b.Submit()
		require.NoError(t, err)
	}
	check(b)
	for i, entry := range p.entries {
		_, err := s.Apply([]LogEntry{{Index: uint64(i + 1), Term: 1, Data: entry}})
		require.NoError(t, err)
	}
	check(s.NewReplicatedBatch(p, tenure))
}
