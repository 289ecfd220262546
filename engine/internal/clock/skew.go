package clock

import (
	"slices"
	"time"
)

// ErrorMax returns the maximum error of an accepted estimate. bound is the maximum
// difference of clocks.
func ErrorMax(bound time.Duration) time.Duration { return bound / 4 }

// UseMax is how long a leader may continue after the estimates were compared.
const UseMax = 2 * time.Second

// LeaseGrace returns the additional time that a new leader grants to the leases of a previous
// leader. The package comment derives it. A bound of 0 means that leases are not extended.
func LeaseGrace(bound time.Duration) time.Duration {
	if bound == 0 {
		return 0
	}
	return 2 * (bound + ErrorMax(bound) + 2*Slewed(UseMax))
}

// Estimate is an estimate of another node's clock from one query of its time. All fields are in
// nanoseconds.
type Estimate struct {
	Asked int64 // time of this node's monotonic clock when it sent the query
	mono  int64 // time of this node's monotonic clock halfway between query and answer
	time  int64 // the time in the answer
	half  int64 // half of the round trip
}

// Measured returns the estimate that follows from an answer. asked and answered are the times of
// this node's monotonic clock when it sent the query and received the answer. time is the time in
// the answer.
func Measured(asked, answered, time int64) Estimate {
	half := (answered - asked + 1) / 2
	return Estimate{Asked: asked, mono: asked + half, time: time, half: half}
}

// At returns the other clock's time when this node's monotonic clock is at mono, and the maximum
// error of that time.
func (e Estimate) At(mono int64) (now int64, err time.Duration) {
	age := mono - e.mono
	apart := e.half + max(age, -age) // maximum age of the reading
	return e.time + age, time.Duration(e.half + apart/slewPart + 1)
}

// Deviation returns the time of this node's clock minus the median of all clocks. offsets are the
// times of the other clocks minus the time of this node's clock. If the number of clocks is even,
// there are two middle clocks. Deviation then uses the middle clock with the larger difference from
// this node's clock.
func Deviation(offsets []time.Duration) time.Duration {
	all := append(slices.Clone(offsets), 0)
	slices.Sort(all)
	low, high := all[(len(all)-1)/2], all[len(all)/2]
	if -low > high {
		return -low
	}
	return -high
}
