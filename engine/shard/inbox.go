package shard

import (
	"sync"
	"time"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/internal/stages"
)

// inbox holds the commands that wait to be decided. Any number of goroutines put commands in, and the deciding goroutine takes all of them
// at once. The lock is held for an append or a swap only.
type inbox struct {
	wake chan struct{} // has an element when there may be something to take

	mu      sync.Mutex
	waiting []command
	since   time.Duration // when the oldest of them came, by stages.Now
	load    load          // of waiting
	closed  error         // why further commands are refused; nil while they are accepted
	loadMax load
}

// load is what commands carry.
type load struct {
	tasks int
	bytes int // of payloads
}

func newInbox(loadMax load) *inbox {
	return &inbox{wake: make(chan struct{}, 1), loadMax: loadMax}
}

// put adds a command. It always accepts a command without load: the streams and calls that send such commands bound their number. It accepts
// a command above the bound if no other command with load waits.
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

// goOn adds a command that continues an accepted one, even if the inbox is closed.
func (b *inbox) resume(c command) {
	b.mu.Lock()
	b.waiting = append(b.waiting, c)
	if len(b.waiting) == 1 {
		b.since = stages.Now()
	}
	b.mu.Unlock()
	signal.Send(b.wake)
}

// take moves all waiting commands to the end of into. It returns when the oldest of them came, or 0 if there were none.
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

// close makes put refuse further commands with an error; the error of the first close counts. Waiting commands can still be taken.
func (b *inbox) close(why error) {
	b.mu.Lock()
	if b.closed == nil {
		b.closed = why
	}
	b.mu.Unlock()
	signal.Send(b.wake)
}
