// Package linelimit bounds the log lines of one kind, so that lines that strangers can cause at
// will do not fill a disk.
package linelimit

import (
	"sync"
	"time"
)

// LeftOut is the log attribute with the number of lines omitted before a line.
const LeftOut = "lines_left_out_before"

// Limit allows at most Max lines in a Period. A period begins with a line. Limit is safe for
// concurrent use.
type Limit struct {
	Max    int
	Period time.Duration

	mu      sync.Mutex // guards the fields below
	since   time.Time
	logged  int
	omitted int
}

// Allow reports whether a line may be logged now, and how many were omitted since the last allowed
// one.
func (l *Limit) Allow(now time.Time) (omitted int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= l.Period {
		l.since, l.logged = now, 0
	}
	if l.logged == l.Max {
		l.omitted++
		return 0, false
	}
	l.logged++
	omitted, l.omitted = l.omitted, 0
	return omitted, true
}
