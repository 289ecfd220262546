package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
	"github.com/pronybench/prony/engine/storage/young"
)

// Most tasks and leases live for milliseconds. A store writes their records to Pebble's log only, as LogData of the batch that puts them,
// and holds them in memory: they take no room in a memtable, are not flushed, and leave no deletions in tables. Their end is LogData too.
//
// Pebble removes a log once its memtable is flushed. So the log of a record is kept (disk.KeptLogs) until the record has ended, or was
// stored under its key as other records are:
//
//  1. Pebble begins a new log: because a memtable is full, or because the store has it do so after youngLogBytes.
//  2. The next commits store the records that are left in the logs before, the oldest first, a piece in each commit.
//  3. The commit that stores the last of them sets the record PrefixFloor, which says that they are stored.
//  4. The next time that Pebble begins a log, the log with that commit is on the disk as a whole. The logs of step 1 may then go.
//
// Records are numbered by their commits. PrefixFloor has the number up to which none is young any more.
type youngRecords struct {
	mu sync.Mutex // held during a commit
	*young.Records
	bytesMax int64 // of Records
	direct   int   // how many callers want all records to be stored at once
	drops    young.Drops
	floor    uint64 // as PrefixFloor has it
	logBytes int64  // committed since the store had Pebble begin a log
	logMax   int64

	puts, ends, stored atomic.Uint64
}

const (
	// DefaultYoungBytes bounds the memory of records that are in the log only. Further records are stored at once.
	DefaultYoungBytes = 32 << 20
	// youngLogBytes is after how many bytes the store has Pebble begin a new log.
	youngLogBytes = 64 << 20
	// storeBytes is about how many bytes of young records a commit stores at least, if their log is to go.
	storeBytes = 64 << 10
	// storeAtOnceBytes is about how many bytes of young records one batch has, when all are stored.
	storeAtOnceBytes = 1 << 20
)

// youngPrefixes are the prefixes of keys whose records may be young.
var youngPrefixes = [...]byte{record.PrefixTask, record.PrefixLease}

// taskKey returns the key of a task among the young records.
func taskKey(ref queue.Ref) young.Key {
	return young.Key{Prefix: record.PrefixTask, Queue: ref.Queue, Priority: ref.Priority, Seq: ref.Seq}
}

// leaseKey returns the key of a lease batch among the young records.
func leaseKey(batch uint64) young.Key { return young.Key{Prefix: record.PrefixLease, Seq: batch} }

// appendStoredKey appends the key under which a young record is stored.
func appendStoredKey(b []byte, k young.Key) []byte {
	b = append(b, k.Prefix)
	if k.Prefix == record.PrefixTask {
		b = append(binary.BigEndian.AppendUint32(b, k.Queue), k.Priority)
	}
	return binary.BigEndian.AppendUint64(b, k.Seq)
}

// youngKey returns the key among the young records of a stored key, if records with such keys may be young.
func youngKey(key []byte) (k young.Key, ok bool) {
	switch {
	case len(key) == record.RefKeyLen && key[0] == record.PrefixTask:
		ref, err := record.ParseRefKey(key)
		return taskKey(ref), err == nil
	case len(key) == record.IDKeyLen && key[0] == record.PrefixLease:
		return leaseKey(record.IDOf(key)), true
	}
	return k, false
}

// settle writes the young records that the batch puts and drops to the batch, and stores older ones if their log is to go.
func (y *youngRecords) settleLocked(b *Batch) {
	own := int64(b.puts.Bytes())
	switch {
	case b.puts.Len() == 0:
	case y.direct > 0 || y.Bytes()+own > y.bytesMax || !y.Fits(&b.puts):
		b.puts.Each(func(k young.Key, value []byte) {
			y.Skip(k)
			y.Drop(k) // a lease that is put again
			b.setYoung(k, value)
		})
	default:
		y.puts.Add(uint64(b.puts.Len()))
		b.note(b.b.LogData(y.Add(&b.puts), nil))
	}
	b.puts.Reset()
	for _, k := range b.drops {
		if y.Drop(k) {
			y.ends.Add(1)
			y.drops.Add(k)
			continue
		}
		b.store.count.deletes.Add(1)
		b.stored = appendStoredKey(b.stored[:0], k)
		if k.Prefix == record.PrefixTask { // set exactly once
			b.note(b.b.SingleDelete(b.stored, nil))
		} else {
			b.note(b.b.Delete(b.stored, nil))
		}
	}
	b.drops = b.drops[:0]
	if drops := y.drops.Encoded(); drops != nil {
		b.note(b.b.LogData(drops, nil))
		y.drops.Reset()
	}
	if cut := b.store.files.Logs().Cut(); cut > y.floor {
		y.retireLocked(b, cut, max(storeBytes, 4*own))
	}
	if b.b.Count() == 0 && !b.b.Empty() { // Pebble skips batches without a key when it reads its log
		y.setFloorLocked(b)
	}
}

// retireLocked stores the records of commits up to a number, and at most about so many bytes.
func (y *youngRecords) retireLocked(b *Batch, upTo uint64, bytes int64) {
	y.Retire(upTo, bytes, func(k young.Key, value []byte) {
		y.stored.Add(1)
		b.setYoung(k, value)
	})
	if y.Floor() >= upTo {
		y.setFloorLocked(b)
	}
}

func (y *youngRecords) setFloorLocked(b *Batch) {
	y.floor = y.Floor()
	b.note(b.b.Set([]byte{record.PrefixFloor}, record.EncodeFloor(y.floor), nil))
}

// setYoung stores a record under its key.
func (b *Batch) setYoung(k young.Key, value []byte) {
	b.stored = appendStoredKey(b.stored[:0], k)
	b.store.count.sets.Add(1)
	b.store.count.setBytes.Add(uint64(len(b.stored) + len(value)))
	b.note(b.b.Set(b.stored, value, nil))
}

// commitYoung applies a batch together with the young records that it puts and drops.
func (s *Store) commitYoung(b *Batch) error {
	y := s.young
	y.mu.Lock()
	rotate := false
	err := func() error {
		y.settleLocked(b)
		if b.err != nil {
			return b.err
		}
		s.files.Logs().Committing(y.Number())
		s.flushes.Commit(b.b.Len())
		if err := s.apply(b.b); err != nil {
			return err
		}
		s.files.Logs().Stored(y.floor)
		y.logBytes += int64(b.b.Len())
		if rotate = y.logBytes >= y.logMax; rotate {
			y.logBytes = 0
			y.Trim(record.PrefixTask)
		}
		return nil
	}()
	y.mu.Unlock()
	if err == nil && rotate {
		_, err = s.db.AsyncFlush()
	}
	return err
}

// storeYoung stores all young records. Until release is called no record is young.
func (s *Store) storeYoung() (release func(), err error) {
	y := s.young
	if y == nil || s.readOnly {
		return func() {}, nil
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.direct++
	release = func() {
		y.mu.Lock()
		y.direct--
		y.mu.Unlock()
	}
	for y.Len() > 0 || y.floor < y.Number() {
		b := s.NewBatch()
		y.retireLocked(b, y.Number(), storeAtOnceBytes)
		s.flushes.Commit(b.b.Len())
		if err = b.err; err == nil {
			err = s.db.Apply(b.b, pebble.NoSync)
		}
		err = errors.Join(err, b.b.Close())
		if err != nil {
			y.direct--
			return nil, fmt.Errorf("store the records that are in the log only: %w", err)
		}
		s.files.Logs().Stored(y.floor)
	}
	return release, nil
}
