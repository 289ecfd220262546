package profile

import "errors"

// errNoCPUProfile says that a process cannot record a CPU profile of a chosen time.
var errNoCPUProfile = errors.New("it is of an earlier version, which records no CPU profile of a chosen time")

// ErrTooFewRounds says that profiles cannot be compared, because a side has fewer than two profiled rounds.
var ErrTooFewRounds = errors.New("too few profiled rounds to compare profiles")
