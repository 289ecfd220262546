package logs

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	dir   = "raft"
	never = time.Hour // a sync interval that does not end during a test
)

var (
	modes     = []storage.Durability{storage.Sync, storage.Interval, storage.None}
	term      = []byte("CurrentTerm")
	candidate = []byte("LastVoteCand")
)

func open(t require.TestingT, fs vfs.FS, o Options) *Store {
	o.FS = fs
	if o.Durability == "" {
		o.Durability = storage.Sync
	}
	if o.SyncInterval == 0 {
		o.SyncInterval = never
	}
	s, err := Open(dir, o)
	require.NoError(t, err)
	return s
}

func closeStore(t require.TestingT, s *Store) { require.NoError(t, s.Close()) }

// entries returns entries with indexes from first to last. Their terms and bytes identify them.
func entries(first, last, term uint64, size int) (out []*raft.Log) {
	for i := first; i <= last; i++ {
		data := make([]byte, size)
		copy(data, fmt.Sprint(i, " of term ", term))
		out = append(out, &raft.Log{Index: i, Term: term, Type: raft.LogCommand, Data: data})
	}
	return out
}

func requireBounds(t require.TestingT, g *Group, first, last uint64) {
	gotFirst, err := g.FirstIndex()
	require.NoError(t, err)
	gotLast, err := g.LastIndex()
	require.NoError(t, err)
	require.Equal(t, []uint64{first, last}, []uint64{gotFirst, gotLast}, "first and last index")
}

// requireEntries checks that the log contains exactly these entries.
func requireEntries(t require.TestingT, g *Group, want ...*raft.Log) {
	if len(want) == 0 {
		requireBounds(t, g, 0, 0)
		return
	}
	first, last := want[0].Index, want[len(want)-1].Index
	requireBounds(t, g, first, last)
	var got raft.Log
	for _, w := range want {
		require.NoError(t, g.GetLog(w.Index, &got))
		require.Equal(t, *w, got)
	}
	for _, i := range []uint64{0, first - 1, last + 1, last + 1000} {
		// Raft compares it with ==.
		require.Equal(t, raft.ErrLogNotFound, g.GetLog(i, &got), "index %d", i)
	}
}

func TestEntriesAreStored(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	g := s.Group(3)
	requireEntries(t, g)
	want := []*raft.Log{
		{Index: 5, Term: 2, Type: raft.LogConfiguration, Data: []byte("configuration"), Extensions: []byte("extensions"), AppendedAt: time.Unix(1700000000, 123456789).UTC()},
		{Index: 6, Term: 2, Type: raft.LogNoop},
		{Index: 7, Term: 3, Type: raft.LogCommand, Data: make([]byte, 100_000)},
	}
	require.NoError(t, g.StoreLogs(want[:2]))
	require.NoError(t, g.StoreLog(want[2]))
	require.NoError(t, g.StoreLogs(nil))
	requireEntries(t, g, want...)
	closeStore(t, s)
	s = open(t, fs, Options{})
	defer closeStore(t, s)
	requireEntries(t, s.Group(3), want...)
	require.Same(t, s.Group(3), s.Group(3))
}

// A returned entry does not change with later reads or writes.
func TestReadEntriesAreTheReaders(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	g := s.Group(0)
	data := []byte("first")
	require.NoError(t, g.StoreLog(&raft.Log{Index: 1, Data: data, Extensions: []byte("ext")}))
	copy(data, "XXXXX")
	var a, b raft.Log
	require.NoError(t, g.GetLog(1, &a))
	require.NoError(t, g.GetLog(1, &b))
	copy(b.Data, "YYYYY")
	b.Extensions = append(b.Extensions, "ZZZ"...)
	assert.Equal(t, "first", string(a.Data))
	assert.Equal(t, "YYYYY", string(b.Data))
}

func TestGroupsDoNotMix(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	groups := []uint16{0, 1, 2, 255, 256, 1<<16 - 1}
	for i, n := range groups {
		g := s.Group(n)
		if n != 2 { // this group has voted but has no entries
			require.NoError(t, g.StoreLogs(entries(uint64(i+1), uint64(i+5), uint64(n)+1, 10)))
		}
		require.NoError(t, g.SetUint64(term, uint64(n)+1))
		require.NoError(t, g.Set(candidate, fmt.Append(nil, n)))
	}
	require.NoError(t, s.Group(1).DeleteRange(0, 100))
	for range 2 {
		for i, n := range groups {
			g := s.Group(n)
			if n == 1 || n == 2 {
				requireEntries(t, g)
			} else {
				requireEntries(t, g, entries(uint64(i+1), uint64(i+5), uint64(n)+1, 10)...)
			}
			got, err := g.GetUint64(term)
			require.NoError(t, err)
			require.Equal(t, uint64(n)+1, got)
			who, err := g.Get(candidate)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(n), string(who))
		}
		closeStore(t, s)
		s = open(t, fs, Options{})
	}
	closeStore(t, s)
}

func TestRangesAreDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		first, last   uint64
		left          []*raft.Log
		err           string
		again, failed bool
	}{
		"beginning":       {first: 10, last: 14, left: entries(15, 20, 1, 10)},
		"before and some": {first: 0, last: 14, left: entries(15, 20, 1, 10)},
		"end":             {first: 18, last: 20, left: entries(10, 17, 1, 10)},
		"end and after":   {first: 18, last: 1<<64 - 1, left: entries(10, 17, 1, 10)},
		"one":             {first: 10, last: 10, left: entries(11, 20, 1, 10)},
		"all":             {first: 10, last: 20},
		"more than all":   {first: 0, last: 1<<64 - 1},
		"before":          {first: 1, last: 9, left: entries(10, 20, 1, 10)},
		"after":           {first: 21, last: 30, left: entries(10, 20, 1, 10)},
		"nothing":         {first: 15, last: 14, left: entries(10, 20, 1, 10)},
		"middle":          {first: 12, last: 18, left: entries(10, 20, 1, 10), err: "delete entries 12 to 18 from the log of group 4: deleting from the middle of the log, which has entries 10 to 20, would leave a gap"},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			s := open(t, fs, Options{})
			require.NoError(t, s.Group(4).StoreLogs(entries(10, 20, 1, 10)))
			err := s.Group(4).DeleteRange(c.first, c.last)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.err)
			}
			requireEntries(t, s.Group(4), c.left...)
			closeStore(t, s)
			s = open(t, fs, Options{})
			requireEntries(t, s.Group(4), c.left...)
			if n := len(c.left); n > 0 { // deleted indexes can be written again
				more := entries(c.left[n-1].Index+1, c.left[n-1].Index+5, 2, 10)
				require.NoError(t, s.Group(4).StoreLogs(more))
				requireEntries(t, s.Group(4), append(c.left, more...)...)
			}
			closeStore(t, s)
		})
	}
}

// A log restarts after a snapshot beyond its end, as after a power loss under none.
func TestALogBeginsAnewAfterAGap(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	g := s.Group(1)
	require.NoError(t, g.StoreLogs(entries(1, 9, 1, 10)))
	require.NoError(t, g.StoreLogs(entries(20, 22, 2, 10)))
	requireEntries(t, g, entries(20, 22, 2, 10)...)
	require.True(t, g.IsMonotonic())
	closeStore(t, s)
	s = open(t, fs, Options{})
	requireEntries(t, s.Group(1), entries(20, 22, 2, 10)...)
	require.NoError(t, s.Group(1).StoreLogs(entries(23, 23, 2, 10)))
	requireEntries(t, s.Group(1), entries(20, 23, 2, 10)...)
	closeStore(t, s)
}

func TestEntriesThatDoNotFollowAreRefused(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	g := s.Group(1)
	for _, c := range []struct {
		logs []*raft.Log
		err  string
	}{
		{entries(0, 0, 1, 1), "append entries 0 to 0 to the log of group 1: unexpected index 0 of an entry: expected 1"},
		{append(entries(4, 5, 1, 1), entries(7, 7, 1, 1)...), "unexpected index 7 of an entry: expected 6"},
		{append(entries(4, 5, 1, 1), entries(5, 5, 1, 1)...), "unexpected index 5 of an entry: expected 6"},
	} {
		require.ErrorContains(t, g.StoreLogs(c.logs), c.err)
		requireEntries(t, g)
	}
	require.NoError(t, g.StoreLogs(entries(1, 5, 1, 1)))
	require.ErrorContains(t, g.StoreLogs(entries(5, 6, 2, 1)), "the log already has entries 1 to 5")
	requireEntries(t, g, entries(1, 5, 1, 1)...)
}

// Large appends are split into several commits, which bounds the memory of one commit.
func TestManyBytesAreDivided(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	want := entries(1, 9, 1, batchBytesMax/4)
	n, size := commitOf(want)
	require.Equal(t, 3, n)
	require.LessOrEqual(t, size, batchBytesMax)
	n, size = commitOf(entries(1, 2, 1, 2*batchBytesMax))
	require.Equal(t, 1, n)
	require.Greater(t, size, 2*batchBytesMax)
	require.NoError(t, s.Group(0).StoreLogs(want))
	requireEntries(t, s.Group(0), want...)
	c := s.Counters()
	assert.Equal(t, uint64(1), c.Appends)
	assert.Equal(t, uint64(9), c.Entries)
}

func TestStableStore(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	g := s.Group(1)
	_, err := g.Get(term)
	require.EqualError(t, err, "not found") // Raft compares the text
	_, err = g.GetUint64(term)
	require.EqualError(t, err, "not found")
	require.NoError(t, g.SetUint64(term, 1<<64-1))
	require.NoError(t, g.SetUint64(nil, 0))
	require.NoError(t, g.Set(term, []byte("a text of the same name")))
	require.NoError(t, g.Set(candidate, nil))
	require.NoError(t, g.Set(nil, []byte("first")))
	require.NoError(t, g.Set(nil, []byte("second")))
	closeStore(t, s)
	s = open(t, fs, Options{})
	defer closeStore(t, s)
	for name, want := range map[string]string{string(term): "a text of the same name", string(candidate): "", "": "second"} {
		got, err := s.Group(1).Get([]byte(name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
	for name, want := range map[string]uint64{string(term): 1<<64 - 1, "": 0} {
		got, err := s.Group(1).GetUint64([]byte(name))
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	requireEntries(t, s.Group(1))
}

func TestCounters(t *testing.T) {
	var took []time.Duration
	s := open(t, vfs.NewMem(), Options{Appended: func(d time.Duration) { took = append(took, d) }})
	defer closeStore(t, s)
	before := s.Counters()
	require.NoError(t, s.Group(0).StoreLogs(entries(1, 3, 1, 100)))
	require.NoError(t, s.Group(9).StoreLogs(entries(1, 1, 1, 100)))
	require.Error(t, s.Group(9).StoreLogs(entries(1, 1, 1, 100)))
	c := s.Counters()
	assert.Equal(t, uint64(4), c.Entries)
	assert.Equal(t, uint64(2), c.Appends)
	assert.Equal(t, uint64(4*(entryKeyLen+entryHeaderLen+1+100)), c.Bytes)
	assert.Equal(t, uint64(2), c.Syncs-before.Syncs)
	require.Len(t, took, 2)
	assert.Equal(t, uint64(took[0]+took[1]), c.AppendNs)
}

func TestClosedStore(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	g := s.Group(0)
	require.NoError(t, g.StoreLogs(entries(1, 2, 1, 10)))
	closeStore(t, s)
	closeStore(t, s)
	require.ErrorIs(t, g.StoreLogs(entries(3, 3, 1, 10)), ErrClosed)
	require.ErrorIs(t, g.DeleteRange(1, 1), ErrClosed)
	require.ErrorIs(t, g.GetLog(1, new(raft.Log)), ErrClosed)
	require.ErrorIs(t, g.SetUint64(term, 1), ErrClosed)
	require.ErrorIs(t, s.Persist(), ErrClosed)
	_, err := g.Get(candidate)
	require.ErrorIs(t, err, ErrClosed)
}

func TestOpeningFailsWithTheFolder(t *testing.T) {
	_, err := Open(dir, Options{FS: vfs.NewMem(), Durability: "often"})
	require.EqualError(t, err, `open the Raft logs in raft: durability "often" is not one of "sync", "interval", "none"`)
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	_, err = Open(dir, Options{FS: s.fs, Durability: storage.Sync})
	require.ErrorContains(t, err, "open the Raft logs in raft")
}
