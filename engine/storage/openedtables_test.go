package storage

import (
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// A store is closed or crashes, and is opened again, between puts, drops, flushes and compactions.
// It finds each live key, and few others. The memory bound has room for all filters or for some of
// them.
func TestOpenedTablesHideNoKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		roomy := rapid.Bool().Draw(t, "roomy")
		bytes := int64(DefaultKeyFilterBytes)
		if !roomy {
			bytes = sectionsMin * sectionBytes(sectionKeysMin)
		}
		bound := NewKeyFilters(bytes)
		fs := vfs.NewCrashableMem()
		o := Options{FS: fs, Durability: Sync, MemTableBytes: 256 << 10, KeyFilters: bound}
		opened := func() (*Store, *Batch) {
			s, err := Open("shard", o)
			require.NoError(t, err)
			return s, s.NewBatch()
		}
		s, b := opened()
		type put struct {
			name   string
			bucket int64
		}
		var live []put
		n := 0
		commit := func() {
			c, err := b.Submit()
			require.NoError(t, err)
			require.NoError(t, c.Wait())
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				require.NoError(t, s.Close())
				require.Zero(t, bound.budget.Taken())
				s, b = opened()
			case 1:
				o.FS = fs.CrashClone(vfs.CrashCloneCfg{})
				require.NoError(t, s.Close())
				fs = o.FS.(*vfs.MemFS)
				s, b = opened()
			case 2:
				bucket := rapid.Int64Range(1, 6).Draw(t, "dropped")
				b.DropKeys(bucket)
				commit()
				live = slices.DeleteFunc(live, func(k put) bool { return k.bucket <= bucket })
			case 3:
				require.NoError(t, s.Flush())
			case 4:
				require.NoError(t, s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false))
			default:
				bucket := rapid.Int64Range(1, 6).Draw(t, "bucket")
				for range rapid.IntRange(1, 3_000).Draw(t, "keys") {
					k := put{keyNumber(n * 7_919 % 1_000_003), bucket}
					b.PutKey(1, k.name, k.bucket, queue.KeyRef{ExpiresAtMs: bucket})
					live = append(live, k)
					n++
				}
				commit()
			}
			buckets := []int64{1, 2, 3, 4, 5, 6}
			for _, k := range live {
				require.Contains(t, s.filter.candidates(nil, record.AppendKeyName(nil, 1, k.name), buckets), k.bucket, "%+v", k)
			}
		}
		require.NoError(t, s.Close())
		o.FS = fs
		s, _ = opened()
		maybe := 0
		for i := range 1_000 {
			if len(s.filter.candidates(nil, record.AppendKeyName(nil, 1, keyNumber(i)+"x"), []int64{1, 2, 3, 4, 5, 6})) > 0 {
				maybe++
			}
		}
		if roomy {
			assert.Less(t, maybe, 200)
		}
		require.NoError(t, s.Close())
		require.Zero(t, bound.budget.Taken())
	})
}

// The memory of a table's filter is returned when the last bucket of its keys is dropped.
func TestFiltersOfTablesGoWithTheirBuckets(t *testing.T) {
	budget := memory.NewBudget(1_000)
	table := func(bucket int64, bytes int64) openedTable {
		require.True(t, budget.Take(bytes))
		return openedTable{smallest: record.KeyKey(bucket, 1, "a"), largest: record.KeyKey(bucket, 1, "z"), last: bucket, filter: make([]byte, bytes)}
	}
	tables := &openedTables{levels: [][]openedTable{{table(20, 100)}, {table(10, 200), table(20, 300)}}, bytes: 600, last: 20}
	for _, c := range []struct{ dropped, left int64 }{{9, 600}, {10, 400}, {20, 0}} {
		tables = tables.without(c.dropped, budget)
		assert.Equal(t, c.left, budget.Taken())
		assert.Equal(t, c.left, tables.bytes)
	}
}

// Without room for a table's filter, look-ups read the store for keys in the table's range, until
// the table's last bucket is dropped.
func TestTablesWithoutRoomForTheirFilterAreRead(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	b := s.NewBatch()
	putKeys(t, b, 10, 0, 200_000)
	closeStore(t, s)
	bound := NewKeyFilters(sectionsMin * sectionBytes(sectionKeysMin))
	s = open(t, fs, Options{KeyFilters: bound})
	defer closeStore(t, s)
	b = s.NewBatch()
	_, gets := lookUp(t, b, 0, 100, 10, 20)
	assert.Equal(t, uint64(100), gets, "only in the bucket of the tables")
	b.DropKeys(10)
	_, err := b.Submit()
	require.NoError(t, err)
	found, gets := lookUp(t, b, 0, 100, 20)
	assert.Zero(t, found)
	assert.Zero(t, gets)
}

// If tables cannot be read, every look-up reads the store, and no key is hidden.
func TestTablesThatCannotBeReadHideNoKey(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	putKeys(t, s.NewBatch(), 10, 0, 1_000)
	closeStore(t, s)
	s = open(t, fs, Options{})
	defer closeStore(t, s)
	s.filter.close()
	tables, err := readOpenedTables(s.db, vfs.NewMem(), "shard", 10, s.filter.bound.budget)
	require.ErrorContains(t, err, "read the filters of tables")
	s.filter.opened.Store(tables)
	found, gets := lookUp(t, s.NewBatch(), 0, 2_000, 10)
	assert.Equal(t, 1_000, found)
	assert.Equal(t, uint64(2_000), gets)
}
