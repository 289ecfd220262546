package queue

import (
	"errors"
	"math"
)

// ErrStaleToken says that a token is not that of the task's current lease: the lease expired or
// was settled, or the token belongs to another task.
var ErrStaleToken = errors.New("stale token: the lease expired or was settled")

// Action is what a settlement does.
type Action uint8

// The actions. All but Extend end the lease.
const (
	Complete Action = iota + 1
	Fail
	Release
	Extend
)

// Settlement ends or extends one lease.
type Settlement struct {
	Ref     Ref
	Token   uint64
	Action  Action
	Error   string // with Fail
	DelayMs uint64 // with Fail (0: backoff) and Release
	LeaseMs uint64 // with Extend
}

// Settle carries out settlements of one tenant; out receives nil or ErrStaleToken for each.
func (s *State) Settle(now int64, tenant string, settlements []Settlement, out []error) {
	var extended []*lease
	for i := range settlements {
		t := &settlements[i]
		b, ref := s.find(t.Ref, t.Token)
		if ref == nil || s.queues[ref.Queue].record.Tenant != tenant {
			out[i] = ErrStaleToken
			continue
		}
		switch t.Action {
		case Complete:
			s.complete(b, ref)
		case Fail:
			delay := t.DelayMs
			if delay == 0 {
				delay = s.cfg.backoffMs(ref.Ref, ref.Attempt)
			}
			s.attemptFailed(b, ref, t.Token, now+int64(delay), now, t.Error)
		case Release:
			p := Progress{DueAtMs: now + int64(t.DelayMs), Attempts: ref.Attempt - 1, Token: t.Token}
			s.giveBack(b, ref, p, now)
		case Extend:
			ref.ExpiresAtMs = now + int64(t.LeaseMs)
			s.touch(s.queues[ref.Queue])
			if len(extended) == 0 || extended[len(extended)-1] != b {
				extended = append(extended, b)
			}
		}
	}
	for _, b := range extended {
		s.rewriteLease(b)
	}
}

func (s *State) complete(b *lease, ref *LeaseRef) {
	s.journal.DropTask(ref.Ref)
	if ref.HasProgress {
		s.journal.DropProgress(ref.Ref)
	}
	s.queues[ref.Queue].record.Counts.Completed++
	s.endLease(b, ref)
}

// attemptFailed ends a lease whose attempt is used up: the task is due again at dueMs, or dead.
func (s *State) attemptFailed(b *lease, ref *LeaseRef, token uint64, dueMs, now int64, reason string) {
	p := Progress{DueAtMs: dueMs, Attempts: ref.Attempt, Token: token, LastError: reason}
	if ref.Attempt < ref.MaxAttempts {
		s.giveBack(b, ref, p, now)
		return
	}
	s.journal.PutProgress(ref.Ref, p)
	s.journal.PutDead(ref.Ref, Dead{DiedAtMs: now, Attempts: ref.Attempt, LastError: reason})
	s.queues[ref.Queue].record.Counts.Dead++
	s.endLease(b, ref)
}

func (s *State) giveBack(b *lease, ref *LeaseRef, p Progress, now int64) {
	given := *ref
	s.endLease(b, ref)
	s.returnTask(given.Ref, p, Due{MaxAttempts: given.MaxAttempts, LeaseMs: given.LeaseMs, Bytes: given.Bytes}, now)
}

// rewriteLease stores a batch again after one of its tasks was extended.
func (s *State) rewriteLease(b *lease) {
	if b.live == 0 {
		return
	}
	b.expiresMs = math.MaxInt64
	for i := range b.refs {
		if b.refs[i].Attempt != 0 {
			b.expiresMs = min(b.expiresMs, b.refs[i].ExpiresAtMs)
		}
	}
	s.expiry.set(b)
	s.journal.PutLease(b.id, b.refs)
}
