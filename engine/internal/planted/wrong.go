//go:build planted

package planted

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/internal/compute"
)

// asked is the number of calls of Hits for the planted fault.
var asked atomic.Uint64

// Hits reports whether the caller must inject the fault with the given name now. For the planted
// fault it returns true in one of N calls, where N is the fault's amount; for all other faults it
// returns false. It is safe for concurrent use.
func Hits(name string) bool {
	return is(name) && asked.Add(1)%uint64(fault.amount.count) == 0
}

// serials is the number of invented ids.
var serials atomic.Int64

// Serial returns a different number at each call.
func Serial() int { return int(serials.Add(1)) }

// takers are the most recent receivers of deliveries.
type takers struct {
	mu  sync.Mutex
	all []taker // has at most takersMax elements
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

// takersMax is the maximum number of receivers of deliveries that are remembered.
const takersMax = 4

var others takers

// Another chooses a receiver that wrongly gets a copy of a delivery to who. For the fault Twice,
// this is another receiver of the same tenant, or who if there is no other one. For Stranger, it is
// a receiver of another tenant. Another returns nil if the fault is not planted or if there is no
// such receiver. It also returns nil in all calls except every Nth, where N is the amount of the
// fault. It is safe for concurrent use.
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
		found = who // one stream may serve several workers
	}
	if found == nil || !Hits(fault) {
		return nil
	}
	return found
}

// Reads reports whether a refused request of an administrator must be answered.
func Reads(request any) bool {
	switch request.(type) {
	case *adminpb.ListTasksRequest:
		return Hits(List)
	case *adminpb.GetQueueRequest:
		return Hits(Stats)
	}
	return false
}

// Call must be called for each unary call over gRPC.
func Call() {
	Frame()
	each("unary")
}

// Request must be called for each call over REST.
func Request() {
	Frame()
	each("rest")
}

// Arrives returns a function that calls next when a REST call arrives, and then Request.
func Arrives(next func(context.Context, string) context.Context) func(context.Context, string) context.Context {
	return func(ctx context.Context, method string) context.Context {
		ctx = next(ctx, method)
		Request()
		return ctx
	}
}

// each computes steps for a call if the named fault is planted. Since calls are concurrent, it
// stores the result atomically.
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

// task allocates bytes that are never freed. It writes to each page, because a page that was never
// written uses no memory.
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

// frames is the number of frames. Only the fault "goroutines" uses it.
var frames atomic.Uint64

// leave starts a goroutine that blocks forever if frame is a multiple of in. It reports whether it
// has started one.
func leave(frame, in uint64) bool {
	if frame%in != 0 {
		return false
	}
	go func() { select {} }()
	return true
}
