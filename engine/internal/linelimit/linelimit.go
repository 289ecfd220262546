// Package linelimit limits the number of log lines of one kind. Lines that strangers can cause then
// cannot fill a disk.
package linelimit

import (
	"sync"
	"time"
)

// LeftOut is the name of a log attribute: the number of lines that were omitted before a line.
const LeftOut = "lines_left_out_before"

// Limit allows at most Max lines per Period. A period starts with the first line after the previous
// period has ended. Limit is safe for concurrent use.
type Limit struct {
	Max    int
	Period time.Duration

	mu      sync.Mutex // guards the fields below
	since   time.Time
	logged  int
	omitted int
}

// Allow reports whether a line may be logged now. omitted is the number of lines that were omitted
// since the last line that was allowed.
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
