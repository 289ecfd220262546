package stat

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Resamples is how many resamples a bootstrap interval is taken from. The sequence is seeded with a constant, so that the same
// values have the same interval everywhere.
const Resamples = 2000

// bootstrapSeed is that constant.
const bootstrapSeed = 0x70726f6e79

// bootstrapMin is the number of values below which a bootstrap interval has a warning: one resample of five values in 625 holds
// one value alone, so that single values make up the tails.
const bootstrapMin = 6

// PairedRatio returns the ratio that paired differences of logarithms lie around, and its interval. The ratio is that of their
// pseudomedian, the median of the means of all pairs of differences (Hodges and Lehmann 1963): it belongs to SignedRank as the
// mean does to the t-test, and like a median it bears differences that are far out. The interval is that of the percentile
// bootstrap (Efron 1979) over the pairs, from so many resamples (0: Resamples). Without differences, and with one that is NaN
// or infinite, there is no ratio but an error.
func PairedRatio(differences []float64, resamples int) (Summary, error) {
	if err := checkFinite("the pairs", differences); err != nil {
		return Summary{}, err
	}
	w := newWalsh(differences)
	return bootstrap(math.Exp(w.median()), len(differences), resamples, func(random *rand.Rand) float64 {
		w.draw(random)
		return w.median()
	})
}

// walsh are the means of all pairs of some values, each value with itself included, in order. How often a value was drawn says how
// often its pairs count, so that no resample needs to sort anything.
type walsh struct {
	pairs  []walshPair
	counts []int // how often each value counts
}

type walshPair struct {
	mean float64
	i, j int // of its values
}

func newWalsh(values []float64) *walsh {
	w := &walsh{counts: make([]int, len(values))}
	for i, a := range values {
		w.counts[i] = 1
		for j := i; j < len(values); j++ {
			w.pairs = append(w.pairs, walshPair{a + (values[j]-a)/2, i, j})
		}
	}
	slices.SortFunc(w.pairs, func(a, b walshPair) int {
		switch {
		case a.mean < b.mean:
			return -1
		case a.mean > b.mean:
			return 1
		}
		return 0
	})
	return w
}

// draw takes as many values as there are, at random, with replacement.
func (w *walsh) draw(random *rand.Rand) {
	clear(w.counts)
	for range w.counts {
		w.counts[random.IntN(len(w.counts))]++
	}
}

// median is the middle one of all pairs of the values that count, or the mean of the two in the middle.
func (w *walsh) median() float64 {
	n := len(w.counts)
	total := n * (n + 1) / 2
	seen, lower := 0, math.NaN()
	for _, p := range w.pairs {
		if p.i == p.j {
			seen += w.counts[p.i] * (w.counts[p.i] + 1) / 2
		} else {
			seen += w.counts[p.i] * w.counts[p.j]
		}
		if math.IsNaN(lower) && 2*seen >= total {
			lower = p.mean
		}
		if 2*seen > total {
			return lower + (p.mean-lower)/2
		}
	}
	return lower
}

// median sorts values, of which there is at least one.
func median(values []float64) float64 {
	slices.Sort(values)
	m := len(values) / 2
	if len(values)%2 == 1 {
		return values[m]
	}
	return values[m-1] + (values[m]-values[m-1])/2
}

// UnpairedRatio returns the ratio of change's median to base's, with the interval of the percentile bootstrap over the values
// of each side by itself. All values must be greater than 0 and finite: anything else is no measurement, and an error.
func UnpairedRatio(base, change []float64, resamples int) (Summary, error) {
	if err := errors.Join(checkPositive("the base", base), checkPositive("the change", change)); err != nil {
		return Summary{}, err
	}
	drawn := make([]float64, max(len(base), len(change)))
	draw := func(random *rand.Rand, from []float64) float64 {
		for i := range from {
			drawn[i] = from[random.IntN(len(from))]
		}
		return median(drawn[:len(from)])
	}
	ratio := median(slices.Clone(change)) / median(slices.Clone(base))
	return bootstrap(ratio, min(len(base), len(change)), resamples, func(random *rand.Rand) float64 {
		return math.Log(draw(random, change) / draw(random, base))
	})
}

// LogRatios returns the logarithm of each change to its base, which both must be greater than 0 and finite. Where there are
// several bases of a pair, it is that to their geometric mean.
func LogRatios(change []float64, bases ...[]float64) ([]float64, error) {
	if len(bases) == 0 {
		return nil, errors.New("there is no base to compare with")
	}
	if err := checkPositive("the change", change); err != nil {
		return nil, err
	}
	ratios := make([]float64, len(change))
	for i, v := range change {
		ratios[i] = math.Log(v)
	}
	for _, base := range bases {
		if len(base) != len(change) {
			return nil, fmt.Errorf("%d values of the base and %d of the change are not pairs", len(base), len(change))
		}
		if err := checkPositive("the base", base); err != nil {
			return nil, err
		}
		for i, v := range base {
			ratios[i] -= math.Log(v) / float64(len(bases))
		}
	}
	return ratios, nil
}

// bootstrap summarises a ratio of n values: the bounds of the interval are the quantiles of the logarithms of the ratio that sample
// draws (Efron 1979). It fails if the ratio or a bound is not a finite number above 0.
func bootstrap(ratio float64, n, resamples int, sample func(*rand.Rand) float64) (Summary, error) {
	if resamples <= 0 {
		resamples = Resamples
	}
	random := rand.New(rand.NewPCG(bootstrapSeed, uint64(resamples)))
	drawn := make([]float64, resamples)
	for i := range drawn {
		drawn[i] = sample(random)
	}
	slices.Sort(drawn)
	cut := int(float64(resamples) * (1 - Level) / 2)
	s := Summary{Center: ratio, Low: math.Exp(drawn[cut]), High: math.Exp(drawn[resamples-1-cut]), Confidence: Level, N: n}
	if n < bootstrapMin {
		s.Warnings = append(s.Warnings, fmt.Sprintf("n = %d: the interval of a bootstrap needs at least %d values", n, bootstrapMin))
	}
	for _, v := range []float64{s.Center, s.Low, s.High} {
		if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
			return s, fmt.Errorf("the ratio %v (%v to %v) is not a number that can be compared", s.Center, s.Low, s.High)
		}
	}
	return s, nil
}

func checkPositive(of string, values []float64) error {
	if err := checkFinite(of, values); err != nil {
		return err
	}
	for i, v := range values {
		if v <= 0 {
			return fmt.Errorf("%s: value %d of %d is %v: a ratio needs values greater than 0", of, i+1, len(values), v)
		}
	}
	return nil
}
