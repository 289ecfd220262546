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
	rates := make(map[int][]float64)
	for _, r := range rounds {
		if r.Timed() {
			rates[r.Point] = append(rates[r.Point], r.Metrics[CyclesPerS])
		}
	}
	costs := make(map[int]Metric)
	var problems []error
	for i, other := range against {
		if other == 0 {
			continue
		}
		m, err := rateCost(rates[other], rates[i+1])
		if err != nil {
			problems = append(problems, fmt.Errorf("%s of point %d: %w", RateCost, i+1, err))
			continue
		}
		costs[i+1] = m
	}
	return costs, errors.Join(problems...)
}

func rateCost(other, own []float64) (Metric, error) {
	var ratios []float64
	for turn := range min(len(other), len(own)) {
		if other[turn] <= 0 || own[turn] <= 0 {
			return Metric{}, fmt.Errorf("in turn %d one of the two completed nothing", turn+1)
		}
		ratios = append(ratios, other[turn]/own[turn])
	}
	if len(ratios) == 0 {
		return Metric{}, errors.New("it has no timed round")
	}
	spec, _ := Lookup(RateCost)
	return MedianOf(ratios, spec)
}
