package clock

import (
	"slices"
	"time"
)

// ErrorMax returns the largest accepted error of an estimate, for a bound on the difference of
// clocks.
func ErrorMax(bound time.Duration) time.Duration { return bound / 4 }

// UseMax bounds how long a leader may continue after the estimates were compared.
const UseMax = 2 * time.Second

// LeaseGrace returns the extension of a previous leader's leases. The package comment derives it. A
// bound of 0 means no grace.
func LeaseGrace(bound time.Duration) time.Duration {
	if bound == 0 {
		return 0
	}
	return 2 * (bound + ErrorMax(bound) + 2*Slewed(UseMax))
}

// Estimate is an estimate of another clock from one query of its time. Its times are in
// nanoseconds.
type Estimate struct {
	Asked int64 // this node's monotonic clock when it sent the query
	mono  int64 // this node's monotonic clock halfway between the query and the answer
	time  int64 // the time in the answer
	half  int64 // half of the round trip
}

// Measured returns the estimate from an answer. asked and answered are readings of this node's
// monotonic clock when it sent the query and received the answer.
func Measured(asked, answered, time int64) Estimate {
	half := (answered - asked + 1) / 2
	return Estimate{Asked: asked, mono: asked + half, time: time, half: half}
}

// At returns the other clock's time at a reading of this node's monotonic clock, and the bound on
// its error.
func (e Estimate) At(mono int64) (now int64, err time.Duration) {
	age := mono - e.mono
	apart := e.half + max(age, -age) // largest possible age of the reading
	return e.time + age, time.Duration(e.half + apart/slewPart + 1)
}

// Deviation returns how far this node's clock is ahead of the median of all clocks: its own and the
// others, which are ahead of it by offsets. With an even number of clocks, the middle one that is
// farther from this clock counts as the median.
func Deviation(offsets []time.Duration) time.Duration {
	all := append(slices.Clone(offsets), 0)
	slices.Sort(all)
	low, high := all[(len(all)-1)/2], all[len(all)/2]
	if -low > high {
		return -low
	}
	return -high
}
