package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Counted is a value that is a sum over a number of events, such as the samples of a profile. The
// randomness of that number is noise in the value.
type Counted struct {
	Value  float64
	Events float64 // at least 0
}

func (c Counted) check() error {
	if math.IsNaN(c.Value) || math.IsInf(c.Value, 0) || math.IsNaN(c.Events) || c.Events < 0 || math.IsInf(c.Events, 0) {
		return fmt.Errorf("a value of %v over %v events cannot be compared: both must be finite, and events at least 0", c.Value, c.Events)
	}
	return nil
}

// Difference is the difference of the means of two sides with an interval, of 95 % unless a
// function states another level.
type Difference struct {
	Base, Change float64 // the means
	Low, High    float64 // of Change - Base
	N            int     // values of the smaller side
}

// differenceResamples leaves 25 resamples in each 2.5 % tail. It is small because a profile has
// hundreds of functions to compare.
const differenceResamples = 1000

// differenceSeed is constant, so that equal values have equal intervals on every machine.
const differenceSeed = 0x646966666572

// MeanDifference returns the difference of the means of two sides, of at least two values each,
// with its interval.
//
// The interval is that of the bootstrap (Efron 1979). Each resample draws each side's values with
// replacement and adds to each value the noise of its count, a Poisson variable approximated by a
// normal one. The noise is added because two rounds without events are not certain to be equal. A
// bootstrap of few values is too narrow for two reasons: its spread is that of n values instead of
// n - 1, and its quantiles are normal instead of Student's (Hesterberg 2015). The interval is
// widened by both factors. With 2 or 3 values the level is a bound, not exact.
func MeanDifference(base, change []Counted) (Difference, error) {
	d := Difference{N: min(len(base), len(change))}
	if d.N < 2 {
		return d, fmt.Errorf("the interval of a difference needs at least 2 values a side; there are %d and %d", len(base), len(change))
	}
	for _, v := range slices.Concat(base, change) {
		if err := v.check(); err != nil {
			return d, err
		}
	}
	d.Base, d.Change = meanOf(base), meanOf(change)
	each := perEvent(slices.Concat(base, change))
	random := rand.New(rand.NewPCG(differenceSeed, uint64(len(base)+len(change))))
	drawn := make([]float64, differenceResamples)
	for i := range drawn {
		drawn[i] = drawMean(change, each, random) - drawMean(base, each, random)
	}
	low, high := quantileInterval(drawn)
	center := d.Change - d.Base
	wider := widening(len(base), len(change))
	d.Low, d.High = center-(center-low)*wider, center+(high-center)*wider
	return d, nil
}

func meanOf(values []Counted) float64 {
	var sum float64
	for _, v := range values {
		sum += v.Value
	}
	return sum / float64(len(values))
}

func perEvent(values []Counted) float64 {
	var value, events float64
	for _, v := range values {
		value += math.Abs(v.Value)
		events += v.Events
	}
	if events == 0 {
		return 0
	}
	return value / events
}

// drawMean returns the mean of a resample: values are drawn with replacement, each with the noise
// of its count. A count of 0 has the noise of one event.
func drawMean(values []Counted, each float64, random *rand.Rand) float64 {
	var sum float64
	for range values {
		v := values[random.IntN(len(values))]
		sum += v.Value + random.NormFloat64()*each*math.Sqrt(max(v.Events, 1))
	}
	return sum / float64(len(values))
}

// widening returns the factor that corrects a bootstrap interval of n and m values.
func widening(n, m int) float64 {
	const tail = (1 + Level) / 2
	few := float64(min(n, m))
	return studentQuantile(n+m-2, tail) / distuv.UnitNormal.Quantile(tail) * math.Sqrt(few/(few-1))
}
