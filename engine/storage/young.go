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

// Most tasks and leases live for milliseconds. A store writes their records to Pebble's log only, as LogData of the batch that puts them,
// and holds them in memory: they take no room in a memtable, are not flushed, and leave no deletions in tables. Their end is LogData too.
//
// Pebble removes a log once its memtable is flushed. So the log of a record is kept (disk.KeptLogs) until the record has ended, or was
// stored under its key as other records are:
//
//  1. Pebble begins a new log: because a memtable is full, or because the store has it do so after Options.YoungLogBytes.
//  2. The next commits store the records that are left in the logs before, the oldest first, a piece in each commit.
//  3. The commit that stores the last of them sets the record PrefixFloor, which says that they are stored.
//  4. When the log with that commit is whole on the disk, and Pebble begins another one, the logs of step 1 may go.
//
// Records are numbered by their commits. PrefixFloor has the number up to which none is young any more, and says whether later ones may be.
// youngrecover.go says what happens after a crash, and youngapply.go what is different in a replicated store.
type youngRecords struct {
	mu sync.Mutex // held during a commit
	*young.Records
	bytesMax int64 // of Records
	direct   int   // how many callers want all records to be stored at once
	drops    young.Drops
	floor    record.Floor // as PrefixFloor has it
	begun    uint64       // logs that Pebble had begun at the last commit
	logBytes int64        // committed since then
	logMax   int64
	applied  appliedLog // of a replicated store

	puts, stored, retirements atomic.Uint64
	live, bytes               atomic.Int64 // after the last commit
}

const (
	// DefaultYoungBytes bounds the memory of records that are in the log only. The oldest ones are stored to make room.
	DefaultYoungBytes = 32 << 20
	// storeBytes is about how many bytes of young records a commit stores at least, if their log is to go.
	storeBytes = 64 << 10
	// storeAtOnceBytes is about how many bytes of young records one batch has, when all are stored.
	storeAtOnceBytes = 1 << 20
	// storeAhead is how many times as many bytes of young records a commit stores as it puts, if their log is to go.
	storeAhead = 4
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

// settleLocked writes the young records that the batch puts and drops to the batch. It stores older ones if their log is to go, or to
// make room.
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
	if b.b.Count() == 0 && !b.b.Empty() { // Pebble skips batches without a key when it reads its log
		y.setFloorLocked(b)
	}
}

// putLocked puts the records of a batch: as young ones, if there is room.
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

// storeLocked stores the records of commits up to a number, and at most about so many bytes.
func (y *youngRecords) storeLocked(b *Batch, upTo uint64, bytes int64) {
	y.Retire(upTo, bytes, func(k young.Key, value []byte) {
		y.stored.Add(1)
		b.setYoung(StepCommit, k, value)
	})
}

// retireLocked stores the records of commits up to a number, and at most about so many bytes. It sets the floor when all are stored.
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

// noteLocked notes the state after a commit.
func (y *youngRecords) noteLocked() {
	y.live.Store(int64(y.Len()))
	y.bytes.Store(y.Bytes())
}

// youngDrop is a record that a step of this commit removes.
type youngDrop struct {
	young.Key
	step Step
}

// stepOfPut returns the step that puts new records with such a key.
func stepOfPut(k young.Key) Step {
	if k.Prefix == record.PrefixTask {
		return StepEnqueue
	}
	return StepClaim
}

// setYoung stores a record under its key.
func (b *Batch) setYoung(step Step, k young.Key, value []byte) {
	b.stored = appendStoredKey(b.stored[:0], k)
	o := &b.written[step]
	o.Sets++
	o.SetBytes += uint64(len(b.stored) + len(value))
	b.note(b.b.Set(b.stored, value, nil))
}

// commitYoung applies a batch together with the young records that it puts and drops.
func (s *Store) commitYoung(b *Batch) error {
	rotate, err := s.young.commit(b)
	if err == nil && rotate {
		_, err = s.db.AsyncFlush()
	}
	return err
}

// commit applies a batch. rotate reports whether Pebble is to begin a new log.
func (y *youngRecords) commit(b *Batch) (rotate bool, err error) {
	s := b.store
	y.mu.Lock()
	defer y.mu.Unlock()
	y.settleLocked(b)
	b.addUp()
	if b.err != nil {
		return false, b.err
	}
	s.files.Logs().Committing(y.Number())
	s.flushes.Commit(b.b.Len())
	if err := s.apply(b.b); err != nil {
		return false, err
	}
	s.files.Logs().Stored(y.floor.Commit)
	y.noteLocked()
	if begun := s.files.Logs().Begun(); begun != y.begun { // Pebble begins one when a memtable is full, too
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

// storeYoung stores all young records. Until release is called no record is young.
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

// storePiece stores the oldest young records. The caller has raised direct, so that no new ones are added. more reports whether the
// caller must call it again: it returns false once no record is young and the stored floor says so.
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

// Young are the records of tasks and leases that are in the log only.
type Young struct {
	Records, Bytes int64  // now
	Put            uint64 // since the store was opened, as are the others
	Stored         uint64 // still existed when their log was to go, or when there was no room
	Retirements    uint64 // how often all records of the logs that were to go were stored
	LogsKept       int    // logs that are there for these records only
}

// Young returns the records that are in the log only.
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
