package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// scanLeases calls visit for each lease batch from number from on, until visit returns false. The
// batches include their extensions. Attempt is not 0 in refs that were settled after the batch was
// written; see settledRefs.
func scanLeases(r reader, from uint64, visit func(queue.RecoveredLease) (bool, error)) error {
	first := make([]byte, record.IDKeyLen)
	record.PutIDKey(first, record.PrefixLease, from)
	var l queue.RecoveredLease // the batch whose extensions the scan reads
	begun, more := false, true
	err := scan(r, first, []byte{record.PrefixLease}, func(k, v []byte) (_ bool, err error) {
		if len(k) == record.ExtensionKeyLen {
			if !begun || record.IDOf(k) != l.Batch {
				return false, fmt.Errorf("key %x extends a lease that does not exist", k)
			}
			return true, extendLease(&l, k, v)
		}
		if len(k) != record.IDKeyLen {
			return false, fmt.Errorf("key %x of a lease has %d bytes, expected %d", k, len(k), record.IDKeyLen)
		}
		if begun {
			if more, err = visit(l); err != nil || !more {
				return false, err
			}
		}
		if l, err = record.DecodeLease(v); err != nil {
			return false, fmt.Errorf("lease %x: %w", k[1:], err)
		}
		l.Batch, begun = record.IDOf(k), true
		return true, nil
	})
	if err == nil && begun && more {
		_, err = visit(l)
	}
	return err
}

func extendLease(l *queue.RecoveredLease, k, v []byte) error {
	place := int(binary.BigEndian.Uint16(k[record.IDKeyLen:]))
	if place >= len(l.Refs) {
		return fmt.Errorf("key %x extends task %d of a lease of %d", k, place, len(l.Refs))
	}
	untilMs, err := record.DecodeExtension(v)
	if err != nil {
		return fmt.Errorf("extension %x of a lease: %w", k[1:], err)
	}
	l.Refs[place].ExpiresAtMs = untilMs
	l.Extended = append(l.Extended, place)
	return nil
}

func (s *Reads) voidSettled(leases []queue.RecoveredLease) (err error) {
	if len(leases) == 0 {
		return nil
	}
	look, err := newSettledRefs(s.live(), &s.by(StepOther).gets)
	if err != nil {
		return err
	}
	defer closeAfter(look, &err)
	for _, l := range leases {
		if err := look.void(l.Batch, l.Refs); err != nil {
			return err
		}
	}
	return nil
}

// settledRefs finds the refs of lease batches that were settled after their lease was written. Such
// a task no longer exists, or the token in its Progress record is the lease's token or a later
// token. A new leader looks up all leased tasks before it answers any command. Calling Get for each
// record took 20 ms for 1,000 leases, so settledRefs uses iterators.
//
// settledRefs reads the store as of its creation. That is sufficient, because nothing is committed
// while a store is recovered.
type settledRefs struct {
	from            reader
	tasks, progress *points // look up stored records, not young records
	notes           *points // nil if there is no note
}

func newSettledRefs(from reader, gets *atomic.Uint64) (*settledRefs, error) {
	tasks, err := pointsOf(from.stored(), record.PrefixTask, gets)
	if err != nil {
		return nil, err
	}
	progress, err := pointsOf(from.stored(), record.PrefixProgress, gets)
	if err != nil {
		return nil, errors.Join(err, tasks.Close())
	}
	notes, err := pointsOf(from.stored(), record.PrefixNote, gets)
	if err != nil {
		return nil, errors.Join(err, tasks.Close(), progress.Close())
	}
	s := &settledRefs{from: from, tasks: tasks, progress: progress}
	if notes.it.First() {
		s.notes = notes
		return s, nil
	}
	if err := notes.Close(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *settledRefs) Close() error {
	err := errors.Join(s.tasks.Close(), s.progress.Close())
	if s.notes != nil {
		err = errors.Join(err, s.notes.Close())
	}
	return err
}

// void sets Attempt to 0 in the settled refs of a batch, and sets History, PriorityShift and NoteBytes
// in the other refs.
func (s *settledRefs) void(batch uint64, refs []queue.LeaseRef) error {
	for i := range refs {
		ref := &refs[i]
		if ref.Attempt == 0 {
			continue
		}
		key := record.RefKey(record.PrefixTask, ref.Ref)
		_, found := s.from.young(key)
		var err error
		if !found {
			_, found, err = s.tasks.get(key)
		}
		if err != nil {
			return err
		}
		if !found {
			ref.Attempt = 0
			continue
		}
		v, found, err := s.progress.get(record.RefKey(record.PrefixProgress, ref.Ref))
		if err != nil {
			return err
		}
		p := queue.Progress{}
		if found {
			if p, err = record.DecodeProgress(v); err != nil {
				return record.Named(err, "progress of task", ref.Ref)
			}
		}
		if found && p.Token >= queue.Token(batch, i) {
			ref.Attempt = 0
		}
		ref.History, ref.PriorityShift = p.History, p.PriorityShift
		if ref.NoteBytes, err = s.noteBytes(ref.Ref); err != nil {
			return err
		}
	}
	return nil
}

func (s *settledRefs) noteBytes(ref queue.Ref) (uint16, error) {
	if s.notes == nil {
		return 0, nil
	}
	v, found, err := s.notes.get(record.RefKey(record.PrefixNote, ref))
	if err != nil || !found {
		return 0, err
	}
	note, err := record.DecodeNote(v)
	return uint16(len(note)), record.Named(err, "note of task", ref)
}

// LeasedTask is an element of a list of leased tasks.
type LeasedTask struct {
	queue.Stored
	Lease queue.LeaseRef
}

// ListLeased lists leased tasks of a queue, ordered by token. next is empty after the last page.
func (s *Reads) ListLeased(queueID uint32, p Page) (out []LeasedTask, next Place, err error) {
	var from uint64 // the first token to read
	if len(p.After) > 0 {
		if len(p.After) != 8 {
			return nil, nil, ErrPlace
		}
		if from = binary.BigEndian.Uint64(p.After) + 1; from == 0 {
			return nil, nil, ErrPlace
		}
	}
	snap := s.frozen(allLeases(), tasksOf(queueID))
	defer closeAfter(snap, &err)
	looked, lookedBytes, bytes := 0, 0, 0
	batch, first := queue.TokenPlace(from)
	err = scanLeases(snap, batch, func(l queue.RecoveredLease) (bool, error) {
		skip := 0
		if l.Batch == batch {
			skip = min(first, len(l.Refs))
		}
		for i := skip; i < len(l.Refs); i++ {
			looked++
			t, ok, err := s.lookLeased(snap, queueID, queue.Token(l.Batch, i), &l.Refs[i])
			if err != nil {
				return false, fmt.Errorf("list leased tasks: %w", err)
			}
			lookedBytes += len(t.Task.Payload)
			if ok && (p.Match == nil || p.Match(&Listed{Stored: t.Stored})) {
				out = append(out, t)
				bytes += len(t.Task.Payload)
			}
			if len(out) >= p.Limit || looked >= p.LookMax || p.BytesMax > 0 && bytes >= p.BytesMax || lookedBytes >= lookBytesMax {
				next = binary.BigEndian.AppendUint64(nil, queue.Token(l.Batch, i))
				return false, nil
			}
		}
		return true, nil
	})
	return out, next, err
}

// lookLeased returns a task of a lease batch. ok is false if the task is in another queue or no
// longer leased.
func (s *Reads) lookLeased(r reader, queueID uint32, token uint64, ref *queue.LeaseRef) (t LeasedTask, ok bool, err error) {
	if ref.Attempt == 0 || ref.Queue != queueID {
		return t, false, nil
	}
	t.Lease = *ref
	if t.Stored, ok, err = s.look(r, ref.Ref, true); err == nil && ok {
		t.Note, err = noteOf(r, ref.Ref) // it may be from this lease
	}
	return t, ok && (!t.HasProgress || t.Progress.Token < token), err
}
