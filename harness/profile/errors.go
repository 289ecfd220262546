package profile

import "errors"

// errNoCPUProfile means that a process cannot record a CPU profile over a requested time.
var errNoCPUProfile = errors.New("it is an earlier version, which cannot record a CPU profile over a requested time")

// ErrTooFewRounds means that profiles cannot be compared, because a side has fewer than two
// profiled rounds.
var ErrTooFewRounds = errors.New("too few profiled rounds to compare profiles")
