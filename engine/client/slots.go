package client

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/pronybench/prony/engine/queuepb"
)

type workLink struct {
	*link[*queuepb.Task]

	freed atomic.Int32 // slots of the link that were not granted to the server yet
	share atomic.Int32 // how many slots the link should have

	// Guarded by the slots' mutex.
	has   int32 // slots of the link: granted or to be granted, and those of its tasks
	tasks int32 // tasks of the link that are not settled
	gone  bool

	leaving bool
	slots   *slots
}

// leave lets active calls end, and then ends the link.
func (l *workLink) leave() {
	l.slots.leases.mu.Lock()
	l.leaving = true
	l.share.Store(0)
	l.slots.leases.mu.Unlock()
	l.link.leave()
}

// slots divides a worker's slots among its links. A slot belongs to a link, or to a task of an
// ended link, or is spare. A session therefore never has more tasks than slots. The mutex is that
// of leases, since freeing a slot removes a lease.
type slots struct {
	leases leaseSet
	expiry expiry

	total int32
	spare int32
	links []*workLink // not ended
}

// admit gives a new link its share, limited by the spare slots. It returns the credits for the
// link's first frame.
func (s *slots) admit(l *workLink, share int32) int32 {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	l.share.Store(share)
	l.has = min(share, s.spare)
	s.spare -= l.has
	s.links = append(s.links, l)
	return l.has
}

// leave reclaims the unused slots of a link that has ended.
func (s *slots) leave(l *workLink) {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	if l.gone {
		return
	}
	l.gone = true
	s.links = slices.DeleteFunc(s.links, func(o *workLink) bool { return o == l })
	s.spare += l.has - l.tasks
	s.distribute()
}

// origin returns the link that a task came from, or nil if that link is ending or has ended.
func (s *slots) origin(t *queuepb.Task) *workLink {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	if l := s.leases.origin(t.GetId(), t.GetToken()); l != nil && !l.gone && !l.leaving {
		return l
	}
	return nil
}

// arrived records the leases of tasks that just arrived. serverMs is the server's time when it sent
// them, or 0.
func (s *slots) arrived(l *workLink, tasks []*queuepb.Task, serverMs int64) {
	now := s.expiry.now()
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	for _, t := range tasks {
		until := holdsUntil(now, t.GetLeaseExpiresAtMs(), serverMs)
		if s.leases.put(t.GetId(), t.GetToken(), l, until) {
			l.tasks++
			s.expires(until)
		}
	}
}

// settled frees the slots of leases that answered calls have ended.
func (s *slots) settled(calls []*call[*queuepb.Task]) {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	for _, c := range calls {
		extends := c.how.action == queuepb.SettleAction_SETTLE_ACTION_EXTEND
		for i, t := range c.items {
			var err error
			if c.errs != nil && c.errs[i] != nil {
				c.errs[i] = s.tooLate(t, c.errs[i])
				err = c.errs[i]
			}
			switch {
			case extends && err == nil:
				s.extended(t, c.how.leaseMs, true)
			case !extends && frees(err):
				s.free(t)
			}
		}
	}
	s.distribute()
}

// frees reports whether a settlement with this error frees the task's slot. A settlement that the
// server refused for its content does not: the lease continues, and the task can be settled again.
func frees(err error) bool {
	return err == nil || errors.Is(err, ErrStaleToken) || errors.Is(err, ErrNotFound)
}

// extendAll records the final outcomes of extensions.
func (s *slots) extendAll(tasks []*queuepb.Task, errs []error, leaseMs uint64) {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	for i, t := range tasks {
		errs[i] = s.tooLate(t, errs[i])
		if errs[i] == nil || errors.Is(errs[i], ErrUnknownOutcome) {
			s.extended(t, leaseMs, errs[i] == nil)
		}
	}
}

// freeAll frees the slots of tasks after their settlement. errs has the final error of each task's
// settlement.
func (s *slots) freeAll(tasks []*queuepb.Task, errs []error) {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	for i, t := range tasks {
		errs[i] = s.tooLate(t, errs[i])
		if frees(errs[i]) || errors.Is(errs[i], ErrUnknownOutcome) || errors.Is(errs[i], ErrClosed) {
			s.free(t)
		}
	}
	s.distribute()
}

// free frees the slot of a task, once for each lease: a second settlement of the task, for example
// after an unknown outcome, frees nothing. The caller must hold the mutex.
func (s *slots) free(t *queuepb.Task) { s.freeLease(t.GetId(), t.GetToken()) }

func (s *slots) freeLease(id string, token uint64) {
	l, was := s.leases.remove(id, token)
	if !was {
		return
	}
	if !l.gone {
		l.has--
		l.tasks--
	}
	s.spare++
}

// distribute gives spare slots to the links with less than their share. The caller must hold the
// mutex.
func (s *slots) distribute() {
	for _, l := range s.links {
		n := min(s.spare, l.share.Load()-l.has)
		if n <= 0 {
			continue
		}
		s.spare -= n
		l.has += n
		// Credits are sent with the frames of settlements. They get a separate frame only when the
		// server runs short of them.
		if l.freed.Add(n) >= max(1, l.share.Load()/4) {
			l.batcher.flush()
		}
	}
}

// shareOf returns the share of n slots for the node at the given index: an equal part; the first
// nodes get the remainder. With fewer slots than nodes, turn rotates which nodes get one.
func shareOf(n, place, nodes, turn int) int32 {
	if n < nodes {
		place = (place + nodes - turn%nodes) % nodes
	}
	share := n / nodes
	if place < n%nodes {
		share++
	}
	return int32(share)
}

// setShares sets the shares of the links. It returns a link with unused slots beyond its share
// while another link has too few: only ending that link frees them. It returns nil while another
// link is ending.
func (s *slots) setShares(share func(*workLink) int32) (overfull *workLink) {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	leaving, poor := false, false
	for _, l := range s.links {
		leaving = leaving || l.leaving
		if !l.leaving {
			l.share.Store(share(l))
		}
	}
	s.distribute()
	for _, l := range s.links {
		poor = poor || l.has < l.share.Load()
		unused := l.has - l.tasks
		if l.has > l.share.Load() && unused > 0 && (overfull == nil || unused > overfull.has-overfull.tasks) {
			overfull = l
		}
	}
	if leaving || !poor {
		return nil
	}
	return overfull
}
