package queue

// leasedRefs maps the seq of each leased task of a queue to the task's token. Seqs are dense, and
// tasks are leased approximately in the order of their seqs. A page therefore contains the tokens
// of neighbouring seqs: adding a page costs a map operation, and adding a task to a page costs only
// an array access.
type leasedRefs struct {
	pages map[uint64]*leasedPage // by seq / leasedPageTasks; nil while the queue never had a lease
	// most is the largest len(pages) since the map was made. It is needed because a Go map never
	// shrinks.
	most int
	// last is the page of the newest lease. It is not dropped when it is empty, because the next
	// leased seq probably belongs to it.
	last *leasedPage
}

// leasedPageTasks is the number of seqs in a page. A page occupies about 150 bytes, even for a
// single lease.
const leasedPageTasks = 16

type leasedPage struct {
	at     uint64
	live   int
	tokens [leasedPageTasks]uint64 // 0 means not leased
}

// leasedPagesSpare limits the number of empty pages that a State keeps for reuse.
const leasedPagesSpare = 1_024

// leasedPagesKept limits the size of an empty map that is kept: a map that ever had more pages is
// dropped when its queue has no leases.
const leasedPagesKept = 64

// noteLeased stores the token of a leased task. It returns 0, or the task's token if the task was
// leased already, which is a broken invariant.
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

// lastEnded caches the page of the lease that ended last, since leases often end in the order of
// their seqs.
type lastEnded struct {
	of   *leasedRefs
	page *leasedPage // nil if there is none
}

func (s *State) endedPage(x *leasedRefs, at uint64) *leasedPage {
	if l := &s.lastEnded; l.page == nil || l.of != x || l.page.at != at {
		*l = lastEnded{x, x.pages[at]}
	}
	return s.lastEnded.page
}

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

func (s *State) dropPage(x *leasedRefs, p *leasedPage) {
	delete(x.pages, p.at)
	if s.lastEnded.page == p {
		s.lastEnded.page = nil
	}
	if len(s.sparePages) < leasedPagesSpare {
		s.sparePages = append(s.sparePages, p)
	}
}
