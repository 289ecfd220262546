package shard

import (
	"sync"
	"time"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/internal/stages"
)

// inbox contains the commands that wait to be decided. Any number of goroutines put commands in,
// and the deciding goroutine takes all of them together. Each operation holds the lock only for one
// append or copy.
//
// Commands are decided in the order of their puts. The deciding goroutine sleeps on wake only after
// take returned no command. put signals wake only if the inbox was empty: if it was not, the signal
// for an earlier command has not been used up, because that command was not taken yet. wake has
// room for one element, and a sender never blocks. The deciding goroutine may therefore wake up
// without work, but it never misses a wake-up.
type inbox struct {
	wake chan struct{} // contains an element when there may be work

	mu      sync.Mutex
	waiting []command
	since   time.Duration // arrival time of the oldest waiting command, by stages.Now
	load    load          // total of the waiting commands
	closed  error         // the error that put returns; nil while the inbox is open
	loadMax load
}

// load is the size of commands, which the inbox limits.
type load struct {
	tasks int
	bytes int // payload bytes
}

func newInbox(loadMax load) *inbox {
	return &inbox{wake: make(chan struct{}, 1), loadMax: loadMax}
}

// put adds a command, or returns ErrOverloaded or the error that the inbox was closed with. An open
// inbox always accepts a command without load, because the streams and calls that send such
// commands limit their number. It accepts a command that alone exceeds loadMax if no other command
// with load waits; otherwise that command could never run.
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

// close makes put refuse further commands with the error why. If the inbox is already closed, put
// continues to return the earlier error. take still returns the waiting commands.
func (b *inbox) close(why error) {
	b.mu.Lock()
	if b.closed == nil {
		b.closed = why
	}
	b.mu.Unlock()
	signal.Send(b.wake)
}
