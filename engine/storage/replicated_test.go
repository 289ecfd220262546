package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
)

type paper struct{ entries [][]byte }

type written struct{}

func (written) Wait() error { return nil }
func (written) Done() bool  { return false }

func (p *paper) Propose(entry []byte) Proposal {
	p.entries = append(p.entries, entry)
	return written{}
}

func (*paper) Verify() Proposal { return written{} }

func openReplicated(t *testing.T, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open("shard", Options{FS: fs, Durability: None, Replicated: true})
	require.NoError(t, err)
	return s
}

// entriesOf returns the first entry of a tenure, followed by one entry for each task that it puts.
func entriesOf(t *testing.T, s *Store, tenure Tenure, seqs ...uint64) [][]byte {
	t.Helper()
	p := &paper{entries: [][]byte{tenure.Begin()}}
	b := s.NewReplicatedBatch(p, tenure)
	for _, seq := range seqs {
		b.PutTask(queue.Ref{Queue: 1, Seq: seq}, queue.Task{Payload: []byte{byte(tenure.ID), byte(seq)}})
		_, err := b.Submit()
		require.NoError(t, err)
	}
	return p.entries
}

func has(t *testing.T, s *Store, seq uint64) bool {
	t.Helper()
	_, found, err := s.Task(queue.Ref{Queue: 1, Seq: seq})
	require.NoError(t, err)
	return found
}

func TestEntriesAreAppliedInTheirLead(t *testing.T) {
	s := openReplicated(t, vfs.NewMem())
	defer func() { require.NoError(t, s.Close()) }()
	first, second := entriesOf(t, s, Tenure{Term: 2, ID: 7}, 1, 2, 3), entriesOf(t, s, Tenure{Term: 2, ID: 8}, 4, 5)
	require.False(t, has(t, s, 1), "a proposal alone applies nothing")
	tests := []struct {
		what  string
		entry []byte
		term  uint64
		seq   uint64 // of the task
		skip  bool
	}{
		{"before its tenure begins", first[1], 2, 1, true},
		{"the tenure begins", first[0], 2, 0, false},
		{"the next one", first[1], 2, 1, false},
		{"a gap", first[3], 2, 3, true},
		{"in another term", first[2], 3, 2, true},
		{"after the gap was filled", first[2], 2, 2, false},
		{"again", first[2], 2, 2, true},
		{"of a tenure that has not begun", second[1], 2, 4, true},
		{"another tenure begins, in another term", second[0], 4, 0, true},
		{"another tenure begins", second[0], 2, 0, false},
		{"of a tenure that has ended", first[3], 2, 3, true},
		{"of the new one", second[1], 2, 4, false},
	}
	for i, test := range tests {
		out, err := s.Apply([]LogEntry{{Index: uint64(10 + i), Term: test.term, Data: test.entry}})
		require.NoError(t, err, test.what)
		assert.Equal(t, []bool{test.skip}, out.Skipped, test.what)
		assert.Equal(t, uint64(10+i), s.Position().Index, "the position advances for skipped entries, too")
		if !test.skip && test.seq > 0 {
			assert.True(t, has(t, s, test.seq), test.what)
		}
	}
	assert.False(t, has(t, s, 3))
	assert.False(t, has(t, s, 5))
}

func TestEntriesAreAppliedOnce(t *testing.T) {
	s := openReplicated(t, vfs.NewMem())
	defer func() { require.NoError(t, s.Close()) }()
	entries := entriesOf(t, s, Tenure{Term: 1, ID: 7}, 1, 2)
	all := make([]LogEntry, len(entries))
	for i := range entries {
		all[i] = LogEntry{Index: uint64(i + 1), Term: 1, Data: entries[i]}
	}
	_, err := s.Apply(all[:2])
	require.NoError(t, err)

	before := s.db.Metrics().Keys
	out, err := s.Apply(all[:2])
	require.NoError(t, err)
	assert.Equal(t, []bool{false, false}, out.Skipped, "the proposer learns that it is applied")
	assert.Equal(t, before, s.db.Metrics().Keys)
	_, err = s.Apply(all)
	require.NoError(t, err)
	assert.True(t, has(t, s, 2))
	assert.Equal(t, Position{Index: 3, Term: 1, Tenure: 7, Seq: 2}, s.Position())
}

// A crash of a store without a log loses the last applied entries, together with the position that
// covers them.
func TestReplicatedStoreGoesOnFromItsPosition(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openReplicated(t, fs)
	entries := entriesOf(t, s, Tenure{Term: 1, ID: 7}, 1, 2, 3)
	apply := func(s *Store, from, to int) {
		for i := from; i < to; i++ {
			_, err := s.Apply([]LogEntry{{Index: uint64(i + 1), Term: 1, Data: entries[i]}})
			require.NoError(t, err)
		}
	}
	apply(s, 0, 3)
	require.NoError(t, s.Flush())
	apply(s, 3, 4)
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	require.NoError(t, s.Close())

	s, err := Open("shard", Options{FS: crashed, Durability: None, Replicated: true, Entries: func(from, to uint64, visit func(LogEntry) error) error {
		for i := from; i <= to; i++ {
			if err := visit(LogEntry{Index: i, Term: 1, Data: entries[i-1]}); err != nil {
				return err
			}
		}
		return nil
	}})
	require.NoError(t, err)
	assert.Equal(t, Position{Index: 3, Term: 1, Tenure: 7, Seq: 2}, s.Position())
	assert.False(t, has(t, s, 3))
	apply(s, 0, 4)
	assert.True(t, has(t, s, 3))
	require.NoError(t, s.Close())

	s = openReplicated(t, crashed)
	defer func() { require.NoError(t, s.Close()) }()
	assert.Equal(t, uint64(4), s.Position().Index, "after an orderly close there is nothing to apply again")
}

func TestEntryOfSystemRecordsSaysSo(t *testing.T) {
	s := openReplicated(t, vfs.NewMem())
	defer func() { require.NoError(t, s.Close()) }()
	tenure := Tenure{Term: 1, ID: 7}
	p := &paper{entries: [][]byte{tenure.Begin()}}
	b := s.NewReplicatedBatch(p, tenure)
	for _, system := range []bool{false, true, false} {
		b.PutTask(queue.Ref{Queue: 1, Seq: uint64(len(p.entries))}, queue.Task{})
		if system {
			b.PutSystem("tenant", []byte("quota"))
		}
		_, err := b.Submit()
		require.NoError(t, err)
	}
	var got []bool
	for i, e := range p.entries {
		out, err := s.Apply([]LogEntry{{Index: uint64(i + 1), Term: 1, Data: e}})
		require.NoError(t, err)
		got = append(got, out.System)
	}
	assert.Equal(t, []bool{false, false, true, false}, got)
}

// A key in a proposal under way is found, and so is one in an applied entry.
func TestKeysOnTheirWayAreFound(t *testing.T) {
	s := openReplicated(t, vfs.NewMem())
	defer func() { require.NoError(t, s.Close()) }()
	tenure := Tenure{Term: 1, ID: 7}
	p := &paper{entries: [][]byte{tenure.Begin()}}
	b := s.NewReplicatedBatch(p, tenure)
	for n := range 3 {
		b.PutKey(1, string(rune('a'+n)), 5, queue.KeyRef{ExpiresAtMs: int64(100 + n)})
		_, err := b.Submit()
		require.NoError(t, err)
	}
	b.PutKey(1, "a", 6, queue.KeyRef{ExpiresAtMs: 500})
	_, err := b.Submit()
	require.NoError(t, err)
	for key, want := range map[string]int64{"a": 500, "b": 101, "c": 102} {
		k, found := b.FindKey(1, key, []int64{5, 6})
		assert.True(t, found, key)
		assert.Equal(t, want, k.ExpiresAtMs, key)
	}
	_, found := b.FindKey(2, "a", []int64{5, 6})
	assert.False(t, found)
}

// The last change of a unique key in a proposal under way counts, before and after the proposal is
// applied.
func TestUniqueKeysOnTheirWayAreFound(t *testing.T) {
	s := openReplicated(t, vfs.NewMem())
	defer func() { require.NoError(t, s.Close()) }()
	tenure := Tenure{Term: 1, ID: 7}
	p := &paper{entries: [][]byte{tenure.Begin()}}
	b := s.NewReplicatedBatch(p, tenure)
	free, taken, moved := queue.HashKey("free"), queue.HashKey("taken"), queue.HashKey("moved")
	put := func(key queue.KeyHash, bucket int64, seq uint64) {
		b.PutUnique(1, key, queue.UniqueRef{Ref: queue.Ref{Queue: 1, Seq: seq}, Bucket: bucket})
	}
	submit := func() {
		_, err := b.Submit()
		require.NoError(t, err)
	}
	put(free, queue.Unlimited, 1)
	put(taken, queue.Unlimited, 2)
	put(moved, 5, 3)
	submit()
	b.DropUnique(1, free, queue.Unlimited)
	b.DropUnique(1, moved, 5)
	submit()
	put(moved, 6, 4)
	check := func(b *Batch) {
		t.Helper()
		find := func(key queue.KeyHash, buckets ...int64) uint64 {
			k, found := b.FindUnique(1, key, buckets)
			assert.Equal(t, found, k != queue.UniqueRef{})
			return k.Ref.Seq
		}
		assert.Zero(t, find(free, queue.Unlimited))
		assert.Equal(t, uint64(2), find(taken, 5, queue.Unlimited))
		assert.Equal(t, uint64(4), find(moved, 5, 6))
		assert.Zero(t, find(moved, 5, queue.Unlimited))
		_, found := b.FindUnique(2, taken, []int64{queue.Unlimited})
		assert.False(t, found)
	}
	check(b)
	submit()
	check(b)
	for i, entry := range p.entries {
		_, err := s.Apply([]LogEntry{{Index: uint64(i + 1), Term: 1, Data: entry}})
		require.NoError(t, err)
	}
	check(s.NewReplicatedBatch(p, tenure))
}

func TestBadEntryIsRefused(t *testing.T) {
	s := openReplicated(t, vfs.NewMem())
	defer func() { require.NoError(t, s.Close()) }()
	_, err := s.Apply([]LogEntry{{Index: 1, Term: 1, Data: []byte{1, 2}}})
	require.EqualError(t, err, "log entry 1: it has 2 bytes, expected at least 26")
	newer := Tenure{Term: 1, ID: 7}.Begin()
	newer[0] = 9
	_, err = s.Apply([]LogEntry{{Index: 1, Term: 1, Data: newer}})
	require.EqualError(t, err, "log entry 1: it has format 9, this program reads format 1: use a newer one")
	assert.Zero(t, s.Position())
}

func TestEntryHeadsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := entryHead{
			system: rapid.Bool().Draw(t, "system"), noKeys: rapid.Bool().Draw(t, "no keys"), term: rapid.Uint64().Draw(t, "term"),
			tenure: rapid.Uint64().Draw(t, "tenure"), seq: rapid.Uint64().Draw(t, "seq"),
		}
		batch := rapid.SliceOf(rapid.Byte()).Draw(t, "batch")
		got, err := parseEntry(h.append(batch))
		if n := len(batch); n > 0 && n < 12 {
			require.ErrorContains(t, err, "expected at least 12")
			return
		}
		require.NoError(t, err)
		assert.Equal(t, len(batch), len(got.batch))
		got.batch = nil
		assert.Equal(t, h, got)
		p := Position{Index: h.seq, Term: h.term, Tenure: h.tenure, Seq: h.term}
		floor := Position{Index: rapid.Uint64Range(0, h.seq).Draw(t, "floor"), Term: h.tenure, Tenure: h.seq, Seq: 3}
		back, floorBack, err := decodePosition(p.encode(floor))
		require.NoError(t, err)
		assert.Equal(t, p, back)
		if floor.Index == p.Index {
			floor = p
			assert.Len(t, p.encode(floor), 33, "the format of a program without young records")
		}
		assert.Equal(t, floor, floorBack)
	})
}

func FuzzEntry(f *testing.F) {
	f.Add(Tenure{Term: 1, ID: 2}.Begin())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := openReplicated(t, vfs.NewMem())
		defer func() { require.NoError(t, s.Close()) }()
		_, err := s.Apply([]LogEntry{{Index: 1, Term: 1, Data: b}})
		if err != nil {
			assert.Contains(t, err.Error(), "log entry 1")
		}
	})
}

// Recover finds the same leases whether ended ones were skipped or not, and also those that begin
// later.
func TestSkippedLeasesAreThoseThatEnded(t *testing.T) {
	s := openReplicated(t, vfs.NewMem())
	defer func() { require.NoError(t, s.Close()) }()
	p := &paper{entries: [][]byte{Tenure{Term: 1, ID: 7}.Begin()}}
	b := s.NewReplicatedBatch(p, Tenure{Term: 1, ID: 7})
	index := uint64(0)
	apply := func() {
		t.Helper()
		if !b.Empty() {
			_, err := b.Submit()
			require.NoError(t, err)
		}
		for _, e := range p.entries {
			index++
			out, err := s.Apply([]LogEntry{{Index: index, Term: 1, Data: e}})
			require.NoError(t, err)
			require.Equal(t, []bool{false}, out.Skipped)
		}
		p.entries = nil
	}
	lease := func(id uint64) {
		ref := queue.Ref{Queue: 1, Seq: id}
		b.PutTask(ref, queue.Task{})
		b.PutLease(id, []queue.LeaseRef{{Ref: ref, Attempt: 1, LeaseMs: 5, ExpiresAtMs: 100}}, 0)
	}
	requireLeases := func(first uint64, want ...uint64) {
		t.Helper()
		require.NoError(t, s.SkipEndedLeases())
		require.Equal(t, first, s.firstLease.Load(), "the first lease batch to read")
		got, err := s.Recover()
		require.NoError(t, err)
		var ids []uint64
		for _, l := range got.Leases {
			ids = append(ids, l.Batch)
		}
		require.Equal(t, want, ids)
	}
	apply()
	requireLeases(0)
	for id := range uint64(5) {
		lease(id + 1)
	}
	apply()
	requireLeases(1, 1, 2, 3, 4, 5)
	b.DropLease(1)
	b.DropLease(2)
	b.DropLease(4)
	apply()
	requireLeases(3, 3, 5)
	b.PutExtension(3, 0, 200)
	apply()
	requireLeases(3, 3, 5)
	b.DropExtension(3, 0)
	b.DropLease(3)
	b.DropLease(5)
	apply()
	requireLeases(3) // none is stored; the next one may have any later number
	lease(6)
	lease(7)
	apply()
	requireLeases(6, 6, 7)
	b.ReplaceLease(7, []queue.LeaseRef{{Ref: queue.Ref{Queue: 1, Seq: 7}, Attempt: 1, LeaseMs: 5, ExpiresAtMs: 100}}, 0)
	apply()
	requireLeases(6, 6, 7) // the first is in the log only, the other is stored
	require.NoError(t, s.StoreYoung(index))
	lease(8)
	apply()
	requireLeases(6, 6, 7, 8) // now the last one is in the log only
	b.DropLease(6)
	b.DropLease(7)
	apply()
	requireLeases(8, 8)
}
