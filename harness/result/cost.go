package result

import (
	"errors"
	"fmt"
)

// RateCosts returns RateCost of each of points points of a run with a sweep, by number from 1: of each turn the cycles
// per second of the first point divided by those of the point, and of these the median and its interval or range. The
// rounds of a turn ran one after the other, so that what slows the host for a while is in both. A point that has fewer
// timed rounds than the first, as after a run that broke off, has as many turns; one that has none, or a round without a
// rate, is an error and left out. The first point's is 1.
func RateCosts(rounds []Round, points int, estimate Estimator) (map[int]Metric, error) {
	rates := make(map[int][]float64)
	for _, r := range rounds {
		if r.Timed() {
			rates[r.Point] = append(rates[r.Point], r.Metrics[CyclesPerS])
		}
	}
	costs := make(map[int]Metric)
	var problems []error
	for point := 1; point <= points; point++ {
		m, err := rateCost(rates[1], rates[point], estimate)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s of point %d: %w", RateCost, point, err))
			continue
		}
		costs[point] = m
	}
	return costs, errors.Join(problems...)
}

func rateCost(first, own []float64, estimate Estimator) (Metric, error) {
	var ratios []float64
	for turn := range min(len(first), len(own)) {
		if first[turn] <= 0 || own[turn] <= 0 {
			return Metric{}, fmt.Errorf("in turn %d one of the two completed nothing", turn+1)
		}
		ratios = append(ratios, first[turn]/own[turn])
	}
	if len(ratios) == 0 {
		return Metric{}, errors.New("it has no timed round")
	}
	spec, _ := Lookup(RateCost)
	m := Metric{N: len(ratios), Unit: spec.Unit}
	var err error
	m.Median, m.Low, m.High, err = estimate(ratios)
	return m, err
}
