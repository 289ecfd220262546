package stat

import (
	"errors"
	"fmt"

	gonum "gonum.org/v1/gonum/stat"
)

// Decay is the loss of a rate over a run, in percent of the rate's mean. It is negative if the rate
// rose.
type Decay struct {
	Percent float64
	// Low and High are one-sided bounds of the true loss at Level each: the true loss is below Low
	// with a probability of 5 %, and above High with a probability of 5 %.
	Low, High float64
	Block     int // values per block in the longest series
}

// FindDecay returns the loss of a rate over series of rates that were measured at equal intervals:
// the drift of FindDrift with the opposite sign. It fails if FindDrift fails, and if the mean of a
// series is 0, because no relative loss exists.
func FindDecay(series ...[]float64) (Decay, error) {
	d, err := FindDrift(series...)
	if err != nil {
		return Decay{}, fmt.Errorf("decay: %w", err)
	}
	for i, values := range series {
		if gonum.Mean(values, nil) == 0 {
			return Decay{}, fmt.Errorf("decay: %w", ofSeries(errors.New("the mean of the rates is not above 0, so no relative loss exists"), i, len(series)))
		}
	}
	return Decay{Percent: 0 - d.Center, Low: 0 - d.Upper(1-Level), High: 0 - d.Lower(1-Level), Block: d.Block}, nil
}
