package stat

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// MergedPercentiles merges the histograms of several rounds and returns the given percentiles, each
// greater than 0 and at most 100, in the unit of the histograms. Their intervals come from the
// percentile bootstrap over rounds: each resample draws rounds and merges them, so an interval
// includes the variation between rounds. With fewer than MinIntervalN rounds, an interval is the
// range of the rounds. MergedPercentiles fails without rounds, and if a round has no samples.
func MergedPercentiles(of []*hdrhistogram.Histogram, percents []float64, resamples int) ([]Summary, error) {
	for _, p := range percents {
		if math.IsNaN(p) || p <= 0 || p > 100 {
			return nil, fmt.Errorf("percentile %v is outside 0 to 100", p)
		}
	}
	merged, err := newRounds([][]*hdrhistogram.Histogram{of})
	if err != nil {
		return nil, err
	}
	all := make([]Summary, len(percents))
	for i, p := range percents {
		all[i] = Summary{Center: merged.percentile(p), N: merged.n}
	}
	if merged.n < MinIntervalN {
		merged.spread(all, percents)
		return all, nil
	}
	if resamples <= 0 {
		resamples = Resamples
	}
	random := rand.New(rand.NewPCG(bootstrapSeed, uint64(resamples)))
	drawn := make([][]float64, len(percents))
	for range resamples {
		merged.draw(random)
		for i, p := range percents {
			drawn[i] = append(drawn[i], merged.percentile(p))
		}
	}
	for i := range all {
		low, high := quantileInterval(drawn[i])
		// A percentile between two modes can be outside the quantiles of few resamples. The
		// interval must include it nevertheless.
		all[i].Low, all[i].High, all[i].Confidence = min(all[i].Center, low), max(all[i].Center, high), Level
	}
	return all, nil
}

// rounds contains the histograms of one side, one per round, over all nonempty buckets.
type rounds struct {
	n        int
	low, top []float64   // bounds of each bucket, ascending
	upTo     [][]float64 // samples up to and including each bucket, by round
	weights  []float64   // count of each round in this resample
}

// newRounds merges sides round by round. Each round has the weight 1.
func newRounds(sides [][]*hdrhistogram.Histogram) (*rounds, error) {
	if len(sides) == 0 || len(sides[0]) == 0 {
		return nil, ErrNoValues
	}
	r := &rounds{n: len(sides[0])}
	r.weights = slices.Repeat([]float64{1}, r.n)
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
	below := make([]float64, r.n)
	for _, key := range keys {
		counts := buckets[key]
		for i := range counts {
			counts[i] += below[i]
		}
		r.low, r.top = append(r.low, float64(key[0])), append(r.top, float64(key[1]))
		r.upTo = append(r.upTo, counts)
		below = counts
	}
	return r, nil
}

func (r *rounds) draw(random *rand.Rand) {
	clear(r.weights)
	for range r.n {
		r.weights[random.IntN(r.n)]++
	}
}

// spread sets the bounds of percentiles to the lowest and the highest round.
func (r *rounds) spread(all []Summary, percents []float64) {
	for i, p := range percents {
		// The rank of a percentile is rounded, in each round and in the merged histogram. The
		// percentile of the merged histogram may therefore be outside the range of the rounds.
		all[i].Low, all[i].High = all[i].Center, all[i].Center
		for round := range r.n {
			clear(r.weights)
			r.weights[round] = 1
			v := r.percentile(p)
			all[i].Low, all[i].High = min(all[i].Low, v), max(all[i].High, v)
		}
		all[i].Confidence = 1 - math.Exp2(float64(1-r.n))
		all[i].Warnings = []string{fmt.Sprintf("n = %d: a 95 %% interval needs at least %d rounds, low and high are the range", r.n, MinIntervalN)}
	}
}

// percentile returns the upper bound of percentile p's bucket, as hdrhistogram does.
func (r *rounds) percentile(p float64) float64 {
	bucket, _ := r.bucket(p)
	return r.top[bucket]
}

// interpolated returns percentile p by linear interpolation within its bucket.
func (r *rounds) interpolated(p float64) float64 {
	bucket, rank := r.bucket(p)
	below := 0.0
	if bucket > 0 {
		below = r.samples(bucket - 1)
	}
	return r.low[bucket] + (r.top[bucket]-r.low[bucket])*(rank-below)/(r.samples(bucket)-below)
}

// bucket returns the bucket of percentile p and the rank of p among all samples.
func (r *rounds) bucket(p float64) (bucket int, rank float64) {
	last := len(r.upTo) - 1
	rank = max(1, math.Floor(r.samples(last)*p/100+0.5)) // as in hdrhistogram
	return sort.Search(last, func(b int) bool { return r.samples(b) >= rank }), rank
}

// samples returns the number of samples up to and including a bucket in this resample.
func (r *rounds) samples(bucket int) (n float64) {
	for i, count := range r.upTo[bucket] {
		n += r.weights[i] * count
	}
	return n
}
