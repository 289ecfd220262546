package memory

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// What a gate watches for.
const (
	// pausePercent of the limit is where input waits until garbage is collected and returned to the system. It is above
	// goPercent: the runtime collects garbage before.
	pausePercent = 87
	// fullPercent of the limit is what must be left in use after that for calls to be refused and connections to be cut.
	fullPercent = 83
	// looksPerLimit is how often the process is looked at while as many bytes come in as the limit has.
	looksPerLimit = 512
	// lookEvery is how often it is looked at whatever comes in, and lookOften how often it is above halfPercent.
	lookEvery, lookOften = 20 * time.Millisecond, 5 * time.Millisecond
	halfPercent          = 60
)

// Gate keeps a process below its limit. Near it, input waits until garbage is collected; if that does not help, calls are
// refused and the connections that brought or hold the most are cut. A nil Gate lets everything through. It is safe for
// concurrent use.
type Gate struct {
	limit    int64
	step     int64 // of input between two looks
	resident func() (int64, error)
	collect  func()      // collects garbage and returns it to the system
	cut      func() bool // cuts a connection; false if there is none to cut
	log      *slog.Logger

	input atomic.Int64  // since the last look
	full  atomic.Bool   // calls are refused
	busy  atomic.Bool   // the process is being relieved
	relax chan struct{} // has the element while nobody relieves the process
	cuts  atomic.Uint64
}

// NewGate watches the process. cut is called, by one goroutine at a time, to cut a connection.
func NewGate(limit int64, cut func() bool, log *slog.Logger) *Gate {
	g := &Gate{
		limit: limit, step: max(64<<10, limit/looksPerLimit), resident: residentBytes, collect: debug.FreeOSMemory, cut: cut, log: log,
		relax: make(chan struct{}, 1),
	}
	g.relax <- struct{}{}
	return g
}

// Admit refuses a call with ErrExhausted while the process is too large.
func (g *Gate) Admit() error {
	if g != nil && g.full.Load() {
		return ErrExhausted
	}
	return nil
}

// Cuts returns how many connections were cut.
func (g *Gate) Cuts() uint64 {
	if g == nil {
		return 0
	}
	return g.cuts.Load()
}

// Came says that n bytes came in. It waits while the process is too large: that holds back who sends them.
func (g *Gate) Came(n int) {
	if g == nil || g.input.Add(int64(n)) < g.step && !g.full.Load() && !g.busy.Load() {
		return
	}
	g.input.Store(0)
	g.look()
}

// Watch looks at the process now and then until ctx ends.
func (g *Gate) Watch(ctx context.Context) {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		next := lookEvery
		if g.look() > g.limit/100*halfPercent {
			next = lookOften
		}
		timer.Reset(next)
	}
}

// look looks at the process, relieves it if it is too large, and returns how large it was.
func (g *Gate) look() int64 {
	used := g.used()
	switch {
	case used > g.limit/100*pausePercent || g.busy.Load():
		<-g.relax
		defer func() { g.relax <- struct{}{} }()
		if g.used() > g.limit/100*pausePercent { // nobody did it meanwhile
			g.relieve()
		}
	case used < g.limit/100*fullPercent:
		g.full.Store(false)
	}
	return used
}

func (g *Gate) used() int64 {
	n, err := g.resident()
	if err != nil { // the system's files are not there: what is known of the limits holds without this
		return 0
	}
	return n
}

// relieve collects garbage and cuts connections until the process is small enough. It ends: there are only so many
// connections.
func (g *Gate) relieve() {
	g.busy.Store(true)
	defer g.busy.Store(false)
	g.collect()
	for g.used() > g.limit/100*fullPercent {
		g.full.Store(true)
		if !g.cut() {
			return
		}
		g.cuts.Add(1)
		g.log.Warn("the server is near its memory's limit: cut the connection that brought or holds the most", "limit_bytes", g.limit)
		g.collect()
	}
	g.full.Store(false)
}
