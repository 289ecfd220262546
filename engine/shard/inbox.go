package shard

import (
	"sync"
	"time"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/internal/stages"
)

// inbox holds the commands that wait to be decided. Any number of goroutines put commands in, and
// the deciding goroutine takes all of them together. Each operation holds the lock for one append
// or copy.
//
// The order of waiting is the order of decisions. The deciding goroutine sleeps on wake only after
// a take that found nothing. put signals only when the inbox was empty before: a later command
// needs no signal, because the taker has not taken the earlier one yet. wake has room for one
// element and a sender never blocks, so a wake-up without work is possible, but a lost one is not.
type inbox struct {
	wake chan struct{} // has an element when there may be work

	mu      sync.Mutex
	waiting []command
	since   time.Duration // arrival of the oldest waiting command, by stages.Now
	load    load          // of waiting
	closed  error         // why further commands are refused; nil while they are accepted
	loadMax load
}

// load is the size of commands, for the bounds of the inbox.
type load struct {
	tasks int
	bytes int // of payloads
}

func newInbox(loadMax load) *inbox {
	return &inbox{wake: make(chan struct{}, 1), loadMax: loadMax}
}

// put adds a command, or returns ErrOverloaded or the error that the inbox was closed with. It
// always accepts a command without load: the streams and calls that send such commands bound their
// number. It accepts a command above the bound if no other command with load waits; otherwise that
// command could never run.
func (b *inbox) put(c command, l load) error {
	b.mu.Lock()
	if b.closed != nil {
		defer b.mu.Unlock()
		return b.closed
	}
	if b.load.tasks > 0 && l.tasks > 0 && (b.load.tasks+l.tasks > b.loadMax.tasks || b.load.bytes+l.bytes > b.loadMax.bytes) {
		b.mu.Unlock()
		return ErrOverloaded
	}
	b.waiting = append(b.waiting, c)
	b.load.tasks += l.tasks
	b.load.bytes += l.bytes
	first := len(b.waiting) == 1
	if first {
		b.since = stages.Now()
	}
	b.mu.Unlock()
	if first {
		signal.Send(b.wake)
	}
	return nil
}

// resume adds a command that continues an accepted one, even if the inbox is closed or full: the
// accepted command must be answered.
func (b *inbox) resume(c command) {
	b.mu.Lock()
	b.waiting = append(b.waiting, c)
	if len(b.waiting) == 1 {
		b.since = stages.Now()
	}
	b.mu.Unlock()
	signal.Send(b.wake)
}

// take appends all waiting commands to into and empties the inbox. since is the arrival time of the
// oldest command, or 0 if none waited; closed is the error that the inbox was closed with, or nil.
func (b *inbox) take(into []command) (all []command, since time.Duration, closed error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) > 0 {
		since = b.since
	}
	into = append(into, b.waiting...)
	clear(b.waiting)
	b.waiting = b.waiting[:0]
	b.load = load{}
	return into, since, b.closed
}

// close makes put refuse further commands with why. If the inbox is closed already, the earlier
// error stays. take still returns the waiting commands.
func (b *inbox) close(why error) {
	b.mu.Lock()
	if b.closed == nil {
		b.closed = why
	}
	b.mu.Unlock()
	signal.Send(b.wake)
}
