package client

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/pronybench/prony/engine/queuepb"
)

// workLink is one stream of a worker session.
type workLink struct {
	*link[*queuepb.Task]

	freed atomic.Int32 // slots that were given to the link and not granted to the server yet
	share atomic.Int32 // how many slots the link should have

	// Guarded by the slots' mutex.
	has   int32 // slots: granted, or to be, and not used, or used by tasks that came from here
	tasks int32 // that came from here and are not settled
	gone  bool

	leaving bool
	slots   *slots
}

// leave lets the calls under way end, and then the link.
func (l *workLink) leave() {
	l.slots.held.mu.Lock()
	l.leaving = true
	l.share.Store(0)
	l.slots.held.mu.Unlock()
	l.link.leave()
}

// slots shares a worker's slots out among its links. Each slot is a link's, or of a task that came from a link that is
// gone, or spare: so a session never holds more tasks than it has slots, whatever its links do. The mutex is that of
// held: what frees a slot removes a lease.
type slots struct {
	held   held
	expiry expiry

	total int32
	spare int32
	links []*workLink // that are not gone, in the order of their nodes
}

// admit gives a new link its share, as far as there are slots, and returns what to grant in its first frame.
func (s *slots) admit(l *workLink, share int32) int32 {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	l.share.Store(share)
	l.has = min(share, s.spare)
	s.spare -= l.has
	s.links = append(s.links, l)
	return l.has
}

// leave takes back what a link that has ended was granted and did not use.
func (s *slots) leave(l *workLink) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	if l.gone {
		return
	}
	l.gone = true
	s.links = slices.DeleteFunc(s.links, func(o *workLink) bool { return o == l })
	s.spare += l.has - l.tasks
	s.deal()
}

// origin returns the link that a task came from, if it goes on, or nil.
func (s *slots) origin(t *queuepb.Task) *workLink {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	if l := s.held.origin(t.GetId(), t.GetToken()); l != nil && !l.gone && !l.leaving {
		return l
	}
	return nil
}

// came records the leases of tasks that just arrived. serverMs is the server's time when it sent them, or 0.
func (s *slots) came(l *workLink, tasks []*queuepb.Task, serverMs int64) {
	now := s.expiry.now()
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	for _, t := range tasks {
		until := holdsUntil(now, t.GetLeaseExpiresAtMs(), serverMs)
		if s.held.put(t.GetId(), t.GetToken(), l, until) {
			l.tasks++
			s.expires(until)
		}
	}
}

// settled frees the slots of leases that answered calls have ended.
func (s *slots) settled(calls []*call[*queuepb.Task]) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
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
	s.deal()
}

// frees tells whether a settlement's outcome ends the occupation of a slot. One that the server refused for what it
// says does not: the lease still holds, and the task may be settled again.
func frees(err error) bool {
	return err == nil || errors.Is(err, ErrStaleToken) || errors.Is(err, ErrNotFound)
}

// extendAll records the final outcomes of extensions.
func (s *slots) extendAll(tasks []*queuepb.Task, errs []error, leaseMs uint64) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	for i, t := range tasks {
		errs[i] = s.tooLate(t, errs[i])
		if errs[i] == nil || errors.Is(errs[i], ErrUnknownOutcome) {
			s.extended(t, leaseMs, errs[i] == nil)
		}
	}
}

// freeAll frees the slots of tasks whose settlements have these errors for good.
func (s *slots) freeAll(tasks []*queuepb.Task, errs []error) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	for i, t := range tasks {
		errs[i] = s.tooLate(t, errs[i])
		if frees(errs[i]) || errors.Is(errs[i], ErrUnknownOutcome) || errors.Is(errs[i], ErrClosed) {
			s.free(t)
		}
	}
	s.deal()
}

// free ends the occupation of a slot, once for each lease: a task that is settled twice, say because the first outcome
// was unknown, has freed its slot once. The caller holds the mutex.
func (s *slots) free(t *queuepb.Task) { s.freeLease(t.GetId(), t.GetToken()) }

func (s *slots) freeLease(id string, token uint64) {
	l, was := s.held.remove(id, token)
	if !was {
		return
	}
	if !l.gone {
		l.has--
		l.tasks--
	}
	s.spare++
}

// deal gives spare slots to the links that have less than their share. The caller holds the mutex.
func (s *slots) deal() {
	for _, l := range s.links {
		n := min(s.spare, l.share.Load()-l.has)
		if n <= 0 {
			continue
		}
		s.spare -= n
		l.has += n
		// Credits ride on the frames of settlements; they go alone only when the server runs short of them.
		if l.freed.Add(n) >= max(1, l.share.Load()/4) {
			l.batcher.flush()
		}
	}
}

// shareOf returns how many of n slots the node at a place of several should have: as many as the others, and the rest
// goes to the first. With fewer slots than nodes, turn says where the first is.
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

// setShares sets the shares of the links, and returns one that has slots beyond its share which it does not use while
// another link has too few: nothing but its end frees them. It returns nil while another link is about to end.
func (s *slots) setShares(share func(*workLink) int32) (hoarder *workLink) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	leaving, poor := false, false
	for _, l := range s.links {
		leaving = leaving || l.leaving
		if !l.leaving {
			l.share.Store(share(l))
		}
	}
	s.deal()
	for _, l := range s.links {
		poor = poor || l.has < l.share.Load()
		unused := l.has - l.tasks
		if l.has > l.share.Load() && unused > 0 && (hoarder == nil || unused > hoarder.has-hoarder.tasks) {
			hoarder = l
		}
	}
	if leaving || !poor {
		return nil
	}
	return hoarder
}
