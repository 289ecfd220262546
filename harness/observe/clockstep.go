package observe

import (
	"time"

	"golang.org/x/sys/unix"
)

// clocks reads the wall clock and the monotonic clock at as nearly the same time as possible. wall
// is the time since 1970.
type clocks func() (wall, monotonic time.Duration)

const (
	// clockReads bounds the number of readings that are made until one is fast enough.
	clockReads = 8
	// clockReadFast is the longest duration of a reading after which no other reading is tried. If
	// a thread lost its CPU between the readings of the two clocks, it would see a step that did
	// not happen.
	clockReadFast = 50 * time.Microsecond
)

// hostClocks reads the wall clock between two readings of the monotonic clock. It repeats this a
// few times and returns the fastest reading.
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

// readClock ignores errors, because every kernel supports these clocks.
func readClock(id int32) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(id, &t)
	return time.Duration(t.Nano())
}

// clockStep measures the range of the difference between wall time and monotonic time, so that a
// step forth and back is detected too. Slewing does not change the difference, because it affects
// both clocks.
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
