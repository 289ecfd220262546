package load

import "sync"

// places are the due tasks that a Meter has returned from Next and that are not sent yet.
type places struct {
	mu    sync.Mutex
	left  int
	byDue map[int64]int // number of unused places by intended start; nil if places are only counted
}

// newPlaces returns an empty set. If apart is true, the set stores each intended start; the
// in-flight limit then bounds its size.
func newPlaces(apart bool) *places {
	if apart {
		return &places{byDue: map[int64]int{}}
	}
	return &places{}
}

func (p *places) add(due []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += len(due)
	for _, at := range due {
		if p.byDue != nil {
			p.byDue[at]++
		}
	}
}

// use marks a place as sent. It returns false if Next did not return the place, or if the place is
// already used.
func (p *places) use(due int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byDue == nil {
		p.left = max(p.left-1, 0)
		return true
	}
	n := p.byDue[due]
	switch n {
	case 0:
		return false
	case 1:
		delete(p.byDue, due)
	default:
		p.byDue[due] = n - 1
	}
	p.left--
	return true
}

func (p *places) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

func (p *places) each(visit func(due int64, n int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for due, n := range p.byDue {
		visit(due, n)
	}
}
