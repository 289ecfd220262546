package call

import (
	"github.com/pronybench/prony/engine/queuepb"
)

// FirstPlaces returns the places of the first n items of a call.
func FirstPlaces(n int) []int {
	places := make([]int, n, n+8)
	for i := range places {
		places[i] = i
	}
	return places
}

// Place returns the place in a call of the i-th item that is left; nil places mean that all items are.
func Place(places []int, i int) int {
	if places == nil {
		return i
	}
	return places[i]
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
