package queue

// leasedRefs maps the seq of a leased task, which is unique within its queue, to its token. Seqs are dense and tasks are leased
// approximately in their order. Therefore a page holds the tokens of neighbouring seqs: a page costs one map operation, a task one
// array access.
type leasedRefs struct {
	pages map[uint64]*leasedPage // by seq / leasedPageTasks; nil while the queue never had a lease
	most  int                    // the most pages since the map was made, since a Go map never shrinks
	last  *leasedPage            // the last page that was added to; it stays when it is empty, because the next seq belongs to it
}

// leasedPageTasks is how many seqs a page covers. A lone lease costs one page of about 150 bytes.
const leasedPageTasks = 16

type leasedPage struct {
	at     uint64
	live   int
	tokens [leasedPageTasks]uint64 // 0: not leased
}

// leasedPagesSpare is how many empty pages a State keeps for reuse.
const leasedPagesSpare = 1_024

// leasedPagesKept is the largest number of pages after which the map of a queue without leases is kept.
const leasedPagesKept = 64

// noteLeased stores the token under which a task is leased, and returns the token under which it was leased before; 0 if it was not.
func (s *State) noteLeased(q *Queue, seq, token uint64) (before uint64) {
	x := &q.leased
	at := seq / leasedPageTasks
	p := x.last
	if p == nil || p.at != at {
		if p != nil && p.live == 0 {
			s.dropPage(x, p)
		}
		if p = x.pages[at]; p == nil {
			p = s.newPage(at)
			if x.pages == nil {
				x.pages, x.most = map[uint64]*leasedPage{}, 0
			}
			x.pages[at] = p
			x.most = max(x.most, len(x.pages))
		}
		x.last = p
	}
	before = p.tokens[seq%leasedPageTasks]
	if before == 0 {
		p.live++
	}
	p.tokens[seq%leasedPageTasks] = token
	return before
}

// noteEnded forgets the token of a task that was leased.
func (s *State) noteEnded(q *Queue, seq uint64) {
	x := &q.leased
	at := seq / leasedPageTasks
	p := x.last
	if p == nil || p.at != at {
		p = s.endedPage(x, at)
	}
	if p == nil || p.tokens[seq%leasedPageTasks] == 0 {
		broken("the lease of task %d of queue %q ends, and the task is not leased", seq, q.record.Name)
	}
	p.tokens[seq%leasedPageTasks] = 0
	if p.live--; p.live > 0 {
		return
	}
	if p != x.last {
		s.dropPage(x, p)
	}
	if len(x.pages) == 1 && x.last != nil && x.last.live == 0 && x.most > leasedPagesKept {
		s.dropPage(x, x.last)
		*x = leasedRefs{}
	}
}

// lastEnded is the page of the lease that ended last: leases often end in their order.
type lastEnded struct {
	of   *leasedRefs
	page *leasedPage // nil: none
}

// endedPage returns the page at a place.
func (s *State) endedPage(x *leasedRefs, at uint64) *leasedPage {
	if l := &s.lastEnded; l.page == nil || l.of != x || l.page.at != at {
		*l = lastEnded{x, x.pages[at]}
	}
	return s.lastEnded.page
}

// token returns the token under which a task is leased; 0 if it is not.
func (x *leasedRefs) token(seq uint64) uint64 {
	if p := x.pages[seq/leasedPageTasks]; p != nil {
		return p.tokens[seq%leasedPageTasks]
	}
	return 0
}

func (s *State) newPage(at uint64) *leasedPage {
	if n := len(s.sparePages); n > 0 {
		p := s.sparePages[n-1]
		s.sparePages = s.sparePages[:n-1]
		p.at = at
		return p
	}
	return &leasedPage{at: at}
}

// dropPage takes an empty page out.
func (s *State) dropPage(x *leasedRefs, p *leasedPage) {
	delete(x.pages, p.at)
	if s.lastEnded.page == p {
		s.lastEnded.page = nil
	}
	if len(s.sparePages) < leasedPagesSpare {
		s.sparePages = append(s.sparePages, p)
	}
}
