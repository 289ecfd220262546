package stat

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// PercentileRatio returns the ratio of percentile p (greater than 0, at most 100) of two sides, change to base, each of its merged
// histograms, one of each round. The interval is that of the percentile bootstrap over rounds: each resample draws rounds and merges
// them. If the sides are paired, a resample draws the same rounds of both. Several bases are merged round by round. The percentile is
// interpolated within a bucket of the histogram, because two sides that are nearly equal would otherwise differ by a whole bucket.
// PercentileRatio fails if a side is empty, a round has no samples, or paired sides differ in length.
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
	value := func() float64 { return math.Log(changed.percentile(p) / based.percentile(p)) }
	changed.all()
	based.all()
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

// rounds holds the histograms of one side, a histogram a round, over the buckets that any of them fills.
type rounds struct {
	n        int
	low, top []float64   // bounds of each bucket, ascending
	counts   [][]float64 // of each bucket, by round
	weights  []float64   // how often each round counts in this resample
}

// newRounds merges sides round by round.
func newRounds(sides [][]*hdrhistogram.Histogram) (*rounds, error) {
	if len(sides) == 0 || len(sides[0]) == 0 {
		return nil, ErrNoValues
	}
	r := &rounds{n: len(sides[0])}
	r.weights = make([]float64, r.n)
	buckets := map[[2]int64][]float64{}
	for _, side := range sides {
		if len(side) != r.n {
			return nil, fmt.Errorf("sides of %d and %d rounds can't be merged round by round", r.n, len(side))
		}
		for i, h := range side {
			if h == nil || h.TotalCount() == 0 {
				return nil, fmt.Errorf("round %d of %d: %w", i+1, r.n, ErrNoSamples)
			}
			for _, bar := range h.Distribution() {
				if bar.Count == 0 {
					continue
				}
				key := [2]int64{bar.From, bar.To}
				if buckets[key] == nil {
					buckets[key] = make([]float64, r.n)
				}
				buckets[key][i] += float64(bar.Count)
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(buckets), func(a, b [2]int64) int {
		return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0]))
	})
	for _, key := range keys {
		r.low, r.top = append(r.low, float64(key[0])), append(r.top, float64(key[1]))
		r.counts = append(r.counts, buckets[key])
	}
	return r, nil
}

// all counts each round once.
func (r *rounds) all() {
	for i := range r.weights {
		r.weights[i] = 1
	}
}

// draw resamples: it takes as many rounds as there are, at random, with replacement.
func (r *rounds) draw(random *rand.Rand) {
	clear(r.weights)
	for range r.n {
		r.weights[random.IntN(r.n)]++
	}
}

func (r *rounds) percentile(p float64) float64 {
	merged := make([]float64, len(r.counts))
	total := 0.0
	for b, byRound := range r.counts {
		for i, count := range byRound {
			merged[b] += r.weights[i] * count
		}
		total += merged[b]
	}
	rank, below := max(1, math.Floor(total*p/100+0.5)), 0.0 // as hdrhistogram has it
	for b, count := range merged {
		if count > 0 && below+count >= rank {
			return r.low[b] + (r.top[b]-r.low[b])*(rank-below)/count
		}
		below += count
	}
	return r.top[len(r.top)-1]
}
