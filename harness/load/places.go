package load

import "sync"

// places are the due tasks that a Meter handed out and that were not sent yet.
type places struct {
	mu    sync.Mutex
	left  int
	byDue map[int64]int // how many by when they are due; nil where they are only counted
}

// newPlaces returns an empty set. The in-flight limit bounds a set that keeps the tasks apart.
func newPlaces(apart bool) *places {
	if apart {
		return &places{byDue: map[int64]int{}}
	}
	return &places{}
}

// add hands places out.
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

// use marks a place as sent. It returns false if the place was not handed out, or was used before.
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

// count returns how many places are unused.
func (p *places) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

// each visits the unused places by intended start.
func (p *places) each(visit func(due int64, n int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for due, n := range p.byDue {
		visit(due, n)
	}
}
