package client

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/pronybench/prony/engine/queuepb"
)

type workLink struct {
	*link[*queuepb.Task]

	freed atomic.Int32 // number of the link's slots for which the server has no credits yet
	share atomic.Int32 // number of slots that the link should have

	// The mutex of slots guards the following fields.
	has   int32 // slots of the link: free, granted to the server, or occupied by tasks
	tasks int32 // tasks of the link that are not yet settled
	gone  bool

	leaving bool
	slots   *slots
}

// leave ends the link after its active calls.
func (l *workLink) leave() {
	l.slots.leases.mu.Lock()
	l.leaving = true
	l.share.Store(0)
	l.slots.leases.mu.Unlock()
	l.link.leave()
}

// slots divides a worker's slots among its links. A slot belongs to a link, or to a task of a link
// that has ended, or is spare. A session therefore never has more tasks than slots. All methods use
// the mutex of leases, since freeing a slot removes a lease.
type slots struct {
	leases leaseSet
	expiry expiry
	// reports is true if the tasks of cancelled leases must be reported.
	reports bool

	total int32
	spare int32
	links []*workLink // the links that have not ended
}

// admit assigns spare slots to a new link, up to the link's share. It returns
// the number of credits for the link's first frame.
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

// origin returns the link that delivered a task. It returns nil if that link is ending or has
// ended.
func (s *slots) origin(t *queuepb.Task) *workLink {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	if l := s.leases.origin(t.GetId(), t.GetToken()); l != nil && !l.gone && !l.leaving {
		return l
	}
	return nil
}

// arrived records the leases of tasks that have just arrived. serverMs is the server's time when it
// sent them, or 0 if unknown.
func (s *slots) arrived(l *workLink, tasks []*queuepb.Task, serverMs int64) {
	now := s.expiry.now()
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	for _, t := range tasks {
		until := holdsUntil(now, t.GetLeaseExpiresAtMs(), serverMs)
		e := lease{id: t.GetId(), token: t.GetToken(), from: l, until: until}
		if s.reports {
			e.task = t
		}
		if s.leases.put(e) {
			l.tasks++
			s.expires(until)
		}
	}
}

// settled frees the slots of leases that ended with answered calls.
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

// frees reports whether a settlement with this error frees the task's slot. If the server refused
// the settlement because of its content, it does not: the lease continues, and the task can be
// settled again.
func frees(err error) bool {
	return err == nil || errors.Is(err, ErrStaleToken) || errors.Is(err, ErrNotFound)
}

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

// freeAll frees the slots of tasks after their settlement. errs contains the final error of each
// task.
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

// free frees the slot of a task. It does so only once for each lease: another settlement of the
// task, for example after an unknown outcome, frees nothing. The caller must hold the mutex.
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

// distribute assigns spare slots to links that have less than their share. The caller must hold the
// mutex.
func (s *slots) distribute() {
	for _, l := range s.links {
		n := min(s.spare, l.share.Load()-l.has)
		if n <= 0 {
			continue
		}
		s.spare -= n
		l.has += n
		// Credits are normally sent with the frames of settlements. They get their own frame only
		// if the server would otherwise run out of credits.
		if l.freed.Add(n) >= max(1, l.share.Load()/4) {
			l.batcher.flush()
		}
	}
}

// grantSpare is distribute for slots that became free without a settlement: it sends the credits
// even if no settlement follows. The caller must hold the mutex.
func (s *slots) grantSpare() {
	s.distribute()
	for _, l := range s.links {
		if l.freed.Load() > 0 {
			l.batcher.flush()
		}
	}
}

// shareOf returns how many of n slots the node at index place gets. All nodes get an equal number;
// the first nodes also get the remainder. If there are fewer slots than nodes, turn determines
// which nodes get one.
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

// setShares sets the shares of the links. If one link has unused slots beyond its share and another
// link has too few, setShares returns the first one: the slots become free only if that link is
// ended. It returns nil while another link is ending.
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
