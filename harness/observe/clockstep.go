package observe

import (
	"time"

	"golang.org/x/sys/unix"
)

// clocks reads the wall clock and the monotonic one at the same moment, as near as can be; wall counts from 1970.
type clocks func() (wall, monotonic time.Duration)

const (
	// clockReads is how often both clocks are read until that went fast enough.
	clockReads = 8
	// clockReadFast is as far apart as two readings may be that count as one moment: a thread that loses its CPU between them
	// would see a step where there was none.
	clockReadFast = 50 * time.Microsecond
)

// hostClocks reads the wall clock between two readings of the monotonic one, and takes the fastest of a few tries.
func hostClocks() (wall, monotonic time.Duration) {
	fastest := time.Duration(-1)
	for range clockReads {
		before, between, after := readClock(unix.CLOCK_MONOTONIC), readClock(unix.CLOCK_REALTIME), readClock(unix.CLOCK_MONOTONIC)
		if took := after - before; fastest < 0 || took < fastest {
			fastest, wall, monotonic = took, between, before+took/2
		}
		if fastest <= clockReadFast {
			break
		}
	}
	return wall, monotonic
}

// readClock can't fail for clocks that every kernel has.
func readClock(id int32) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(id, &t)
	return time.Duration(t.Nano())
}

// clockStep is how far wall time and monotonic time have gone apart: the whole way that their difference went, so that a
// step forth and back is one. Both are slewed alike.
type clockStep struct {
	begun     bool
	low, high time.Duration
}

func (c *clockStep) sample(read clocks) {
	wall, monotonic := read()
	apart := wall - monotonic
	if !c.begun {
		c.begun, c.low, c.high = true, apart, apart
	}
	c.low, c.high = min(c.low, apart), max(c.high, apart)
}

func (c *clockStep) ms() float64 { return float64(c.high-c.low) / float64(time.Millisecond) }
