package stat

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// PercentileRatio returns the ratio of a percentile of two sides: percentile p (greater than 0, at
// most 100) of the change divided by percentile p of the base. Each percentile is computed from the
// merged histograms of a side. A side has one histogram per round. The interval is that of the
// percentile bootstrap over rounds: each resample draws rounds and merges them. If the sides are
// paired, a resample draws the same rounds of both. Several bases are merged round by round. The
// percentile is interpolated within a bucket of the histogram, because two nearly equal sides would
// otherwise differ by a whole bucket. PercentileRatio fails if a side is empty, a round has no
// samples, or paired sides differ in length.
func PercentileRatio(change []*hdrhistogram.Histogram, p float64, paired bool, resamples int, bases ...[]*hdrhistogram.Histogram) (Summary, error) {
	if math.IsNaN(p) || p <= 0 || p > 100 {
		return Summary{}, fmt.Errorf("percentile %v is outside 0 to 100", p)
	}
	changed, err := newRounds([][]*hdrhistogram.Histogram{change})
	if err != nil {
		return Summary{}, fmt.Errorf("the change: %w", err)
	}
	based, err := newRounds(bases)
	if err != nil {
		return Summary{}, fmt.Errorf("the base: %w", err)
	}
	if paired && changed.n != based.n {
		return Summary{}, fmt.Errorf("%d rounds of the base and %d of the change are not pairs", based.n, changed.n)
	}
	value := func() float64 { return math.Log(changed.interpolated(p) / based.interpolated(p)) }
	return bootstrap(math.Exp(value()), min(changed.n, based.n), resamples, func(random *rand.Rand) float64 {
		changed.draw(random)
		if paired {
			copy(based.weights, changed.weights)
		} else {
			based.draw(random)
		}
		return value()
	})
}
