package queue

// Action is the kind of a settlement.
type Action uint8

// All actions except Extend end the lease.
const (
	Complete Action = iota + 1
	Fail
	Release
	Extend
)

// Settlement ends or extends one lease.
type Settlement struct {
	Shard  uint16 // the task's shard; the state ignores it
	Ref    Ref
	Token  uint64
	Action Action
	// Permanent makes Fail move the task to the dead letters, whatever attempts it has left. It fills
	// the room after Action: a larger Settlement would cost each cycle bytes.
	Permanent bool
	Result    []byte // used by Complete; stored if the task has a result retention
	Error     string // used by Fail; Extend uses it as the note, and "" keeps the old note
	DelayMs   uint64 // used by Release, and by Fail, where 0 selects the backoff
	LeaseMs   uint64 // used by Extend
}

// Settle applies settlements of one tenant. It sets out[i] to the outcome of settlements[i]: nil,
// ErrStaleToken, ErrCancelled, or an error that wraps a *QuotaError. The last means that the result
// of a completion would exceed the quota; the lease then continues. No other settlement fails
// because of a quota.
func (s *State) Settle(now int64, tenant string, settlements []Settlement, out []error) {
	s.advance(now)
	for i := range settlements {
		t := &settlements[i]
		s.worked++
		b, ref := s.find(t.Ref, t.Token)
		if ref == nil || s.numbered(ref.Queue).record.Tenant != tenant {
			out[i] = s.refusal(tenant, t)
			continue
		}
		// sweepLeases ends it, so that Settle has limited work
		if ref.ExpiresAtMs <= now {
			out[i] = ErrStaleToken
			continue
		}
		switch t.Action {
		case Complete:
			out[i] = s.complete(b, ref, t.Result)
		case Fail:
			delay := t.DelayMs
			if delay == 0 {
				delay = s.backoff(ref).waitMs(ref.Ref, ref.Attempt)
			}
			failed := Attempt{EndedAtMs: now, Outcome: Failed, Error: t.Error}
			if t.Permanent {
				s.remember(ref, failed)
				s.bury(b, ref, t.Token, FailedPermanently, failed.Error)
				continue
			}
			s.attemptFailed(b, ref, t.Token, now+int64(delay), failed)
		case Release:
			p := Progress{DueAtMs: now + int64(t.DelayMs), Attempts: ref.Attempt - 1, Token: t.Token}
			s.giveBack(b, ref, p, "")
		case Extend:
			if t.Error != "" {
				s.keepNote(ref, t.Error)
			}
			_, i := TokenPlace(t.Token)
			s.extend(b, i, now+int64(t.LeaseMs))
		}
	}
}

// backoff returns the backoff of a task. Fields that the task does not set get the server's values.
func (s *State) backoff(ref *LeaseRef) Backoff {
	return ref.Extras.Shared().Backoff.or(s.cfg.Backoff)
}

func (s *State) complete(b *lease, ref *LeaseRef, result []byte) error {
	given := *ref
	if retentionMs := given.Extras.Shared().RetentionMs; retentionMs > 0 {
		if err := s.keepResult(&given, retentionMs, result); err != nil {
			return err
		}
	}
	f := s.finished(&given, FinishCompleted, 0, lastAttempt{claimedMs: s.claimedMs(b), failures: given.Attempt - 1})
	s.endLease(b, ref)
	q := s.numbered(given.Queue)
	q.record.Counts.Completed++
	s.drop(&given, given.Attempt-1)
	if u := given.Extras.unique(); u != nil && u.Scope == UntilFinished {
		s.freeUnique(q, given.Ref, u)
	}
	s.dependencies.finished(&given, DependencyDone, result)
	s.keepFinished(f)
	s.end(Ended{Ref: given.Ref, How: Completed})
	return nil
}

// attemptFailed ends a lease with a failed attempt. The task becomes due at dueMs, or dead if this
// was its last attempt.
func (s *State) attemptFailed(b *lease, ref *LeaseRef, token uint64, dueMs int64, a Attempt) {
	s.remember(ref, a)
	if ref.Attempt < ref.MaxAttempts {
		q := s.numbered(ref.Queue)
		if s.giveBack(b, ref, Progress{DueAtMs: dueMs, Attempts: ref.Attempt, Token: token}, a.Error) {
			q.counting().Retries++
		}
		return
	}
	s.bury(b, ref, token, AttemptsUsedUp, a.Error)
}

// bury ends a lease and moves its task to the dead letters. The lease's attempt counts as used, and
// failed with an error.
func (s *State) bury(b *lease, ref *LeaseRef, token uint64, reason Reason, failed string) {
	given, claimedMs := *ref, s.claimedMs(b)
	s.endLease(b, ref)
	s.die(&given, token, reason, lastAttempt{claimedMs: claimedMs, error: failed})
}

// giveBack ends a lease and returns the task to its lane, or moves it to the dead letters if its
// time to live has ended. It reports whether the task returned. failed is the error of the lease's
// attempt, if the attempt failed.
func (s *State) giveBack(b *lease, ref *LeaseRef, p Progress, failed string) bool {
	given, claimedMs := *ref, s.claimedMs(b)
	s.endLease(b, ref)
	if given.Extras.expired(s.nowMs) {
		given.Attempt = p.Attempts
		s.die(&given, p.Token, TimeToLiveOver, lastAttempt{claimedMs: claimedMs, error: failed})
		return false
	}
	p.Claims = s.claims(&given, claimedMs)
	s.returnTask(given.Ref, given.CurrentPriority(), p, Due{
		MaxAttempts: given.MaxAttempts, LeaseMs: given.LeaseMs, Bytes: given.Bytes, History: given.History, NoteBytes: given.NoteBytes, Extras: given.Extras.own(),
	})
	return true
}

// endLease ends the lease of a task, in its batch and in the counters of its queue.
func (s *State) endLease(b *lease, ref *LeaseRef) {
	q := s.numbered(ref.Queue)
	q.record.Counts.Leased--
	s.free(q).leases++
	s.touch(q)
	if len(s.starved) > 0 {
		s.feed()
	}
	s.changed(ref.Ref)
	if q.limits != nil {
		s.limiter.ended(q, ref)
	}
	s.removeLease(q, b, ref)
}
