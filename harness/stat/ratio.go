package stat

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Resamples is the default number of resamples of a bootstrap interval.
const Resamples = 2000

// bootstrapSeed is constant, so that equal values have equal intervals on every machine.
const bootstrapSeed = 0x70726f6e79

// bootstrapMin is the number of values below which a bootstrap interval has a warning. Of the
// resamples of five values, one in 625 consists of a single value, so single values determine the
// tails.
const bootstrapMin = 6

// PairedRatio returns the ratio of change to base from paired differences of logarithms, with its
// interval. The ratio is the exponential of their pseudomedian, the median of the means of all
// pairs of differences (Hodges and Lehmann 1963). The pseudomedian corresponds to SignedRank as the
// mean corresponds to the t-test, and outliers hardly affect it. The interval is that of the
// percentile bootstrap (Efron 1979) over the pairs, from the given number of resamples (0 for
// Resamples). PairedRatio fails without differences, and if one is NaN or infinite.
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

// walsh contains the sorted Walsh averages of some values: the means of all pairs, including each
// value with itself. A resample changes only the counts of the values, so no resample sorts.
type walsh struct {
	pairs  []walshPair
	counts []int // how often each value occurs in the resample
}

type walshPair struct {
	mean float64
	i, j int // indexes of the two values
}

func newWalsh(values []float64) *walsh {
	w := &walsh{counts: make([]int, len(values))}
	for i, a := range values {
		w.counts[i] = 1
		for j := i; j < len(values); j++ {
			w.pairs = append(w.pairs, walshPair{a + (values[j]-a)/2, i, j})
		}
	}
	slices.SortFunc(w.pairs, func(a, b walshPair) int { return cmp.Compare(a.mean, b.mean) })
	return w
}

func (w *walsh) draw(random *rand.Rand) {
	clear(w.counts)
	for range w.counts {
		w.counts[random.IntN(len(w.counts))]++
	}
}

// median returns the median of the averages, each repeated as often as its pair of values occurs.
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

// median sorts values, which must not be empty, and returns their median.
func median(values []float64) float64 {
	slices.Sort(values)
	m := len(values) / 2
	if len(values)%2 == 1 {
		return values[m]
	}
	return values[m-1] + (values[m]-values[m-1])/2
}

// UnpairedRatio returns the ratio of change's median to base's median, with the interval of the
// percentile bootstrap over the values of each side separately. It fails unless all values are
// finite and greater than 0.
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

// LogRatios returns the logarithm of the ratio of each change to its base. With several bases it is
// the ratio to their geometric mean. LogRatios fails unless all values are finite and greater than
// 0 and all sides have the same length.
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

// bootstrap summarises a ratio of n values. The bounds of the interval are the quantiles of the
// logarithms of the ratio that sample draws (Efron 1979). It fails if the ratio or a bound is not a
// finite number above 0.
func bootstrap(ratio float64, n, resamples int, sample func(*rand.Rand) float64) (Summary, error) {
	if resamples <= 0 {
		resamples = Resamples
	}
	random := rand.New(rand.NewPCG(bootstrapSeed, uint64(resamples)))
	drawn := make([]float64, resamples)
	for i := range drawn {
		drawn[i] = sample(random)
	}
	low, high := quantileInterval(drawn)
	s := Summary{Center: ratio, Low: math.Exp(low), High: math.Exp(high), Confidence: Level, N: n}
	if n < bootstrapMin {
		s.Warnings = append(s.Warnings, fmt.Sprintf("n = %d: the interval of a bootstrap needs at least %d values", n, bootstrapMin))
	}
	for _, v := range []float64{s.Center, s.Low, s.High} {
		if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
			return s, fmt.Errorf("the ratio %v (%v to %v) is not a positive finite number", s.Center, s.Low, s.High)
		}
	}
	return s, nil
}

// quantileInterval returns the interval of the percentile bootstrap at Level from the values of all
// resamples. It sorts drawn.
func quantileInterval(drawn []float64) (low, high float64) {
	slices.Sort(drawn)
	cut := int(float64(len(drawn)) * (1 - Level) / 2)
	return drawn[cut], drawn[len(drawn)-1-cut]
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
