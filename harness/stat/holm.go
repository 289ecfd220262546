package stat

import (
	"cmp"
	"math"
	"slices"
)

// Step is what Holm's step-down procedure says of one test.
type Step struct {
	// Adjusted is the corrected P: at least the P that it was, and at most 1.
	Adjusted float64
	// Level is what the test's own P has to reach. Adjusted is at most the level of the family exactly if P is at most Level.
	Level float64
}

// HolmWeighted corrects the P of several tests for their number (Holm 1979, whose section 3 gives weights). Calling all tests
// significant whose P is at most their Level makes a false alarm with probability alpha at most, however the tests depend on one
// another. A test of more weight gets more of alpha; weights are positive and must be chosen before the data are seen. The result is in the
// order of ps, which has as many values as weights. A P that is NaN or outside 0 to 1 counts as 1.
func HolmWeighted(ps, weights []float64, alpha float64) []Step {
	sound := make([]float64, len(ps))
	order := make([]int, len(ps))
	for i, p := range ps {
		sound[i], order[i] = p, i
		if math.IsNaN(p) || p < 0 || p > 1 {
			sound[i] = 1
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sound[a]/weights[a], sound[b]/weights[b]) })
	left := make([]float64, len(ps)+1) // left[s] is the weight of the tests from step s on
	for step := len(ps) - 1; step >= 0; step-- {
		left[step] = left[step+1] + weights[order[step]]
	}
	steps := make([]Step, len(ps))
	highest, at := 0.0, 0
	for step, i := range order {
		highest = max(highest, min(1, sound[i]*left[step]/weights[i]))
		if highest <= alpha || step == 0 {
			at = step
		} else if steps[order[step-1]].Adjusted <= alpha {
			at = step // the first test that is not significant: those after it have no more of alpha
		}
		steps[i] = Step{Adjusted: highest, Level: alpha * weights[i] / left[at]}
	}
	return steps
}

// Holm corrects the P of several tests of equal weight; see HolmWeighted.
func Holm(ps []float64) []float64 {
	weights := make([]float64, len(ps))
	for i := range weights {
		weights[i] = 1
	}
	corrected := make([]float64, len(ps))
	for i, step := range HolmWeighted(ps, weights, 1) {
		corrected[i] = step.Adjusted
	}
	return corrected
}
