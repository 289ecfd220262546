package logs

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func record(l *raft.Log) []byte {
	b := make([]byte, entryLen(l))
	putEntry(b, l)
	return b
}

func TestEntriesKeepAllOfTheirFields(t *testing.T) {
	drawBytes := func(t *rapid.T, name string) []byte {
		if b := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, name); len(b) > 0 {
			return b
		}
		return nil // Raft treats nil and empty the same
	}
	rapid.Check(t, func(t *rapid.T) {
		l := raft.Log{
			Index: rapid.Uint64().Draw(t, "index"), Term: rapid.Uint64().Draw(t, "term"),
			Type: raft.LogType(rapid.Byte().Draw(t, "type")), Data: drawBytes(t, "data"), Extensions: drawBytes(t, "extensions"),
		}
		if rapid.Bool().Draw(t, "appended at") {
			l.AppendedAt = time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
		}
		var got raft.Log
		require.NoError(t, readEntry(record(&l), l.Index, &got))
		require.Equal(t, l, got)
		require.Equal(t, l.AppendedAt.IsZero(), got.AppendedAt.IsZero())
	})
}

// The records are on disks: changing them requires a new format number.
func TestFormatOfAnEntry(t *testing.T) {
	l := raft.Log{Term: 0x0102, Type: raft.LogBarrier, Data: []byte("data"), Extensions: []byte("ex"), AppendedAt: time.Unix(0x0304, 5)}
	require.Equal(t, "\x01\x04"+"\x00\x00\x00\x00\x00\x00\x01\x02"+"\x00\x00\x00\x00\x00\x00\x03\x04"+"\x00\x00\x00\x05"+"\x02ex"+"data", string(record(&l)))
	require.Equal(t, "\x00\x07e\x00\x00\x00\x00\x00\x00\x00\x09", string(entryKey(7, 9)))
	require.Equal(t, "\x00\x07nCurrentTerm", string(stableKey(7, kindNumber, term)))
	require.Equal(t, "\x01\x00\x00\x00\x00\x00\x00\x00\x05", string(number(5)))
	require.Equal(t, "\x01n1", string(text([]byte("n1"))))
}

// readEntry either refuses a record or returns exactly the entry that it encodes.
func FuzzEntry(f *testing.F) {
	for _, l := range []*raft.Log{
		{},
		{Term: 1, Type: raft.LogCommand, Data: []byte("data"), Extensions: []byte("extensions"), AppendedAt: time.Unix(1, 2)},
		{Extensions: make([]byte, 200)},
	} {
		whole := record(l)
		f.Add(whole)
		f.Add(whole[:len(whole)-1])
		f.Add(whole[:entryHeaderLen])
	}
	f.Add([]byte{})
	f.Add([]byte{format + 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var l raft.Log
		if err := readEntry(b, 7, &l); err != nil {
			require.Equal(t, raft.Log{}, l)
			return
		}
		require.Equal(t, b, record(&l))
		require.Equal(t, uint64(7), l.Index)
	})
}

// Invalid records of the stable store are refused as well.
func FuzzStable(f *testing.F) {
	f.Add([]byte{})
	f.Add(number(5))
	f.Add(text([]byte("n1")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := readText(b); err == nil {
			require.Equal(t, b, text(got))
		}
		if got, err := readNumber(b); err == nil {
			require.Equal(t, b, number(got))
		}
	})
}

// Records of a newer server are refused, either when the store opens or when they are read.
func TestNewerRecordsAreRefused(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	g := s.Group(2)
	require.NoError(t, g.StoreLogs(entries(1, 2, 1, 10)))
	newer := []byte{format + 1, 0, 0}
	require.NoError(t, s.db.Set(entryKey(2, 1), newer, pebble.Sync))
	require.NoError(t, s.db.Set(stableKey(2, kindText, candidate), newer, pebble.Sync))
	require.NoError(t, s.db.Set(stableKey(2, kindNumber, term), newer, pebble.Sync))
	const refusal = "the record has format 2, this server reads format 1"
	err := g.GetLog(1, new(raft.Log))
	require.ErrorContains(t, err, "read entry 1 of group 2: "+refusal)
	_, err = g.Get(candidate)
	require.ErrorContains(t, err, `read "LastVoteCand" of group 2: `+refusal)
	_, err = g.GetUint64(term)
	require.ErrorContains(t, err, `read "CurrentTerm" of group 2: `+refusal)
	require.NoError(t, s.db.Set(entryKey(2, 2), newer, pebble.Sync))
	closeStore(t, s)
	_, err = Open(dir, Options{FS: fs, Durability: "sync"})
	require.ErrorContains(t, err, "open the Raft logs in raft: group 2: entry 2: "+refusal)
}

func TestForeignKeysAreRefused(t *testing.T) {
	for key, want := range map[string]string{
		"ab":                 "the key 6162 does not belong to a Raft log",
		"\x00\x01e123456789": "group 1: the key 000165313233343536373839 of an entry has 12 bytes, not 11",
	} {
		fs := vfs.NewMem()
		s := open(t, fs, Options{})
		require.NoError(t, s.db.Set([]byte(key), nil, pebble.Sync))
		closeStore(t, s)
		_, err := Open(dir, Options{FS: fs, Durability: "sync"})
		assert.ErrorContains(t, err, want)
	}
}
