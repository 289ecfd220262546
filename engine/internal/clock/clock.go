package clock

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/internal/planted"
)

const (
	// SlewPPM is the rate of a clock's approach to the wall clock, in parts per million of the
	// elapsed time.
	SlewPPM = 1_000_000 / slewPart
	// slewPart is the same rate as a fraction: 1/slewPart.
	slewPart = 50
	// observeEvery is the interval between readings of the wall clock.
	observeEvery = 100 * time.Millisecond
)

// Slewed returns how far a clock can be slewed within a time of the monotonic clock.
func Slewed(d time.Duration) time.Duration { return d / slewPart }

// ConvergesIn returns the time that a clock needs to agree with a wall clock that differs by
// offset.
func ConvergesIn(offset time.Duration) time.Duration {
	if offset = offset.Abs(); offset > math.MaxInt64/slewPart {
		return math.MaxInt64
	}
	return offset * slewPart
}

// Reading is a simultaneous reading of the host's clocks, in nanoseconds.
type Reading struct {
	Mono int64 // monotonic, from any origin
	Wall int64 // since the Unix epoch
}

// segment describes a clock after a reading. It advances with the monotonic clock and is slewed
// towards the wall clock until the two agree.
type segment struct {
	mono   int64 // the monotonic clock at the reading
	at     int64 // the clock's time at the reading
	offset int64 // the wall clock minus at
}

func begin(r Reading) segment { return segment{mono: r.Mono, at: r.Wall} }

// time returns the clock's time at a monotonic reading. For readings before the segment's, it
// returns the segment's time.
func (s segment) time(mono int64) int64 {
	d := max(0, mono-s.mono)
	moved := d / slewPart
	return s.at + d + min(max(s.offset, -moved), moved)
}

// observe returns the segment that continues this one at a reading.
func (s segment) observe(r Reading) segment {
	at := s.time(r.Mono)
	return segment{mono: r.Mono, at: at, offset: r.Wall - at}
}

// Clock is a clock that never decreases, as the package comment describes. Its methods are safe for
// concurrent use. A reading does not block, and allocates only once every 100 ms.
//
// A segment is used only in its first 100 ms. The first later reader replaces it. If several
// readers try simultaneously, one succeeds and the others start over. So no segment returns a time
// after the begin of its successor, and a reading is never below one that completed before it
// began.
type Clock struct {
	read    func() Reading // nil means the host's clocks
	segment atomic.Pointer[segment]
}

// New returns a clock that begins at the host's wall clock.
func New() *Clock { return From(nil) }

// From returns a clock that follows the given clocks instead of the host's, for tests. The
// monotonic readings must not decrease, and read must be safe for concurrent use.
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

// Mono returns the monotonic clock that drives this one, in nanoseconds.
func (c *Clock) Mono() int64 {
	if c.read != nil {
		return c.read().Mono
	}
	return int64(time.Since(origin))
}

// Now returns a reading of the monotonic clock, and the clock's time at that reading, in
// nanoseconds since the Unix epoch.
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

// Offset returns how far the wall clock is ahead of this one.
func (c *Clock) Offset() time.Duration {
	r := c.reading()
	return time.Duration(r.Wall - c.segment.Load().time(r.Mono))
}
