package profile

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/result"
)

// renamedWithin is the largest relative difference between the values of a function and of its new
// name.
const renamedWithin = 0.25

// mergeRenamed replaces a function that only the base has and one that only the change has by one
// entry, if their values are about the same: the function was probably renamed or moved, and neither
// is a new cost or a saving. The name of the entry is that of both. Functions with the same name in
// different packages are merged first, then those whose values differ least. Small functions are not
// merged, because a profile may lack them by chance.
//
// The difference that remains is between the base's and the change's function. A wrong pair is
// harmless: its difference is what the two functions together cost more.
func mergeRenamed(of *sides) {
	var means [2]map[string]float64
	var total [2]float64
	for i, side := range of {
		means[i] = map[string]float64{}
		for _, round := range side {
			for function, c := range round {
				means[i][function] += c.flat.Value / float64(len(side))
				total[i] += c.flat.Value / float64(len(side))
			}
		}
	}
	least := diffShareMin * max(total[0], total[1])
	only := func(i int) (functions []string) {
		for function, mean := range means[i] {
			if _, both := means[1-i][function]; !both && mean >= least && mean > 0 {
				functions = append(functions, function)
			}
		}
		return functions
	}
	type pair struct {
		was, is string
		apart   float64
		moved   bool
	}
	var pairs []pair
	for _, was := range only(0) {
		for _, is := range only(1) {
			a, b := means[0][was], means[1][is]
			if apart := math.Abs(a-b) / max(a, b); apart <= renamedWithin {
				pairs = append(pairs, pair{was, is, apart, lastName(was) == lastName(is)})
			}
		}
	}
	slices.SortFunc(pairs, func(p, q pair) int {
		if p.moved != q.moved {
			if p.moved {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(p.apart, q.apart), cmp.Compare(p.was, q.was), cmp.Compare(p.is, q.is))
	})
	merged := map[string]bool{}
	for _, p := range pairs {
		if merged[p.was] || merged[p.is] {
			continue
		}
		merged[p.was], merged[p.is] = true, true
		for i, name := range []string{p.was, p.is} {
			for _, round := range of[i] {
				if c, found := round[name]; found {
					delete(round, name)
					round[p.was+result.RenamedTo+p.is] = c
				}
			}
		}
	}
}

// lastName returns the name of a function or method without its package and receiver.
func lastName(function string) string { return function[strings.LastIndexByte(function, '.')+1:] }
