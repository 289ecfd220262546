package stat

import (
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Percentile returns percentile p (0 to 100) of h's samples, in h's unit and with its precision. It
// fails with ErrNoSamples if h is empty.
func Percentile(h *hdrhistogram.Histogram, p float64) (float64, error) {
	if h == nil || h.TotalCount() == 0 {
		return 0, ErrNoSamples
	}
	if math.IsNaN(p) || p < 0 || p > 100 {
		return 0, fmt.Errorf("percentile %v is outside 0 to 100", p)
	}
	return float64(h.ValueAtPercentile(p)), nil
}

// Point is one point of a percentile curve.
type Point struct {
	// Nines is the percentile's position on an axis of nines: log10 of 1 / (1 - p/100). The 90th is
	// at 1, the 99th at 2, the 99.9th at 3.
	Nines float64
	Value float64 // in the histogram's unit
}

// Nines returns the position of percentile p, below 100, on an axis of nines.
func Nines(p float64) float64 { return -math.Log10(1 - p/100) }

// Curve returns h's percentiles from 0 to the last one that its samples resolve, with perNine
// points for each nine. The last point is the largest sample, at 1 - 1/n. A curve has at most
// 19·perNine + 2 points, because a count has at most 19 digits.
func Curve(h *hdrhistogram.Histogram, perNine int) ([]Point, error) {
	if h == nil || h.TotalCount() == 0 {
		return nil, ErrNoSamples
	}
	if perNine < 1 {
		return nil, fmt.Errorf("a curve needs at least 1 point per nine, not %d", perNine)
	}
	last := math.Log10(float64(h.TotalCount()))
	var points []Point
	for i := 0; float64(i) < last*float64(perNine); i++ {
		nines := float64(i) / float64(perNine)
		p := 100 * (1 - math.Pow(10, -nines))
		points = append(points, Point{Nines: nines, Value: float64(h.ValueAtPercentile(p))})
	}
	return append(points, Point{Nines: last, Value: float64(h.Max())}), nil
}
