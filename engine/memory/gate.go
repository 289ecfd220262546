package memory

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// The thresholds of a gate.
const (
	// pausePercent of the limit is the threshold above which input waits until garbage is collected
	// and returned to the system. It exceeds goPercent, so that the runtime collects garbage first.
	pausePercent = 87
	// fullPercent of the limit is the threshold for the memory still in use after that collection.
	// Above it the gate refuses calls and closes connections.
	fullPercent = 83
	// measuresPerLimit is the number of measurements of the process per limit bytes of input.
	measuresPerLimit = 512
	// measureEvery is the interval between measurements, independent of the input; measureOften is
	// the interval above halfPercent.
	measureEvery, measureOften = 20 * time.Millisecond, 5 * time.Millisecond
	halfPercent                = 60
	// calledBytes is the number of bytes that a call counts for, in addition to the bytes received.
	calledBytes = 8 << 10
)

// Gate keeps the resident memory of a process below a limit. Near the limit, input waits until
// garbage is collected. If that does not free enough, the gate refuses calls and closes the
// connections that sent or hold the most. A nil Gate lets everything through. A Gate is safe for
// concurrent use.
type Gate struct {
	limit    int64
	step     int64 // bytes of input between two measurements
	resident func() (int64, error)
	collect  func()      // collects garbage and returns it to the system
	cut      func() bool // closes a connection; returns false if no connection is left
	log      *slog.Logger

	input atomic.Int64 // bytes received since the last measurement
	full  atomic.Bool  // calls are refused
	busy  atomic.Bool  // relieve is running
	// measuring is a semaphore of one for measureLocked. It holds its element while no goroutine
	// measures or relieves the process.
	measuring chan struct{}

	pauses, cuts, refusals atomic.Uint64
}

// NewGate returns a gate that watches this process. The gate calls cut to close a connection, from
// one goroutine at a time.
func NewGate(limit int64, cut func() bool, log *slog.Logger) *Gate {
	g := &Gate{
		limit: limit, step: max(64<<10, limit/measuresPerLimit), resident: newResident(), collect: debug.FreeOSMemory, cut: cut, log: log,
		measuring: make(chan struct{}, 1),
	}
	g.measuring <- struct{}{}
	return g
}

// Admit refuses a call with ErrExhausted while the process is too large.
func (g *Gate) Admit() error {
	if g != nil && g.full.Load() {
		g.refusals.Add(1)
		return ErrExhausted
	}
	return nil
}

// GateCounters counts the actions of a gate.
type GateCounters struct {
	Pauses   uint64 // input waited until garbage was collected
	Cuts     uint64 // a connection was cut
	Refusals uint64 // a call was refused
}

// Counters returns the number of times that the gate paused input, closed connections and refused
// calls.
func (g *Gate) Counters() GateCounters {
	if g == nil {
		return GateCounters{}
	}
	return GateCounters{Pauses: g.pauses.Load(), Cuts: g.cuts.Load(), Refusals: g.refusals.Load()}
}

// Received records that n bytes were received. It blocks while the process is too large, which
// slows down the sender. No input passes while a measurement is due, even if the host delays the
// goroutine that measures.
func (g *Gate) Received(n int) {
	if g == nil {
		return
	}
	g.input.Add(int64(n))
	if g.due() {
		<-g.measuring
		if g.due() {
			g.measureLocked()
		}
		g.measuring <- struct{}{}
	}
}

func (g *Gate) due() bool { return g.input.Load() >= g.step || g.full.Load() || g.busy.Load() }

// ReceivedCall records that a call was received. Even a refused call makes the server allocate far
// more than the size of its headers.
func (g *Gate) ReceivedCall() { g.Received(calledBytes) }

// Watch measures the process periodically until ctx ends.
func (g *Gate) Watch(ctx context.Context) {
	timer := time.NewTimer(measureEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		<-g.measuring
		used := g.measureLocked()
		g.measuring <- struct{}{}
		next := measureEvery
		if used > g.limit/100*halfPercent {
			next = measureOften
		}
		timer.Reset(next)
	}
}

// measureLocked measures the process and calls relieve if it is too large. It returns the size
// before relieve. The caller must hold the element of measuring.
func (g *Gate) measureLocked() int64 {
	g.input.Store(0)
	used := g.used()
	switch {
	case used > g.limit/100*pausePercent:
		g.relieve()
	case used < g.limit/100*fullPercent:
		g.full.Store(false)
	}
	return used
}

func (g *Gate) used() int64 {
	n, err := g.resident()
	if err != nil { // /proc is not readable; the shares still bound the process
		return 0
	}
	return n
}

// relieve collects garbage and closes connections until the process is small enough or no
// connection is left.
func (g *Gate) relieve() {
	g.busy.Store(true)
	defer g.busy.Store(false)
	g.pauses.Add(1)
	g.collect()
	for g.used() > g.limit/100*fullPercent {
		g.full.Store(true)
		if !g.cut() {
			return
		}
		g.cuts.Add(1)
		g.log.Warn("the server is near its memory limit: closed the connection that sent or holds the most", "limit_bytes", g.limit)
		g.collect()
	}
	g.full.Store(false)
}
