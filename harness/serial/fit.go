package serial

import "math"

const (
	// keptShare is the rate at the budget as a fraction of the rate without work. slowdownMost is
	// the corresponding ratio of times: the time between two answers at the budget, divided by the
	// time between two answers without work.
	keptShare    = 0.95
	slowdownMost = 1 / keptShare
)

// observation is the result of all pairs with the same amount of work.
type observation struct {
	work     float64 // in nanoseconds
	slowdown float64 // geometric mean over the pairs
	pairs    float64
	variance float64 // of the logarithm of a single pair's slowdown
}

const (
	// fitReach limits the observations that a fit uses: their work must be from middle / fitReach
	// to middle * fitReach. In a narrow range a line is a better model.
	fitReach = 1.3
	// fitWorks is the number of budgets that a fit tries, and fitSlopes is the number of slopes
	// that it tries for each.
	fitWorks, fitSlopes = 161, 25
	// fitBin is the width of a bin, in natural logarithms of the work. The fit treats works in the
	// same bin as equal.
	fitBin = 0.004
	// likelihoodDrop defines the interval. At its bounds the misfit, in units of the variance, is
	// larger by this than at the best budget. It is the 95th percentile of the chi-squared
	// distribution with one degree of freedom.
	likelihoodDrop = 3.84
)

// estimate is a fitted budget with its 95 % interval, and the variance of the logarithm of a single
// pair's slowdown.
type estimate struct{ work, low, high, variance float64 }

func (e estimate) halfWidth() float64 { return (e.high - e.low) / 2 / e.work }

// fit finds the work near middle whose slowdown is slowdownMost. In its model the slowdown is 1 up
// to a knee and grows linearly above it. Below the knee, the deciding goroutine does not limit the
// rate. The slope of the line is bounded in both directions. The smallest slope belongs to a line
// whose knee is at zero work. The largest is steepest, the slope of a goroutine that does nothing
// else. The interval contains all budgets that fit the observations, with any slope, nearly as well
// as the best fit (a profile likelihood).
func fit(all []observation, middle, steepest float64) estimate {
	near, variance := gather(all, middle)
	misfits := make([]float64, fitWorks)
	works := make([]float64, fitWorks)
	best := 0
	for i := range works {
		works[i] = middle * math.Pow(fitReach, 2*float64(i)/(fitWorks-1)-1)
		misfits[i] = leastMisfit(near, works[i], steepest)
		if misfits[i] < misfits[best] {
			best = i
		}
	}
	e := estimate{work: works[best], low: works[best], high: works[best], variance: variance}
	for i, misfit := range misfits {
		if misfit-misfits[best] <= likelihoodDrop*variance {
			e.low, e.high = min(e.low, works[i]), max(e.high, works[i])
		}
	}
	return e
}

// leastMisfit considers all lines through slowdownMost at the given work. It returns the smallest
// sum of squared differences between the observations and such a line.
func leastMisfit(all []observation, work, steepest float64) float64 {
	flattest := (slowdownMost - 1) / work
	ratio := max(1, steepest/flattest)
	least := math.Inf(1)
	for i := range fitSlopes {
		slope := flattest * math.Pow(ratio, float64(i)/(fitSlopes-1))
		misfit := 0.0
		for _, o := range all {
			difference := o.slowdown - max(1, slowdownMost+slope*(o.work-work))
			misfit += o.pairs * difference * difference
		}
		least = min(least, misfit)
	}
	return least
}

// gather returns the observations near a work, and the variance of a single pair. It merges
// observations whose works are nearly equal.
func gather(all []observation, middle float64) (near []observation, variance float64) {
	at := map[int]int{}
	pairs := 0.0
	for _, o := range all {
		if o.work > middle*fitReach || o.work < middle/fitReach {
			continue
		}
		variance, pairs = variance+o.pairs*o.variance, pairs+o.pairs
		bin := int(math.Floor(math.Log(o.work) / fitBin))
		k, known := at[bin]
		if !known {
			at[bin] = len(near)
			near = append(near, o)
			continue
		}
		sum := near[k].pairs + o.pairs
		near[k].work = (near[k].work*near[k].pairs + o.work*o.pairs) / sum
		near[k].slowdown = (near[k].slowdown*near[k].pairs + o.slowdown*o.pairs) / sum
		near[k].pairs = sum
	}
	return near, variance / max(1, pairs)
}
