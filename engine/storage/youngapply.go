package storage

import (
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/pronybench/prony/engine/storage/record"
	"github.com/pronybench/prony/engine/storage/young"
)

// A replicated store has young records, too. Its log is the log that the nodes share. Each task and
// lease is in the entry that puts it. Apply does not insert such a record into Pebble's memtable,
// but keeps it in memory as a part of its entry. The format of entries does not depend on which
// records are young. Each node decides this independently: the tables of the nodes differ, but the
// records of their stores do not.
//
// A restart needs two positions in the log, called F and P. The record PrefixPosition contains
// both, and each batch for Pebble sets it:
//
//	… removed …  │ retained entries                           │ entries that Raft applies again
//	             F: the records of earlier entries            P: the position. The tables have the effects of all earlier
//	                are in tables, or have ended                 entries, except for young records
//
// They are used as follows:
//
//  1. Old entries of the log are removed only up to an F that is on the disk (Kept). StoreYoung
//     stores the young records of old entries, so that F advances.
//  2. Before Raft starts, Open reads the entries after F up to P. It keeps in memory the tasks and
//     leases that they put, and drops those that they delete, without writing to Pebble.
//  3. It also drops the records that are in the tables, because they were stored later. The
//     remaining records are those that were young at P.
//
// P may reach the disk only after the log is on the disk up to P. Options.SyncLog is therefore
// called before Pebble records that a memtable is in tables.
//
// Copies of the store, and a store that was closed, contain no young records and need no log.
//
// F is always one of the positions in marks, which include the tenure: a restart needs the tenure
// at F to skip the same entries as Apply. If no record is young, F equals P, and the record
// PrefixPosition has the format of older programs, which have no young records.
type appliedLog struct {
	marks   []Position // ascending; the first is the F of the last batch
	since   int64      // bytes of entries since the last mark
	written uint64     // the F of the last batch
	durable uint64     // the F that is on the disk
}

const (
	// markBytes is the approximate number of bytes of entries between two marks.
	markBytes = 64 << 10
	// appliedPieceBytes is the approximate number of bytes of young records that are stored between
	// two calls of Apply.
	appliedPieceBytes = 64 << 10
)

func eachSet(entry []byte, visit func(k young.Key, at, n int)) error {
	for rest := batchrepr.Read(entry[entryHeadLen:]); ; {
		kind, key, value, ok, err := rest.Next()
		if err != nil || !ok {
			return err
		}
		if kind != pebble.InternalKeyKindSet {
			continue
		}
		if k, may := youngKey(key); may {
			visit(k, len(entry)-len(rest)-len(value), len(value))
		}
	}
}

// applyLocked keeps the tasks and leases of an entry in memory, if there is room, and adds the
// entry's other effects to a batch.
func (y *youngRecords) applyLocked(e LogEntry, to *pebble.Batch) error {
	y.Begin(e.Index, e.Data)
	room := y.direct == 0 && y.Bytes()+int64(len(e.Data)) <= y.bytesMax
	for rest := batchrepr.Read(e.Data[entryHeadLen:]); ; {
		kind, key, value, ok, err := rest.Next()
		if err != nil || !ok {
			return err
		}
		k, may := youngKey(key)
		switch kind {
		case pebble.InternalKeyKindSet:
			if may {
				if !y.Drop(k) && room && y.Put(k, len(e.Data)-len(rest)-len(value), len(value)) {
					y.puts.Add(1)
					continue
				}
				y.Pass(k)
			}
			err = to.Set(key, value, nil)
		case pebble.InternalKeyKindDelete:
			if !may || !y.Drop(k) {
				err = to.Delete(key, nil)
			}
			y.passReplaced(k)
		case pebble.InternalKeyKindSingleDelete:
			if !may || !y.Drop(k) {
				err = to.SingleDelete(key, nil)
			}
		case pebble.InternalKeyKindRangeDelete:
			if mayBeYoung(key, value) {
				return fmt.Errorf("it deletes the range of tasks or leases from %x to %x, which no program writes", key, value)
			}
			err = to.DeleteRange(key, value, nil)
		default:
			return fmt.Errorf("it has a mutation of kind %d, which no program writes", kind)
		}
		if err != nil {
			return err
		}
	}
}

// passReplaced makes the Set that follows the Delete of a task store the task in the tables: it is the
// replacement of a dead task. If the replacement were young, a replay that starts before the original
// could not tell that it is.
func (y *youngRecords) passReplaced(k young.Key) {
	if k.Prefix == record.PrefixTask {
		y.Pass(k)
	}
}

func (y *youngRecords) makeRoomLocked(entries []LogEntry, to *pebble.Batch) error {
	var own int64
	for _, e := range entries {
		own += int64(len(e.Data))
	}
	if y.Bytes()+own <= y.bytesMax {
		return nil
	}
	return y.storeToLocked(to, math.MaxUint64, max(storeBytes, storeAhead*own))
}

// storeToLocked stores young records of entries up to the index upTo, until it has stored about the
// given number of bytes.
func (y *youngRecords) storeToLocked(to *pebble.Batch, upTo uint64, bytes int64) (err error) {
	var key []byte
	y.Retire(upTo, bytes, func(k young.Key, value []byte) {
		y.stored.Add(1)
		key = appendStoredKey(key[:0], k)
		err = errors.Join(err, to.Set(key, value, nil))
	})
	return err
}

func (a *appliedLog) markLocked(at Position, bytes int) {
	if a.since += int64(bytes); a.since >= markBytes {
		a.since, a.marks = 0, append(a.marks, at)
	}
}

func (y *youngRecords) setPositionLocked(at Position, to *pebble.Batch) error {
	a := &y.applied
	if y.Len() == 0 {
		a.marks = append(a.marks[:0], at)
	}
	for upTo := y.Floor(); len(a.marks) > 1 && a.marks[1].Index <= upTo; {
		a.marks = a.marks[1:]
	}
	a.written = a.marks[0].Index
	if err := to.Set([]byte{record.PrefixPosition}, at.encode(a.marks[0]), nil); err != nil {
		return fmt.Errorf("set the position: %w", err)
	}
	return nil
}

// StoreYoung stores the young tasks and leases that were put by entries up to index upTo. It stores
// them in several steps, so that Apply can run in between. After the next Flush, Kept returns
// approximately upTo or more.
func (s *Store) StoreYoung(upTo uint64) error {
	for more := true; more; {
		var err error
		if more, err = s.young.storeApplied(upTo); err != nil {
			return fmt.Errorf("store the records that are in the log only: %w", err)
		}
	}
	return nil
}

// storeApplied stores a part of the young records of entries up to index upTo. more is true if
// further such records may exist.
func (y *youngRecords) storeApplied(upTo uint64) (more bool, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	at := y.on.Position()
	if y.Len() > 0 && y.Floor() >= upTo || y.Len() == 0 && y.applied.written == at.Index {
		return false, nil
	}
	b := y.on.db.NewBatch()
	defer closeAfter(b, &err)
	if err := y.storeToLocked(b, upTo, appliedPieceBytes); err != nil {
		return false, err
	}
	if err := y.setPositionLocked(at, b); err != nil {
		return false, err
	}
	if y.Len() == 0 || y.Floor() >= upTo {
		y.retirements.Add(1)
		y.Trim(record.PrefixTask)
	}
	y.on.flushes.Commit(b.Len())
	y.noteLocked()
	return true, y.on.db.Apply(b, pebble.NoSync)
}

// Kept returns an index of the shared log: a restart needs all entries after it.
func (s *Store) Kept() uint64 {
	s.young.mu.Lock()
	defer s.young.mu.Unlock()
	return s.young.applied.durable
}
