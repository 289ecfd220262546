package result

import (
	"errors"
	"fmt"

	"github.com/pronybench/prony/harness/stat"
)

// Decay returns the loss of the rate over the windows of the timed rounds, in percent of the mean
// rate, with its one-sided 95 % bounds: see stat.FindDecay. It fails if no timed round has a
// series, or if stat.FindDecay fails.
func Decay(rounds []Round) (Metric, error) {
	var series [][]float64
	for i := range rounds {
		if !rounds[i].Timed() || len(rounds[i].Series) == 0 {
			continue
		}
		var rates []float64
		for _, s := range rounds[i].Series {
			rates = append(rates, s.CyclesPerS)
		}
		series = append(series, rates)
	}
	if len(series) == 0 {
		return Metric{}, errors.New("no timed round has a series of its rate: add series { every = ... } to the scenario")
	}
	d, err := stat.FindDecay(series...)
	if err != nil {
		return Metric{}, fmt.Errorf("the rates over the window show no trend: %w", err)
	}
	spec, _ := Lookup(DecayPercent)
	return Metric{Median: d.Percent, Low: d.Low, High: d.High, N: len(series), Unit: spec.Unit}, nil
}
