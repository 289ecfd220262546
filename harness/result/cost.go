package result

import (
	"errors"
	"fmt"
)

// RateCosts returns the metric RateCost of the points of a run with a sweep, by the number of the
// point. against[i] is the number of the reference of point i+1, or 0 if it has none. For each
// turn, RateCosts divides the rate of the reference by the rate of the point. It returns the median
// of these ratios with its interval or range. The rounds of a turn ran one after the other, so a
// temporary slowdown of the host affects both. If point and reference have different numbers of
// timed rounds, as in an interrupted run, only the turns that both have are used. A point without a
// turn, or with a round without a rate, is omitted and reported in the error. A point that is its
// own reference has the cost 1.
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

// TurnRatio returns the ratio of a metric between two points of a sweep: its value at the point
// numbered over divided by its value at the point numbered under. As in RateCosts, it divides the
// values in each turn and returns the median of these ratios with its interval or range. It fails
// if a point has no timed round, or if the metric is missing or not above 0 in a round.
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

// The resources that may limit the rate of a result.
const (
	BoundServerCPU = "server CPU"
	BoundClientCPU = "client CPU"
	BoundHostCPU   = "host CPU" // shared by servers and load generator
	BoundGoroutine = "one goroutine"
	BoundDisk      = "disk"
	BoundNetwork   = "network"
	BoundLock      = "lock"
	BoundWaiting   = "waiting" // for answers or for the load's schedule
)

// Bound is the resource that limits the rate of a result.
type Bound struct {
	By       string `json:"by"`       // a constant above
	Sentence string `json:"sentence"` // the explanation with its evidence
}
