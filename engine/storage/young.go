package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
	"github.com/pronybench/prony/engine/storage/young"
)

// Most tasks and leases live for milliseconds. A store writes their records to Pebble's log only,
// as LogData of the batch that puts them, and holds them in memory. So they use no room in a
// memtable, are not flushed, and leave no deletions in tables. Their removal is LogData, too.
//
// Pebble removes a log once its memtable is flushed. So the log of a record is retained
// (disk.KeptLogs) until the record has ended or was stored under its key like other records:
//
//  1. Pebble begins a new log, because a memtable is full or because the store requests it after
//     Options.YoungLogBytes.
//  2. The next commits store the records that are left in the earlier logs: oldest first, a piece
//     in each commit.
//  3. The commit that stores the last of them sets the record PrefixFloor, which states that they
//     are stored.
//  4. When the log with that commit is complete on the disk and Pebble begins another one, the logs
//     of step 1 may be removed.
//
// Records have the numbers of their commits. PrefixFloor has a number: records of that commit and
// of earlier ones are not young. It also states whether later ones may be. youngrecover.go
// describes the recovery after a crash, and youngapply.go the differences in a replicated store.
type youngRecords struct {
	mu sync.Mutex // held during a commit
	*young.Records
	bytesMax int64 // bound on the memory of Records
	direct   int   // number of callers that require all records to be stored immediately
	drops    young.Drops
	floor    record.Floor // the content of PrefixFloor
	begun    uint64       // number of logs that Pebble had begun at the last commit
	logBytes int64        // committed since the current log began
	logMax   int64
	applied  appliedLog // of a replicated store

	puts, stored, retirements atomic.Uint64
	live, bytes               atomic.Int64 // after the last commit
}

const (
	// DefaultYoungBytes bounds the memory of records that are in the log only. To make room, the
	// oldest ones are stored.
	DefaultYoungBytes = 32 << 20
	// storeBytes is the approximate minimum number of bytes of young records that a commit stores
	// when their log is due for removal.
	storeBytes = 64 << 10
	// storeAtOnceBytes is the approximate size of one batch when all young records are stored.
	storeAtOnceBytes = 1 << 20
	// storeAhead is the ratio of young bytes that a commit stores to those that it puts, when their
	// log is due for removal.
	storeAhead = 4
)

// youngPrefixes are the prefixes of keys whose records may be young.
var youngPrefixes = [...]byte{record.PrefixTask, record.PrefixLease}

func taskKey(ref queue.Ref) young.Key {
	return young.Key{Prefix: record.PrefixTask, Queue: ref.Queue, Priority: ref.Priority, Seq: ref.Seq}
}

func leaseKey(batch uint64) young.Key { return young.Key{Prefix: record.PrefixLease, Seq: batch} }

func appendStoredKey(b []byte, k young.Key) []byte {
	b = append(b, k.Prefix)
	if k.Prefix == record.PrefixTask {
		b = append(binary.BigEndian.AppendUint32(b, k.Queue), k.Priority)
	}
	return binary.BigEndian.AppendUint64(b, k.Seq)
}

// youngKey converts a stored key to the key in the young records. ok is false if records with such
// keys are never young.
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

// settleLocked writes the young records that the batch puts and drops to the batch. It also stores
// older ones if their log is due for removal, or to make room.
func (y *youngRecords) settleLocked(b *Batch) {
	own := int64(b.puts.Bytes())
	piece := max(storeBytes, storeAhead*own)
	if y.Bytes()+own > y.bytesMax {
		y.storeLocked(b, y.Number(), piece)
	}
	y.putLocked(b)
	b.again.Each(func(k young.Key, value []byte) {
		y.Drop(k)
		b.setYoung(StepCommit, k, value)
	})
	b.again.Reset()
	for _, d := range b.drops {
		if y.Drop(d.Key) {
			y.drops.Add(d.Key)
			continue
		}
		b.written[d.step].Deletes++
		b.stored = appendStoredKey(b.stored[:0], d.Key)
		if d.Prefix == record.PrefixTask { // set at most once
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
	if cut := b.store.files.Logs().Cut(); cut > y.floor.Commit {
		y.retireLocked(b, cut, piece)
	}
	// When Pebble reads its log, it skips batches without a key.
	if b.b.Count() == 0 && !b.b.Empty() {
		y.setFloorLocked(b)
	}
}

// putLocked puts the new records of a batch. They become young if there is room; otherwise it
// stores them.
func (y *youngRecords) putLocked(b *Batch) {
	if b.puts.Len() == 0 {
		return
	}
	if y.direct > 0 || y.Bytes()+int64(b.puts.Bytes()) > y.bytesMax || !y.Fits(&b.puts) {
		b.puts.Each(func(k young.Key, value []byte) { b.setYoung(stepOfPut(k), k, value) })
	} else {
		y.puts.Add(uint64(b.puts.Len()))
		b.note(b.b.LogData(y.Add(&b.puts), nil))
		if !y.floor.More {
			y.floor.More = true
			y.setFloorLocked(b)
		}
	}
	b.puts.Reset()
}

// storeLocked stores the records of commits up to upTo, oldest first, but only about the given
// number of bytes.
func (y *youngRecords) storeLocked(b *Batch, upTo uint64, bytes int64) {
	y.Retire(upTo, bytes, func(k young.Key, value []byte) {
		y.stored.Add(1)
		b.setYoung(StepCommit, k, value)
	})
}

// retireLocked stores the records of commits up to upTo, but only about the given number of bytes.
// It sets the floor when all of them are stored.
func (y *youngRecords) retireLocked(b *Batch, upTo uint64, bytes int64) {
	y.storeLocked(b, upTo, bytes)
	if y.Floor() >= upTo {
		y.floor.Commit = y.Floor()
		y.retirements.Add(1)
		y.setFloorLocked(b)
	}
}

func (y *youngRecords) setFloorLocked(b *Batch) {
	b.note(b.b.Set([]byte{record.PrefixFloor}, record.EncodeFloor(y.floor), nil))
}

// noteLocked publishes the state after a commit.
func (y *youngRecords) noteLocked() {
	y.live.Store(int64(y.Len()))
	y.bytes.Store(y.Bytes())
}

type youngDrop struct {
	young.Key
	step Step
}

// stepOfPut returns the step that puts new records with this kind of key.
func stepOfPut(k young.Key) Step {
	if k.Prefix == record.PrefixTask {
		return StepEnqueue
	}
	return StepClaim
}

func (b *Batch) setYoung(step Step, k young.Key, value []byte) {
	b.stored = appendStoredKey(b.stored[:0], k)
	o := &b.written[step]
	o.Sets++
	o.SetBytes += uint64(len(b.stored) + len(value))
	b.note(b.b.Set(b.stored, value, nil))
}

// commitYoung applies a batch, including the young records that it puts and drops.
func (s *Store) commitYoung(b *Batch) error {
	rotate, err := s.young.commit(b)
	if err == nil && rotate {
		_, err = s.db.AsyncFlush()
	}
	return err
}

// commit applies a batch. rotate reports whether Pebble should begin a new log.
func (y *youngRecords) commit(b *Batch) (rotate bool, err error) {
	s := b.store
	y.mu.Lock()
	defer y.mu.Unlock()
	y.settleLocked(b)
	b.addUp()
	if b.err != nil {
		return false, b.err
	}
	// Pebble may begin a new log while it applies the batch. Committing comes first, so that the
	// bound of a closed log covers this commit wherever it is. Stored comes last, because a log may
	// state the floor only if it has the commit that set it.
	s.files.Logs().Committing(y.Number())
	s.flushes.Commit(b.b.Len())
	if err := s.apply(b.b); err != nil {
		return false, err
	}
	s.files.Logs().Stored(y.floor.Commit)
	y.noteLocked()
	if begun := s.files.Logs().Begun(); begun != y.begun { // also when a memtable was full
		y.begun, y.logBytes = begun, 0
	}
	y.logBytes += int64(b.b.Len())
	if y.logBytes < y.logMax {
		return false, nil
	}
	y.logBytes = 0
	y.Trim(record.PrefixTask)
	return true, nil
}

// storeYoung stores all young records. No record becomes young until the caller calls release.
func (s *Store) storeYoung() (release func(), err error) {
	y := s.young
	if s.readOnly {
		return func() {}, nil
	}
	y.mu.Lock()
	y.direct++
	y.mu.Unlock()
	release = func() {
		y.mu.Lock()
		y.direct--
		y.mu.Unlock()
	}
	store := s.storePiece
	if s.replicated {
		store = func() (bool, error) { return s.storeApplied(math.MaxUint64) }
	}
	for more := true; more; {
		if more, err = store(); err != nil {
			release()
			return nil, fmt.Errorf("store the records that are in the log only: %w", err)
		}
	}
	return release, nil
}

// storePiece stores the oldest young records. The caller must have incremented direct, so that none
// are added. more reports whether the caller must call it again: it is false once no record is
// young and the stored floor states so.
func (s *Store) storePiece() (more bool, err error) {
	y := s.young
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.Len() == 0 && y.floor == (record.Floor{Commit: y.Number()}) {
		return false, nil
	}
	b := s.NewBatch()
	y.storeLocked(b, y.Number(), storeAtOnceBytes)
	if y.Len() == 0 {
		y.floor = record.Floor{Commit: y.Number()}
		y.retirements.Add(1)
		y.setFloorLocked(b)
	}
	s.flushes.Commit(b.b.Len())
	b.addUp()
	if err = b.err; err == nil {
		err = s.apply(b.b)
	}
	if err == nil {
		err = b.b.SyncWait()
	}
	err = errors.Join(err, b.b.Close())
	if err == nil {
		s.files.Logs().Stored(y.floor.Commit)
		y.noteLocked()
	}
	return true, err
}

// Young describes the records of tasks and leases that are in the log only.
type Young struct {
	Records, Bytes int64  // current numbers
	Put            uint64 // since the store was opened, like the totals below
	Stored         uint64 // because their log was due for removal, or for lack of room
	Retirements    uint64 // number of times that all records of logs due for removal were stored
	LogsKept       int    // logs that are retained only for these records
}

// Young returns the current numbers and totals of young records. They are zero in a read-only
// store.
func (s *Store) Young() Young {
	y := s.young
	if s.readOnly {
		return Young{}
	}
	out := Young{Records: y.live.Load(), Bytes: y.bytes.Load(), Put: y.puts.Load(), Stored: y.stored.Load(), Retirements: y.retirements.Load()}
	if !s.replicated {
		out.LogsKept = s.files.Logs().Kept()
	}
	return out
}
