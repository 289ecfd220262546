// Package linelimit bounds how many lines of one kind a log gets: what others cause, as often as they like, must not fill a disk.
package linelimit

import (
	"sync"
	"time"
)

// LeftOut is the attribute of a line that says how many lines were left out before it.
const LeftOut = "lines_left_out_before"

// Limit allows at most Max lines in a Period, which begins with a line. It is safe for concurrent use.
type Limit struct {
	Max    int
	Period time.Duration

	mu      sync.Mutex // guards what follows
	since   time.Time
	logged  int
	omitted int
}

// Allow reports whether one more line may be logged, and how many were omitted since the last one.
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
