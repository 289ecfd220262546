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

// Most tasks and leases exist for milliseconds only. A store writes their records only to Pebble's
// log, as LogData of the batch that puts them, and keeps them in memory. These records are young.
// They occupy no space in a memtable, are not flushed, and leave no deletions in tables. Their
// removal is also written as LogData.
//
// Pebble would remove a log once its memtable is flushed. The store therefore retains the log of a
// young record (disk.KeptLogs) until the record is removed, or is stored under its key like other
// records:
//
//  1. Pebble starts a new log, because a memtable is full or because the store requests it after
//     Options.YoungLogBytes.
//  2. The next commits store the young records that remain in the earlier logs, oldest first. Each
//     commit stores only a part of them.
//  3. The commit that stores the last of these records sets the record PrefixFloor, which states
//     that they are stored.
//  4. When the log that contains this commit is complete on the disk and Pebble starts another log,
//     the earlier logs of step 1 may be removed.
//
// Commits are numbered, and each young record has the number of its commit. PrefixFloor contains
// the number of a commit: records of this commit and of earlier commits are not young. It also
// states whether records of later commits may be young. youngrecover.go describes the recovery
// after a crash, and youngapply.go the differences in a replicated store.
type youngRecords struct {
	on *database
	mu sync.Mutex // held during a commit
	*young.Records
	bytesMax int64 // maximum size of Records in memory
	// direct is the number of callers that need new records to be stored immediately. While it is
	// not 0, no record becomes young.
	direct   int
	drops    young.Drops
	floor    record.Floor // the content of PrefixFloor
	begun    uint64       // number of logs that Pebble had begun at the last commit
	logBytes int64        // bytes committed since the current log started
	logMax   int64
	applied  appliedLog // used only in a replicated store

	puts, stored, retirements atomic.Uint64
	live, bytes               atomic.Int64 // number and bytes of Records after the last commit
}

const (
	// DefaultYoungBytes is the default of Options.YoungBytes. To stay within the limit, the oldest
	// young records are stored.
	DefaultYoungBytes = 32 << 20
	// storeBytes is the approximate minimum number of bytes of young records that a commit stores
	// when their log is due for removal.
	storeBytes = 64 << 10
	// storeAtOnceBytes is the approximate size of one batch when all young records are stored.
	storeAtOnceBytes = 1 << 20
	// When a log is due for removal, a commit stores at least storeAhead times as many bytes of
	// earlier young records as it puts.
	storeAhead = 4
)

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

// youngKey converts a stored key to the key of a young record. ok is false if records with such
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

// settleLocked adds to the batch the young records that it puts and drops. It also stores older
// young records if their log is due for removal, or to make room.
func (y *youngRecords) settleLocked(b *Batch) {
	own := int64(b.puts.Bytes())
	piece := max(storeBytes, storeAhead*own)
	if y.Bytes()+own > y.bytesMax {
		y.storeLocked(b, y.Number(), piece)
	}
	y.putLocked(b)
	b.again.Each(func(k young.Key, value []byte) {
		if !y.Drop(k) && k.Prefix == record.PrefixTask {
			b.deleteYoung(StepCommit, k)
		}
		b.setYoung(StepCommit, k, value)
	})
	b.again.Reset()
	for _, d := range b.drops {
		if y.Drop(d.Key) {
			y.drops.Add(d.Key)
			continue
		}
		if d.Prefix != record.PrefixTask {
			b.deleteYoung(d.step, d.Key)
			continue
		}
		b.written[d.step].Deletes++
		b.stored = appendStoredKey(b.stored[:0], d.Key)
		b.note(b.b.SingleDelete(b.stored, nil)) // the key was set at most once since it was last deleted
	}
	b.drops = b.drops[:0]
	if drops := y.drops.Encoded(); drops != nil {
		b.note(b.b.LogData(drops, nil))
		y.drops.Reset()
	}
	if cut := y.on.files.Logs().Cut(); cut > y.floor.Commit {
		y.retireLocked(b, cut, piece)
	}
	// When Pebble reads its log, it skips batches without a key, so such a batch gets a key.
	if b.b.Count() == 0 && !b.b.Empty() {
		y.setFloorLocked(b)
	}
}

// putLocked puts the new records of a batch. They become young if there is room; otherwise they are
// stored under their keys.
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

// storeLocked stores young records of commits up to upTo, oldest first, until it has stored about
// the given number of bytes.
func (y *youngRecords) storeLocked(b *Batch, upTo uint64, bytes int64) {
	y.Retire(upTo, bytes, func(k young.Key, value []byte) {
		y.stored.Add(1)
		b.setYoung(StepCommit, k, value)
	})
}

// retireLocked stores young records of commits up to upTo, until it has stored about the given
// number of bytes. It sets the floor when all of them are stored.
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

func (y *youngRecords) noteLocked() {
	y.live.Store(int64(y.Len()))
	y.bytes.Store(y.Bytes())
}

type youngDrop struct {
	young.Key
	step Step
}

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

func (b *Batch) deleteYoung(step Step, k young.Key) {
	b.stored = appendStoredKey(b.stored[:0], k)
	b.written[step].Deletes++
	b.note(b.b.Delete(b.stored, nil))
}

func (s *Store) commitYoung(b *Batch) error {
	rotate, err := s.young.commit(b)
	if err == nil && rotate {
		_, err = s.db.AsyncFlush()
	}
	return err
}

// commit applies a batch. rotate is true if the caller must make Pebble start a new log.
func (y *youngRecords) commit(b *Batch) (rotate bool, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.settleLocked(b)
	b.addUp()
	if b.err != nil {
		return false, b.err
	}
	// Pebble may start a new log while it applies the batch. Committing must be called before:
	// whichever log contains the commit, the commit number recorded for that log is then high
	// enough. Stored must be called after: a log may be recorded as containing the floor only if it
	// contains the commit that set the floor.
	y.on.files.Logs().Committing(y.Number())
	if err := y.on.apply(b.b); err != nil {
		return false, err
	}
	y.on.files.Logs().Stored(y.floor.Commit)
	y.noteLocked()
	if begun := y.on.files.Logs().Begun(); begun != y.begun { // a full memtable also starts a log
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

// storeYoung stores all young records under their keys. No record becomes young until the caller
// calls release.
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
	store := func() (bool, error) { return y.storePiece(s.NewBatch()) }
	if s.replicated {
		store = func() (bool, error) { return y.storeApplied(math.MaxUint64) }
	}
	for more := true; more; {
		if more, err = store(); err != nil {
			release()
			return nil, fmt.Errorf("store the records that are in the log only: %w", err)
		}
	}
	return release, nil
}

// storePiece stores the oldest young records, about storeAtOnceBytes. b is an empty batch for them.
// The caller must have incremented direct, so that no young records are added. more is true if the
// caller must call it again. It is false once there is no young record and the stored floor states
// this.
func (y *youngRecords) storePiece(b *Batch) (more bool, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.Len() == 0 && y.floor == (record.Floor{Commit: y.Number()}) {
		return false, b.b.Close()
	}
	y.storeLocked(b, y.Number(), storeAtOnceBytes)
	if y.Len() == 0 {
		y.floor = record.Floor{Commit: y.Number()}
		y.retirements.Add(1)
		y.setFloorLocked(b)
	}
	b.addUp()
	if err = b.err; err == nil {
		err = y.on.apply(b.b)
	}
	if err == nil {
		err = b.b.SyncWait()
	}
	err = errors.Join(err, b.b.Close())
	if err == nil {
		y.on.files.Logs().Stored(y.floor.Commit)
		y.noteLocked()
	}
	return true, err
}

// Young contains metrics of the young records: the tasks and leases that are in the log only.
type Young struct {
	Records, Bytes int64  // current number of records, and their size
	Put            uint64 // number of records that became young since the store was opened
	// Stored is the number of young records stored under their keys, because their log was due for
	// removal or to make room.
	Stored uint64
	// Retirements is how often all young records of the logs that were due for removal were stored.
	Retirements uint64
	LogsKept    int // number of logs that are retained only for young records
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
