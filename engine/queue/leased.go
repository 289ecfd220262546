package queue

// leasedRefs maps the seq of a leased task, which is unique within its queue, to its token. Seqs
// are dense, and tasks are leased approximately in their order. Therefore a page holds the tokens
// of neighbouring seqs: a page costs one map operation, and a task one array access.
type leasedRefs struct {
	pages map[uint64]*leasedPage // by seq / leasedPageTasks; nil while the queue never had a lease
	most  int                    // the most pages since the map was made; a Go map never shrinks
	// The page of the newest lease; kept when empty, because the next seq probably belongs to it.
	last *leasedPage
}

// leasedPageTasks is the number of seqs of a page. A single lease costs one page of about 150
// bytes.
const leasedPageTasks = 16

type leasedPage struct {
	at     uint64
	live   int
	tokens [leasedPageTasks]uint64 // 0 means not leased
}

// leasedPagesSpare bounds the empty pages that a State keeps for reuse.
const leasedPagesSpare = 1_024

// leasedPagesKept bounds the size of a map that is kept: if a map ever had more pages, it is
// dropped when its queue has no leases.
const leasedPagesKept = 64

// noteLeased stores the token of a leased task. It returns the token of a lease that the task
// already had, which is an error, or 0.
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

// noteEnded removes the token of a task whose lease ends.
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

// lastEnded caches the page of the lease that ended last, since leases often end in their order.
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

// token returns the token of a leased task, or 0 if it is not leased.
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
