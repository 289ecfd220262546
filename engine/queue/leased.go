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

// leasedPages contains what the leasedRefs of all queues share.
type leasedPages struct {
	spare     []*leasedPage
	lastEnded lastEnded
}

// leasedPagesSpare limits the length of leasedPages.spare.
const leasedPagesSpare = 1_024

// leasedPagesKept limits the size of an empty map that is kept: a map that ever had more pages is
// dropped when its queue has no leases.
const leasedPagesKept = 64

// lastEnded caches the page of the lease that ended last, since leases often end in the order of
// their seqs.
type lastEnded struct {
	of   *leasedRefs
	page *leasedPage // nil if there is none
}

func (x *leasedRefs) token(seq uint64) uint64 {
	if p := x.pages[seq/leasedPageTasks]; p != nil {
		return p.tokens[seq%leasedPageTasks]
	}
	return 0
}

// noteLeased stores the token of a leased task. It returns 0, or the task's token if the task was
// leased already, which is a broken invariant.
func (lp *leasedPages) noteLeased(q *Queue, seq, token uint64) (before uint64) {
	x := &q.leased
	at := seq / leasedPageTasks
	p := x.last
	if p == nil || p.at != at {
		if p != nil && p.live == 0 {
			lp.dropPage(x, p)
		}
		if p = x.pages[at]; p == nil {
			p = lp.newPage(at)
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

func (lp *leasedPages) noteEnded(q *Queue, seq uint64) {
	x := &q.leased
	at := seq / leasedPageTasks
	p := x.last
	if p == nil || p.at != at {
		p = lp.endedPage(x, at)
	}
	if p == nil || p.tokens[seq%leasedPageTasks] == 0 {
		broken("the lease of task %d of queue %q ends, and the task is not leased", seq, q.record.Name)
	}
	p.tokens[seq%leasedPageTasks] = 0
	if p.live--; p.live > 0 {
		return
	}
	if p != x.last {
		lp.dropPage(x, p)
	}
	if len(x.pages) == 1 && x.last != nil && x.last.live == 0 && x.most > leasedPagesKept {
		lp.dropPage(x, x.last)
		*x = leasedRefs{}
	}
}

func (lp *leasedPages) endedPage(x *leasedRefs, at uint64) *leasedPage {
	if l := &lp.lastEnded; l.page == nil || l.of != x || l.page.at != at {
		*l = lastEnded{x, x.pages[at]}
	}
	return lp.lastEnded.page
}

func (lp *leasedPages) newPage(at uint64) *leasedPage {
	if n := len(lp.spare); n > 0 {
		p := lp.spare[n-1]
		lp.spare = lp.spare[:n-1]
		p.at = at
		return p
	}
	return &leasedPage{at: at}
}

func (lp *leasedPages) dropPage(x *leasedRefs, p *leasedPage) {
	delete(x.pages, p.at)
	if lp.lastEnded.page == p {
		lp.lastEnded.page = nil
	}
	if len(lp.spare) < leasedPagesSpare {
		lp.spare = append(lp.spare, p)
	}
}
