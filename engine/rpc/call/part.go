package call

import "github.com/pronybench/prony/engine/queuepb"

// Part has some of the items of a call, each with its place in the call: the items that passed the checks, or the items for one
// node.
type Part[T any] struct {
	Items  []T
	places []int // nil: the i-th item has place i
}

// Add adds the item that has a place in the call.
func (p *Part[T]) Add(item T, place int) {
	if p.places == nil && place != len(p.Items) {
		p.places = make([]int, len(p.Items), len(p.Items)+8)
		for i := range p.places {
			p.places[i] = i
		}
	}
	p.Items = append(p.Items, item)
	if p.places != nil {
		p.places = append(p.places, place)
	}
}

// Place returns the place in the call of the i-th item.
func (p Part[T]) Place(i int) int {
	if p.places == nil {
		return i
	}
	return p.places[i]
}

// SettleResults puts errors in the places of their items.
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
