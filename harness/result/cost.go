package result

import (
	"errors"
	"fmt"
)

// RateCosts returns RateCost of the points of a run with a sweep, by number. against holds, for
// each point starting with point 1, the number of the point that it is compared with, or 0 for
// none. For each turn, RateCosts divides the rate of that other point by the point's own rate, and
// it returns the median of these ratios with its interval or range. The rounds of a turn ran one
// after the other, so a temporary slowdown of the host affects both. If points have different
// numbers of timed rounds, as in a run that broke off, only the turns that both have count. A point
// without a turn, or with a round without a rate, is left out and reported as an error. A point
// compared with itself has the cost 1.
func RateCosts(rounds []Round, against []int) (map[int]Metric, error) {
	rates := byPoint(rounds, CyclesPerS)
	costs := make(map[int]Metric)
	var problems []error
	for i, other := range against {
		if other == 0 {
			continue
		}
		m, err := ratioOfTurns(rates[other], rates[i+1])
		if err != nil {
			problems = append(problems, fmt.Errorf("%s of point %d: %w", RateCost, i+1, err))
			continue
		}
		costs[i+1] = m
	}
	return costs, errors.Join(problems...)
}

// TurnRatio returns the ratio of a metric at the point over of a sweep to the metric at the point
// under. As in RateCosts, it divides the values in each turn and returns the median of these ratios
// with its interval or range. It fails if a point has no timed round, or if the metric is missing
// or not above 0 in a round.
func TurnRatio(rounds []Round, metric string, over, under int) (Metric, error) {
	values := byPoint(rounds, metric)
	m, err := ratioOfTurns(values[over], values[under])
	if err != nil {
		return Metric{}, fmt.Errorf("the ratio of %s of points %d and %d: %w", metric, over, under, err)
	}
	return m, nil
}

// byPoint returns a metric of the timed rounds by the number of their point. A round without the
// metric yields 0.
func byPoint(rounds []Round, metric string) map[int][]float64 {
	values := make(map[int][]float64)
	for _, r := range rounds {
		if r.Timed() {
			values[r.Point] = append(values[r.Point], r.Metrics[metric])
		}
	}
	return values
}

// ratioOfTurns returns the ratio of two points' values, computed turn by turn.
func ratioOfTurns(other, own []float64) (Metric, error) {
	var ratios []float64
	for turn := range min(len(other), len(own)) {
		if other[turn] <= 0 || own[turn] <= 0 {
			return Metric{}, fmt.Errorf("in turn %d one of the two has no value above 0", turn+1)
		}
		ratios = append(ratios, other[turn]/own[turn])
	}
	if len(ratios) == 0 {
		return Metric{}, errors.New("it has no timed round")
	}
	spec, _ := Lookup(RateCost)
	return MedianOf(ratios, spec)
}
