package call

import "github.com/pronybench/prony/engine/queuepb"

// Part contains some of the items of a call, with each item's place (index) in the call: for
// example the items that passed the checks, or the items for one node.
type Part[T any] struct {
	Items  []T
	places []int // nil: the i-th item has place i
}

// Next adds a zero item with the given place in the call, and returns a pointer for the caller to
// fill it in. Places must increase.
func (p *Part[T]) Next(place int) *T {
	if p.places == nil && place != len(p.Items) {
		p.places = make([]int, len(p.Items), len(p.Items)+8)
		for i := range p.places {
			p.places[i] = i
		}
	}
	var zero T
	p.Items = append(p.Items, zero)
	if p.places != nil {
		p.places = append(p.places, place)
	}
	return &p.Items[len(p.Items)-1]
}

// Add adds an item with the given place in the call.
func (p *Part[T]) Add(item T, place int) { *p.Next(place) = item }

// DropLast undoes the last Next. Callers use it if the item is invalid.
func (p *Part[T]) DropLast() {
	last := len(p.Items) - 1
	var zero T
	p.Items[last] = zero
	p.Items = p.Items[:last]
	if p.places != nil {
		p.places = p.places[:last]
	}
}

// Place returns the i-th item's place in the call.
func (p Part[T]) Place(i int) int {
	if p.places == nil {
		return i
	}
	return p.places[i]
}

// SettleResults returns n results. The result at each error's index contains that error; the others
// report success.
func SettleResults(n int, errs []*queuepb.ItemError) []*queuepb.SettleResult {
	results := make([]*queuepb.SettleResult, n)
	for i := range results {
		results[i] = &queuepb.SettleResult{}
	}
	for _, e := range errs {
		results[e.GetIndex()].Error = e
	}
	return results
}
