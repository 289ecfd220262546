package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/block/blockkind"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/storage/record"
)

// listTries limits how often the tables are listed, since a compaction may remove a table before
// its filter is read.
const listTries = 10

// filterBlock is the name of the block of a table that contains its Bloom filter.
var filterBlock = "fullfilter." + tableFilter.Name()

// openedTables describes the tables of idempotency keys that a store had when it was opened, and
// keeps the Bloom filters of these tables in memory. When a store is opened, all of its keys are in
// tables and its memtables are empty. Later compactions replace tables, but the filters in memory
// still contain all of these keys. A restarted server can therefore recognize new keys immediately,
// without first adding all stored keys to a filter.
//
// openedTables is immutable. Nil means that there are no such tables.
type openedTables struct {
	// levels mirrors Pebble's levels. Tables of level 0 may overlap; tables of other levels are
	// sorted and do not overlap.
	levels [][]openedTable
	bytes  int64 // total size of the filters, which was taken from the budget
	last   int64 // last bucket from which a table may contain a key
}

// openedTable is one table. Its filter is nil if the budget had no room for the filter, or if the
// table has no filter.
type openedTable struct {
	smallest, largest []byte
	filter            []byte
	last              int64 // last bucket from which the table may contain a key
}

// anyKey returns an openedTables that reports every key of the buckets up to last as possibly
// present.
func anyKey(last int64) *openedTables {
	all := openedTable{smallest: []byte{record.PrefixKey}, largest: []byte{record.PrefixKey + 1}, last: last}
	return &openedTables{levels: [][]openedTable{{all}}, last: last}
}

// readOpenedTables returns the tables that contain keys of buckets up to last. The memtables of the
// database must be empty. readOpenedTables loads as many filters as the budget has room for. If it
// cannot read a filter, it returns the result of anyKey, and the error.
func readOpenedTables(db *pebble.DB, fs vfs.FS, dir string, last int64, budget *memory.Budget) (*openedTables, error) {
	t, err := &openedTables{last: last}, os.ErrNotExist
	for try := 0; try < listTries && errors.Is(err, os.ErrNotExist); try++ {
		budget.Give(t.bytes)
		t.levels, t.bytes = nil, 0
		err = t.read(db, fs, dir, budget)
	}
	if err != nil {
		budget.Give(t.bytes)
		return anyKey(last), fmt.Errorf("read the filters of tables: %w", err)
	}
	return t, nil
}

func (t *openedTables) read(db *pebble.DB, fs vfs.FS, dir string, budget *memory.Budget) error {
	levels, err := db.SSTables(pebble.WithKeyRangeFilter([]byte{record.PrefixKey}, []byte{record.PrefixKey + 1}))
	if err != nil {
		return err
	}
	for _, tables := range levels {
		level := make([]openedTable, 0, len(tables))
		for _, info := range tables {
			one := openedTable{smallest: info.Smallest.UserKey, largest: info.Largest.UserKey, last: t.last}
			if one.largest[0] == record.PrefixKey {
				// Parsing fails if largest is the end of a range deletion, which is shorter than a
				// key.
				if bucket, _, err := record.ParseKeyKey(one.largest); err == nil {
					one.last = min(one.last, bucket)
				}
			}
			path := fs.PathJoin(dir, fmt.Sprintf("%s.sst", info.BackingSSTNum))
			if one.filter, err = readTableFilter(fs, path, budget); err != nil {
				return err
			}
			t.bytes += int64(len(one.filter))
			level = append(level, one)
		}
		t.levels = append(t.levels, level)
	}
	return nil
}

// readTableFilter returns the Bloom filter of a table. It returns nil if the table has no filter or
// the budget has no room for it.
func readTableFilter(fs vfs.FS, path string, budget *memory.Budget) (filter []byte, err error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), file.Close())
	}
	ctx := context.Background()
	table, err := sstable.NewReader(ctx, readable, sstable.ReaderOptions{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), readable.Close())
	}
	defer closeAfter(table, &err)
	layout, err := table.Layout()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	at := slices.IndexFunc(layout.Filter, func(h sstable.NamedBlockHandle) bool { return h.Name == filterBlock })
	if at < 0 || !budget.Take(int64(layout.Filter[at].Length)) {
		return nil, nil
	}
	handle, err := table.BlockReader().Read(ctx, block.NoReadEnv, nil, layout.Filter[at].Handle, blockkind.Filter, func(*block.Metadata, []byte) error { return nil })
	if err != nil {
		budget.Give(int64(layout.Filter[at].Length))
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer handle.Release()
	return slices.Clone(handle.BlockData()), nil
}

func (t *openedTables) mayHave(key []byte) bool {
	for i, level := range t.levels {
		first := 0
		if i > 0 {
			first = sort.Search(len(level), func(n int) bool { return bytes.Compare(level[n].largest, key) >= 0 })
		}
		for n := first; n < len(level); n++ {
			one := &level[n]
			if bytes.Compare(key, one.smallest) < 0 {
				if i > 0 {
					break
				}
				continue
			}
			if bytes.Compare(key, one.largest) <= 0 && (one.filter == nil || tableFilter.MayContain(pebble.TableFilter, one.filter, key)) {
				return true
			}
		}
	}
	return false
}

// without returns only the tables that may contain keys of buckets after bucket. It gives the
// memory of the other tables' filters back to the budget.
func (t *openedTables) without(bucket int64, budget *memory.Budget) *openedTables {
	if t == nil {
		return nil
	}
	kept := &openedTables{last: t.last}
	for _, level := range t.levels {
		level = slices.DeleteFunc(slices.Clone(level), func(one openedTable) bool { return one.last <= bucket })
		for _, one := range level {
			kept.bytes += int64(len(one.filter))
		}
		kept.levels = append(kept.levels, level)
	}
	budget.Give(t.bytes - kept.bytes)
	return kept
}
