package memory

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// The thresholds of a gate.
const (
	// pausePercent is the threshold, in percent of the limit, above which input waits until garbage
	// is collected and returned to the system. It is higher than goPercent, so that the Go runtime
	// collects garbage first.
	pausePercent = 87
	// fullPercent is the threshold, in percent of the limit, for the memory that is still in use
	// after this collection. Above it the gate refuses calls and closes connections.
	fullPercent = 83
	// measuresPerLimit is the number of measurements of the process while it receives as many bytes
	// as its limit.
	measuresPerLimit = 512
	// measureEvery is the interval between measurements if there is little input. measureOften is
	// the interval while the process uses more than halfPercent of the limit.
	measureEvery, measureOften = 20 * time.Millisecond, 5 * time.Millisecond
	halfPercent                = 60
	// calledBytes is the number of bytes of input that a call is counted as, in addition to the
	// bytes received.
	calledBytes = 8 << 10
)

// Gate keeps the resident memory of a process below a limit. Near the limit, input waits until
// garbage is collected. If this does not free enough memory, the gate refuses calls and calls cut
// to close connections. A nil Gate limits nothing. A Gate is safe for concurrent use.
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
	// measuring is a mutex for measureLocked. A goroutine locks it by receiving its single element,
	// and unlocks it by sending the element back.
	measuring chan struct{}

	pauses, cuts, refusals atomic.Uint64
}

// NewGate returns a gate that watches this process. The gate calls cut to close a connection; calls
// of cut do not overlap. cut returns false if no connection is left.
func NewGate(limit int64, cut func() bool, log *slog.Logger) *Gate {
	g := &Gate{
		limit: limit, step: max(64<<10, limit/measuresPerLimit), resident: newResident(), collect: debug.FreeOSMemory, cut: cut, log: log,
		measuring: make(chan struct{}, 1),
	}
	g.measuring <- struct{}{}
	return g
}

// Admit returns ErrExhausted while the process is too large; the caller must then refuse the call.
func (g *Gate) Admit() error {
	if g != nil && g.full.Load() {
		g.refusals.Add(1)
		return ErrExhausted
	}
	return nil
}

// GateCounters counts the actions of a gate.
type GateCounters struct {
	Pauses   uint64 // number of times that input waited until garbage was collected
	Cuts     uint64 // number of closed connections
	Refusals uint64 // number of refused calls
}

// Counters returns the counters of the gate.
func (g *Gate) Counters() GateCounters {
	if g == nil {
		return GateCounters{}
	}
	return GateCounters{Pauses: g.pauses.Load(), Cuts: g.cuts.Load(), Refusals: g.refusals.Load()}
}

// Received records that n bytes were received. It blocks while the process is too large, which
// slows down the sender. If a measurement is due, Received measures the process or waits until
// another goroutine has measured it. So input is limited even if the host delays the goroutine of
// Watch.
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

// ReceivedCall records that a call was received. It adds calledBytes, because even a refused call
// makes the server allocate far more bytes than its headers contain.
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

// measureLocked measures the process, and calls relieve if the process is too large. It returns the
// measured size in bytes. The caller must have locked measuring.
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
	if err != nil { // /proc is not readable; the shares still limit the process
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

// ErrExhausted means that the server has reached its memory limit. The caller should retry later.
var ErrExhausted = errors.New("the server has reached its memory limit: try again later")
