package profile

import "errors"

// errNoCPUProfile reports that a process cannot record a CPU profile that other requests start and
// stop.
var errNoCPUProfile = errors.New("it is an earlier version, which cannot record a CPU profile over a requested time")

// ErrTooFewRounds reports that profiles cannot be compared, because a side has fewer than two
// profiled rounds.
var ErrTooFewRounds = errors.New("too few profiled rounds to compare profiles")
