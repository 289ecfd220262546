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
	// pausePercent of the limit is the threshold above which input waits until garbage is collected and returned to the
	// system. It is above goPercent, so that the runtime collects garbage first.
	pausePercent = 87
	// fullPercent of the limit is the threshold for what is still in use after that collection: above it, the gate refuses
	// calls and cuts connections.
	fullPercent = 83
	// measuresPerLimit is how many times the gate measures the process while it receives as many bytes as the limit.
	measuresPerLimit = 512
	// measureEvery is the time between two measurements, independent of the input; measureOften is that time above halfPercent.
	measureEvery, measureOften = 20 * time.Millisecond, 5 * time.Millisecond
	halfPercent                = 60
	// calledBytes is the number of bytes that a call counts for, beside the bytes that are received.
	calledBytes = 8 << 10
)

// Gate keeps the resident memory of a process below a limit. Near the limit, input waits until garbage is collected. If that
// does not free enough, the gate refuses calls and cuts the connections that sent or hold the most. A nil Gate lets
// everything through. A Gate is safe for concurrent use.
type Gate struct {
	limit    int64
	step     int64 // bytes of input between two measurements
	resident func() (int64, error)
	collect  func()      // collects garbage and returns it to the system
	cut      func() bool // cuts a connection; returns false if no connection is left
	log      *slog.Logger

	input     atomic.Int64  // bytes received since the last measurement
	full      atomic.Bool   // calls are refused
	busy      atomic.Bool   // relieve is running
	measuring chan struct{} // a semaphore of one for measureLocked: holds its element while no goroutine measures or relieves the process

	pauses, cuts, refusals atomic.Uint64
}

// NewGate returns a gate that watches this process. It calls cut, from one goroutine at a time, to cut a connection.
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

// GateCounters count what a gate did.
type GateCounters struct {
	Pauses   uint64 // input waited until garbage was collected
	Cuts     uint64 // a connection was cut
	Refusals uint64 // a call was refused
}

// Counters returns how often the gate paused input, cut connections and refused calls.
func (g *Gate) Counters() GateCounters {
	if g == nil {
		return GateCounters{}
	}
	return GateCounters{Pauses: g.pauses.Load(), Cuts: g.cuts.Load(), Refusals: g.refusals.Load()}
}

// Received records that n bytes were received. It waits while the process is too large, which slows the sender. No further input
// passes while a measurement is due, even if the host delays the goroutine that measures.
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

// due reports whether input must wait for a measurement of the process.
func (g *Gate) due() bool { return g.input.Load() >= g.step || g.full.Load() || g.busy.Load() }

// ReceivedCall records that a call was received, since the server allocates far more for a refused call than its headers have.
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

// measureLocked measures the process, calls relieve if it is too large, and returns its size before that. The caller holds the element
// of measuring.
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
	if err != nil { // /proc is not readable: the shares bound the process without the gate
		return 0
	}
	return n
}

// relieve collects garbage and cuts connections until the process is small enough. It ends when no connection is left.
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
		g.log.Warn("the server is near its memory's limit: cut the connection that sent or holds the most", "limit_bytes", g.limit)
		g.collect()
	}
	g.full.Store(false)
}
