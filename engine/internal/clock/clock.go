package clock

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/internal/planted"
)

const (
	// SlewPPM is by how many parts per million of the time that passes a clock is moved towards the wall clock.
	SlewPPM = 1_000_000 / slewPart
	// slewPart says the same as a fraction: one part of so many.
	slewPart = 50
	// observeEvery is how often the wall clock is read.
	observeEvery = 100 * time.Millisecond
)

// Slewed returns by how much a clock can be moved in a time of the monotonic clock.
func Slewed(d time.Duration) time.Duration { return d / slewPart }

// ConvergesIn returns how long a clock takes to agree with a wall clock that differs by so much.
func ConvergesIn(offset time.Duration) time.Duration {
	if offset = offset.Abs(); offset > math.MaxInt64/slewPart {
		return math.MaxInt64
	}
	return offset * slewPart
}

// Reading is the host's clocks at one moment, in nanoseconds.
type Reading struct {
	Mono int64 // monotonic, from any origin
	Wall int64 // since the Unix epoch
}

// segment is how a clock goes on after a reading: with the monotonic clock, and towards the wall clock until it agrees.
type segment struct {
	mono   int64 // of the reading
	at     int64 // the clock's time then
	offset int64 // the wall clock's less that
}

// begin returns the first segment of a clock.
func begin(r Reading) segment { return segment{mono: r.Mono, at: r.Wall} }

// time returns the clock's time at a monotonic reading; at an earlier one than the segment's it stands still.
func (s segment) time(mono int64) int64 {
	d := max(0, mono-s.mono)
	moved := d / slewPart
	return s.at + d + min(max(s.offset, -moved), moved)
}

// observe returns the segment that goes on where this one is at a reading.
func (s segment) observe(r Reading) segment {
	at := s.time(r.Mono)
	return segment{mono: r.Mono, at: at, offset: r.Wall - at}
}

// Clock is a clock that never goes back, as the package describes it. Its methods are safe for concurrent use; reading it neither
// blocks nor allocates but for every 100 ms.
//
// A segment is used in its first 100 ms only. A later reader replaces it first; of several at once one succeeds, and the others begin
// again. So no segment gives a time after its successor's beginning, and a reading is never below one that was returned before it
// began.
type Clock struct {
	read    func() Reading // nil: the host's clocks
	segment atomic.Pointer[segment]
}

// New returns a clock that begins at the host's wall clock.
func New() *Clock { return From(nil) }

// From returns a clock that follows other clocks than the host's, for tests. The monotonic readings must not go back; read must be
// safe for concurrent use.
func From(read func() Reading) *Clock {
	c := &Clock{read: read}
	first := begin(c.reading())
	c.segment.Store(&first)
	return c
}

// origin is that of the host's monotonic readings.
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

// Now returns a reading of the monotonic clock, and the time then, in nanoseconds since the Unix epoch.
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
