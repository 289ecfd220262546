package serial

import "math"

const (
	// keptShare is the share of the unloaded rate that the budget keeps, and slowdownMost what that is in time: that of a request at
	// the budget over that of one without work.
	keptShare    = 0.95
	slowdownMost = 1 / keptShare
)

// observation is what pairs with one amount of work measured.
type observation struct {
	work     float64 // ns
	slowdown float64 // the geometric mean of the pairs
	pairs    float64
	variance float64 // of the logarithm of one pair's slowdown
}

const (
	// fitReach is by how much more or less than the middle the works are that a fit takes: the nearer, the better a line is there.
	fitReach = 1.3
	// fitWorks and fitSlopes are how many budgets and slopes are tried.
	fitWorks, fitSlopes = 161, 25
	// fitBin is by how much works differ that are taken for the same.
	fitBin = 0.004
	// likelihoodDrop is by how much a budget on the bounds of the interval fits worse: the 95th percentile of chi-squared of one degree.
	likelihoodDrop = 3.84
)

// estimate is a fitted budget with its interval at 95 % confidence, and the variance of one pair.
type estimate struct{ work, low, high, variance float64 }

// halfWidth is half of the interval as a share of the budget.
func (e estimate) halfWidth() float64 { return (e.high - e.low) / 2 / e.work }

// fit finds the work near middle at which requests are slowed down to slowdownMost. The slowdown is taken for 1 up to some work, and for a
// line from there on: below that work something else than the deciding goroutine bounds the rate. The slope of the line is at least that of
// a line from no work at all, and at most steepest, which is that of a goroutine that does nothing else. The interval holds the budgets
// that fit the observations nearly as well, whatever the slope (a profile likelihood).
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

// leastMisfit is the sum of the squared differences of observations from the best line through slowdownMost at a work.
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

// gather returns the observations near a work, those of about the same work as one, and the variance of one pair.
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
