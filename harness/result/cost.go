package result

import (
	"errors"
	"fmt"
)

// RateCosts returns RateCost of the points of a run with a sweep, by number: of each turn the cycles per second of the
// point that it is compared with divided by its own, and of these the median and its interval or range. against holds the
// number of that point for each point, from the first, whose number is 1. The rounds of a turn ran one after the other, so
// that what slows the host for a while is in both. Of points that have different numbers of timed rounds, as after a run
// that broke off, the turns that both have count; a point without one, or with a round without a rate, is an error and
// left out. A point compared with itself has the cost 1.
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

// TurnRatio returns the ratio of a metric at one point of a sweep, over, to the metric at another, under: of each turn of the points the
// first's value divided by the second's, and of these the median and its interval or range, as RateCosts does for rates. It is an error if a
// point has no timed round, or a round in which the metric is missing or not above 0.
func TurnRatio(rounds []Round, metric string, over, under int) (Metric, error) {
	values := byPoint(rounds, metric)
	m, err := ratioOfTurns(values[over], values[under])
	if err != nil {
		return Metric{}, fmt.Errorf("the ratio of %s of points %d and %d: %w", metric, over, under, err)
	}
	return m, nil
}

// byPoint returns a metric of the timed rounds, by the number of their point. A round that lacks the metric has 0.
func byPoint(rounds []Round, metric string) map[int][]float64 {
	values := make(map[int][]float64)
	for _, r := range rounds {
		if r.Timed() {
			values[r.Point] = append(values[r.Point], r.Metrics[metric])
		}
	}
	return values
}

// ratioOfTurns is the ratio of two points' values, turn by turn.
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
