package profile

import "errors"

// ErrTooFewRounds says that profiles cannot be compared, because a side has fewer than two profiled rounds.
var ErrTooFewRounds = errors.New("too few profiled rounds to compare profiles")
