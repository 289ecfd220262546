//go:build planted

package planted

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/engine/internal/compute"
)

// asked counts the calls to Hits for the planted fault.
var asked atomic.Uint64

// Hits reports whether the caller must inject the fault now. For the planted fault it returns true
// once per amount calls; for all other faults it returns false. It is safe for concurrent use.
func Hits(name string) bool {
	return is(name) && asked.Add(1)%uint64(fault.amount.count) == 0
}

// serials counts the invented ids.
var serials atomic.Int64

// Serial returns a different number at each call.
func Serial() int { return int(serials.Add(1)) }

// takers are the most recent receivers of deliveries.
type takers struct {
	mu  sync.Mutex
	all []taker // at most takersMax
}

func (t *takers) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = nil
}

type taker struct {
	who    any
	tenant string
}

// takersMax bounds the remembered receivers of deliveries.
const takersMax = 4

var others takers

// Another chooses a receiver that wrongly gets a copy of a delivery to who. For the fault Twice it
// is a receiver of the same tenant, or who if there is no other. For Stranger it is a receiver of
// another tenant. Another returns nil if the fault is not planted, if there is no such receiver,
// and in all calls except every Nth, where N is the amount of the fault. It is safe for concurrent
// use.
func Another(fault string, who any, tenant string) any {
	if !is(fault) {
		return nil
	}
	others.mu.Lock()
	defer others.mu.Unlock()
	var found any
	for _, t := range others.all {
		if t.who != who && (t.tenant == tenant) == (fault == Twice) {
			found = t.who
		}
	}
	if !slices.Contains(others.all, taker{who, tenant}) {
		others.all = append(others.all, taker{who, tenant})
		if len(others.all) > takersMax {
			others.all = others.all[1:]
		}
	}
	if found == nil && fault == Twice {
		found = who // one stream may have several workers
	}
	if found == nil || !Hits(fault) {
		return nil
	}
	return found
}

// Call must be called for each unary call over gRPC.
func Call() { each("unary") }

// Request must be called for each call over REST.
func Request() { each("rest") }

// each computes for a call if the fault is planted. Calls are concurrent, so the result is stored
// atomically.
func each(name string) {
	if is(name) {
		called.Store(compute.Steps(fault.amount.count))
	}
}

var called atomic.Uint64

// Writes returns how many additional times a commit must write a queue's record.
func Writes() int {
	if is("writes") {
		return fault.amount.count
	}
	return 0
}

// leaks is memory that is never freed.
type leaks struct {
	mu     sync.Mutex
	pieces [][]byte
}

var leaked leaks

// task allocates bytes that are never freed. It writes to each page, because an untouched page uses
// no memory.
func (l *leaks) task(bytes int) {
	piece := make([]byte, bytes)
	for i := 0; i < len(piece); i += pageBytes {
		piece[i] = 1
	}
	l.mu.Lock()
	l.pieces = append(l.pieces, piece)
	l.mu.Unlock()
}

const pageBytes = 4 << 10

// frames counts the frames, for the fault goroutines.
var frames atomic.Uint64

// leave starts a goroutine that blocks forever, once per in frames. It reports whether it did.
func leave(frame, in uint64) bool {
	if frame%in != 0 {
		return false
	}
	go func() { select {} }()
	return true
}
