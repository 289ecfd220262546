package stat

import "errors"

var (
	// ErrNoValues means that a statistic has no values.
	ErrNoValues = errors.New("no values")
	// ErrNoSamples means that a histogram is empty.
	ErrNoSamples = errors.New("the histogram has no samples")
)
