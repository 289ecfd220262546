package observe

import (
	"cmp"
	"errors"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// Buckets is a histogram. It contains the number of values in each bucket, ordered by bound.
type Buckets []Bucket

// Bucket contains the number of values in a range. The range is above the bound of the previous
// bucket, and includes Upper. Upper is +Inf in the bucket for values above all finite bounds.
type Bucket struct {
	Upper float64
	Count uint64
}

// Total returns the number of values.
func (b Buckets) Total() (n uint64) {
	for _, bucket := range b {
		n += bucket.Count
	}
	return n
}

// Since returns the values that were added since an earlier reading of the same histogram. nil is a
// reading without values. Since returns an error if a bucket is missing or contains fewer values
// now. In that case the earlier reading belongs to another process.
func (b Buckets) Since(earlier Buckets) (Buckets, error) {
	before := make(map[float64]uint64, len(earlier))
	for _, bucket := range earlier {
		before[bucket.Upper] = bucket.Count
	}
	grown := make(Buckets, 0, len(b))
	for _, bucket := range b {
		was := before[bucket.Upper]
		delete(before, bucket.Upper)
		if was > bucket.Count {
			return nil, errors.New("a histogram has fewer values than before")
		}
		grown = append(grown, Bucket{bucket.Upper, bucket.Count - was})
	}
	for _, was := range before {
		if was > 0 {
			return nil, errors.New("a histogram has lost a bucket that had values")
		}
	}
	return grown, nil
}

// Plus returns the sum of two histograms, which may have different bounds.
func (b Buckets) Plus(o Buckets) Buckets {
	sum := slices.Concat(b, o)
	slices.SortStableFunc(sum, func(x, y Bucket) int { return cmp.Compare(x.Upper, y.Upper) })
	kept := sum[:0]
	for _, bucket := range sum {
		if n := len(kept); n > 0 && kept[n-1].Upper == bucket.Upper {
			kept[n-1].Count += bucket.Count
			continue
		}
		kept = append(kept, bucket)
	}
	return kept
}

// Quantile returns the q-quantile of the values. q is in [0, 1]. The result is interpolated within
// its bucket. If the quantile is above all finite bounds, Quantile returns the last finite bound.
// It returns 0 if there are no values.
func (b Buckets) Quantile(q float64) float64 {
	rank := q * float64(b.Total())
	lower, below := 0.0, 0.0
	for _, bucket := range b {
		count := float64(bucket.Count)
		if count > 0 && below+count >= rank {
			if math.IsInf(bucket.Upper, 1) {
				return lower
			}
			lower = min(lower, bucket.Upper)
			// Because of rounding the sum may exceed the bound.
			return min(bucket.Upper, lower+(bucket.Upper-lower)*max(0, rank-below)/count)
		}
		below += count
		if !math.IsInf(bucket.Upper, 0) {
			lower = bucket.Upper
		}
	}
	return 0
}

// Highest returns the upper bound of the highest bucket that contains a value. If there are values
// above all finite bounds, it returns the last finite bound. It returns 0 if there are no values.
func (b Buckets) Highest() float64 {
	last, highest := 0.0, 0.0
	for _, bucket := range b {
		if !math.IsInf(bucket.Upper, 0) {
			last = bucket.Upper
		}
		if bucket.Count > 0 {
			highest = last
		}
	}
	return highest
}

// bucketsOf converts a scraped histogram. The buckets of a scraped histogram are cumulative.
func bucketsOf(h *dto.Histogram) Buckets {
	upTo := make([]Bucket, 0, len(h.GetBucket())+1)
	for _, bucket := range h.GetBucket() {
		upTo = append(upTo, Bucket{bucket.GetUpperBound(), bucket.GetCumulativeCount()})
	}
	slices.SortFunc(upTo, func(x, y Bucket) int { return cmp.Compare(x.Upper, y.Upper) })
	if n := len(upTo); n == 0 || !math.IsInf(upTo[n-1].Upper, 1) {
		upTo = append(upTo, Bucket{math.Inf(1), h.GetSampleCount()})
	}
	var below uint64
	for i := range upTo {
		all := max(below, upTo[i].Count)
		upTo[i].Count, below = all-below, all
	}
	return upTo
}
