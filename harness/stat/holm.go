package stat

import (
	"cmp"
	"math"
	"slices"
)

// Step is the result of Holm's step-down procedure for one test.
type Step struct {
	// Adjusted is the corrected P: at least the original P, and at most 1.
	Adjusted float64
	// Level is the level that the test's original P must reach. Adjusted is at most the level of
	// the family exactly if P is at most Level.
	Level float64
}

// HolmWeighted corrects the P of several tests for their number (Holm 1979; section 3 for weights).
// If every test whose P is at most its Level is called significant, the probability of any false
// alarm is at most alpha, however the tests depend on each other. A test with a larger weight gets
// a larger share of alpha. Weights must be positive and chosen before the data are seen. The result
// is in the order of ps, which must be as long as weights. A P that is NaN or outside 0 to 1 is
// treated as 1.
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
	left := make([]float64, len(ps)+1) // left[s] is the weight of the tests from step s to the end
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
			at = step // the first test that is not significant: later tests share the same rest
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
