package queue

import "math"

// Stored is a task with its records, as read from the store. The reading must see all decisions
// that were made so far.
type Stored struct {
	Ref         Ref
	Task        Task   // the payload may be missing
	Bytes       uint32 // size of the payload
	Progress    Progress
	HasProgress bool
	HasDue      bool  // the task has a Due record, for the time Progress.DueAtMs
	Lane        uint8 // the lane of the Due record
	Dead        bool
	Note        string  // read only with the payload
	Waiting     Waiting // read only of a task that waits
}

// Waits reports whether the task waits for other tasks.
func (t *Stored) Waits() bool { return t.HasDue && t.Progress.DueAtMs == NeverMs }

// Priority returns the current priority of the task.
func (t *Stored) Priority() uint8 { return t.Ref.Shifted(t.Progress.PriorityShift) }

type part uint8

const (
	partFresh part = iota + 1
	partReturned
	partLeased
	partDead
)

// ref returns the task as a LeaseRef, whose Attempt is the number of used attempts.
func (t *Stored) ref() LeaseRef {
	ref := LeaseRef{
		Ref: t.Ref, MaxAttempts: t.Task.MaxAttempts, LeaseMs: t.Task.LeaseMs, Bytes: t.Bytes,
		HasProgress: t.HasProgress, Extras: t.Task.Extras,
	}
	if t.HasProgress {
		ref.Attempt, ref.MaxAttempts, ref.History = t.Progress.Attempts, t.Progress.MaxAttempts, t.Progress.History
		ref.NoteBytes, ref.PriorityShift = t.Progress.NoteBytes, t.Progress.PriorityShift
		if t.Progress.ExpiresAtMs == 0 {
			ref.Extras = ref.Extras.immortal()
		}
	}
	return ref
}

// withdraw removes a task that is not leased from its part of the queue.
func (s *State) withdraw(t *Stored) {
	q := s.numbered(t.Ref.Queue)
	c := &q.record.Counts
	s.changed(t.Ref)
	switch s.part(t) {
	case partFresh:
		l := q.lane(t.Ref.Priority)
		s.passOver(l, t.Ref.Seq)
		s.limiter.withdrawn(l, returnedKey{seq: t.Ref.Seq}, false)
		c.Fresh--
	case partReturned:
		l := q.lane(t.Lane)
		s.removeReturned(l, t.Ref, t.Progress.DueAtMs)
		s.limiter.withdrawn(l, returnedKey{t.Progress.DueAtMs, t.Ref.Seq}, true)
		c.Returned--
	case partDead:
		s.journal.DropDead(t.Ref)
		c.Dead--
	case partLeased:
	}
	s.touch(q)
}

// Cancel removes a task in any state, and frees its idempotency key. If the task was leased,
// CancelledLeases reports the lease, and Settle refuses it with ErrCancelled.
func (s *State) Cancel(t *Stored) {
	s.numbered(t.Ref.Queue).counting().Cancelled++
	s.discard(t)
}

// discard is Cancel without its count.
func (s *State) discard(t *Stored) {
	if b, ref := s.findLease(t.Ref); ref != nil {
		given := *ref
		f := s.finished(&given, FinishCancelled, 0, lastAttempt{claimedMs: s.claimedMs(b), failures: given.Attempt - 1})
		q := s.numbered(given.Queue)
		token := q.leased.token(given.Seq)
		s.endLease(b, ref)
		s.remove(&given, given.Attempt-1, f)
		s.noteCancelled(token, cancelledTask{given.Ref, q.record.Tenant})
		if w := s.holders[b.holder]; w != nil {
			s.unread = append(s.unread, CancelledLease{Waiter: w, Ref: given.Ref, Token: token})
		}
		return
	}
	ref := t.ref()
	var f *Finished // none for a dead task, which has finished before
	if !t.Dead {
		f = s.finished(&ref, FinishCancelled, 0, lastAttempt{failures: ref.Attempt})
	}
	s.withdraw(t)
	s.remove(&ref, ref.Attempt, f)
}

// PurgeDead removes a dead task. It returns false if the task is not dead.
func (s *State) PurgeDead(t *Stored) bool {
	if t.Dead {
		s.discard(t)
	}
	return t.Dead
}

// Redrive makes a dead task ready again. The task gets its initial maximum number of further
// attempts, and no time to live. A task with a key of UntilFinished takes the key again; Redrive
// returns ErrKeyTaken if another task holds the key, and a *QuotaError if there is no room for its
// record. It returns false if the task is not dead.
func (s *State) Redrive(t *Stored) (did bool, err error) {
	if !t.Dead {
		return false, nil
	}
	if u := t.Task.Extras.unique(); u != nil && u.Scope == UntilFinished {
		if err := s.retakeUnique(t.Ref, u); err != nil {
			return false, err
		}
	}
	s.withdraw(t)
	s.returnTask(t.Ref, DelayedLane(t.Priority()), Progress{DueAtMs: s.nowMs, Attempts: t.Progress.Attempts, Token: t.Progress.Token, Claims: t.Progress.Claims}, Due{
		MaxAttempts: t.Progress.Attempts + t.Task.MaxAttempts, LeaseMs: t.Task.LeaseMs, Bytes: t.Bytes,
		History: t.Progress.History, Extras: t.Task.Extras.immortal(),
	})
	if r := s.runs[t.Ref]; r != nil {
		r.unfinished = true
	}
	return true, nil
}

// Purge removes up to n ready, delayed and waiting tasks of a queue, and frees their idempotency keys. more
// is true if the queue may contain further tasks. The caller then calls Purge again, after the
// Refills are answered.
func (s *State) Purge(q *Queue, n int) (removed int, more bool) {
	for _, l := range q.lanes {
		for l != nil && removed < n {
			var d Delivery
			ok, blocked := s.limiter.take(l, &d), false
			if !ok {
				ok, blocked = s.pop(l, math.MaxInt64-1, &d)
			}
			if blocked {
				more = true
			}
			if !ok {
				break
			}
			d.Attempt--
			s.remove(&d.LeaseRef, d.Attempt, s.finished(&d.LeaseRef, FinishPurged, 0, lastAttempt{failures: d.Attempt}))
			removed++
			s.worked++
		}
	}
	return removed, more || removed == n
}
