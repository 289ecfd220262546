package stat

import "errors"

var (
	// ErrNoValues says that there is no value to compute a statistic from.
	ErrNoValues = errors.New("no values")
	// ErrNoSamples says that a histogram has recorded nothing.
	ErrNoSamples = errors.New("the histogram has no samples")
)
