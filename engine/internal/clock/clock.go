package clock

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/internal/planted"
)

const (
	// SlewPPM is how fast a clock approaches the wall clock, in parts per million of the
	// elapsed time.
	SlewPPM = 1_000_000 / slewPart
	// A clock approaches the wall clock by 1/slewPart of the elapsed time.
	slewPart = 50
	// observeEvery is the interval between two readings of the wall clock.
	observeEvery = 100 * time.Millisecond
)

// Slewed returns the maximum slew of a clock in a duration d of the monotonic clock.
func Slewed(d time.Duration) time.Duration { return d / slewPart }

// ConvergesIn returns the time until a clock agrees with a wall clock. offset is the difference
// between the two at the start.
func ConvergesIn(offset time.Duration) time.Duration {
	if offset = offset.Abs(); offset > math.MaxInt64/slewPart {
		return math.MaxInt64
	}
	return offset * slewPart
}

// Reading is a reading of both clocks of the host at the same moment, in nanoseconds.
type Reading struct {
	Mono int64 // the monotonic clock; its origin is arbitrary
	Wall int64 // the wall clock, since the Unix epoch
}

// segment determines the times of a clock after a reading. In a segment, the clock advances with
// the monotonic clock and is slewed towards the wall clock until the two agree.
type segment struct {
	mono   int64 // time of the monotonic clock at the reading
	at     int64 // time of this clock at the reading
	offset int64 // time of the wall clock at the reading, minus at
}

func begin(r Reading) segment { return segment{mono: r.Mono, at: r.Wall} }

// time returns the clock's time when the monotonic clock is at mono. If mono is before the segment,
// it returns the start of the segment.
func (s segment) time(mono int64) int64 {
	d := max(0, mono-s.mono)
	moved := d / slewPart
	return s.at + d + min(max(s.offset, -moved), moved)
}

// observe returns the segment that replaces this one at reading r.
func (s segment) observe(r Reading) segment {
	at := s.time(r.Mono)
	return segment{mono: r.Mono, at: at, offset: r.Wall - at}
}

// Clock is a clock that never decreases; see the package comment. Its methods are safe for
// concurrent use. Reading the clock does not block, and allocates memory only once every 100 ms.
//
// A segment is used only for 100 ms. The first caller that reads the clock after that replaces the
// segment. If several callers try to replace it simultaneously, one succeeds and the others start
// over. So no segment returns a time after the start of the next segment. Therefore a reading is
// never less than another reading that completed before it started.
type Clock struct {
	read    func() Reading // nil means that the host's clocks are read
	segment atomic.Pointer[segment]
}

// New returns a clock that starts at the time of the host's wall clock.
func New() *Clock { return From(nil) }

// From returns a clock that follows the clocks returned by read instead of the host's clocks. It is
// for tests. Mono must not decrease between calls of read, and read must be safe for concurrent
// use.
func From(read func() Reading) *Clock {
	c := &Clock{read: read}
	first := begin(c.reading())
	c.segment.Store(&first)
	return c
}

// origin is the origin of the host's monotonic readings.
var origin = time.Now()

func (c *Clock) reading() Reading {
	if c.read != nil {
		return c.read()
	}
	now := time.Now()
	return Reading{Mono: int64(now.Sub(origin)), Wall: planted.Wall(now.UnixNano())}
}

// Mono returns the time of the underlying monotonic clock, in nanoseconds.
func (c *Clock) Mono() int64 {
	if c.read != nil {
		return c.read().Mono
	}
	return int64(time.Since(origin))
}

// Now returns the time of the monotonic clock and the time of this clock at the same moment. Both
// are in nanoseconds; now is the time since the Unix epoch.
func (c *Clock) Now() (mono, now int64) {
	for {
		mono = c.Mono()
		s := c.segment.Load()
		if mono-s.mono < int64(observeEvery) {
			return max(mono, s.mono), s.time(mono)
		}
		next := s.observe(c.reading())
		if c.segment.CompareAndSwap(s, &next) {
			return next.mono, next.at
		}
	}
}

// NowMs returns the time in milliseconds since the Unix epoch.
func (c *Clock) NowMs() int64 {
	_, now := c.Now()
	return now / int64(time.Millisecond)
}

// Offset returns the time of the wall clock minus the time of this clock.
func (c *Clock) Offset() time.Duration {
	r := c.reading()
	return time.Duration(r.Wall - c.segment.Load().time(r.Mono))
}
