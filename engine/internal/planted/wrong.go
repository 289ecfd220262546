//go:build planted

package planted

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/engine/internal/compute"
)

// asked counts the calls of Hits for the planted fault.
var asked atomic.Uint64

// Hits reports whether the engine is to do the wrong thing now: once in as many calls as the fault's amount says, never for another fault
// than the planted one. It is safe for concurrent use.
func Hits(name string) bool {
	return is(name) && asked.Add(1)%uint64(fault.amount.count) == 0
}

// serials counts the ids that were made up.
var serials atomic.Int64

// Serial returns a number that it has not returned before.
func Serial() int { return int(serials.Add(1)) }

// takers are the most recent receivers of deliveries.
type takers struct {
	mu  sync.Mutex
	all []taker // takersMax at most
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

// takersMax is how many takers of deliveries are remembered.
const takersMax = 4

var others takers

// Another chooses a receiver that wrongly gets a copy of a delivery to who. For the fault Twice it is a receiver of the same tenant, or who if
// there is no other. For Stranger it is a receiver of another tenant. Another returns nil if the fault is not planted, if no receiver fits, and in
// all but every Nth call, where N is the amount of the fault. It is safe for concurrent use.
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
		found = who // the workers of one stream are several as well
	}
	if found == nil || !Hits(fault) {
		return nil
	}
	return found
}

// Call is called for each unary call over gRPC.
func Call() { each("unary") }

// Request is called for each call over REST.
func Request() { each("rest") }

// each computes for a call if the fault is planted. Calls run beside each other, so each has its own result.
func each(name string) {
	if is(name) {
		called.Store(compute.Steps(fault.amount.count))
	}
}

var called atomic.Uint64

// Writes returns how often a queue's record is written once more.
func Writes() int {
	if is("writes") {
		return fault.amount.count
	}
	return 0
}

// leaks is memory that is kept until the process ends.
type leaks struct {
	mu     sync.Mutex
	pieces [][]byte
}

var leaked leaks

// task keeps some bytes. They are written to, because a page that nobody wrote to takes no memory.
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

// frames is how many frames came since the last goroutine was left behind.
var frames atomic.Uint64

// leave leaves a goroutine behind that waits for ever, once in so many frames.
func leave(frame, in uint64) bool {
	if frame%in != 0 {
		return false
	}
	go func() { select {} }()
	return true
}
