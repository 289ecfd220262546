package busypoll

import (
	"runtime"
	"sync/atomic"
	"time"
)

// pollers is the state that the connections of a process share. At most one of them polls.
type pollers struct {
	now       func() time.Duration // returns the time of a monotonic clock
	polling   atomic.Bool
	last      atomic.Pointer[habit] // the last connection that received data after a wait
	contended atomic.Int64          // time of the last change of last, by now
}

// process is the value that all connections of this process share.
var process = pollers{now: func() time.Duration { return time.Since(epoch) }}

var epoch = time.Now()

const (
	// parkEvery is the maximum time that a connection polls before it waits once in the usual way.
	// The scheduler polls the network for the other connections only during such a wait.
	parkEvery = 4 * time.Millisecond
	// aloneAfter is the time after which a connection may poll if no other connection has received
	// data.
	aloneAfter = 10 * time.Millisecond
	// holdMin and holdMax limit the pause of a connection whose polls do not find data. Each pause
	// is twice as long as the previous one.
	holdMin, holdMax = 20 * time.Millisecond, 2 * time.Second
	// steady is the duration of successful polling after which the next pause is the shortest
	// again.
	steady = time.Second
	// idleMax is the maximum duration of a yield if no other goroutine has work. A longer yield
	// means that others work.
	idleMax = 3 * time.Microsecond
	// unreadMax is the maximum time between two reads of the socket while other goroutines work.
	unreadMax = 50 * time.Microsecond
)

// share is the fraction of hits among about the last sixteen events, as a number from 0 to
// shareAll.
type share int

const (
	shareAll   share = 1 << 12
	shareStart       = shareAll * 3 / 4 // polling starts if the share of short waits is above this
	shareStop        = shareAll / 2     // polling stops if the share of hits is below this
)

func (s *share) note(hit bool) {
	if hit {
		*s += (shareAll - *s) / 16
	} else {
		*s -= *s / 16
	}
}

// habit decides whether a connection polls, depending on the length of the connection's waits. The
// goroutine that reads from the connection owns it.
type habit struct {
	max    time.Duration
	shared *pollers

	active bool
	short  share         // fraction of short waits, while not polling
	hits   share         // fraction of polls that found data
	since  time.Duration // time when polling started
	parked time.Duration // end of the last wait in the usual way
	pause  time.Duration // length of the last pause
	until  time.Duration // end of the current pause
}

// begin reports whether to poll now. If so, the caller must poll and then call end.
func (h *habit) begin() bool {
	if !h.active {
		return false
	}
	t := h.shared.now()
	if t-h.parked > parkEvery || t-time.Duration(h.shared.contended.Load()) < aloneAfter {
		return false
	}
	return h.shared.polling.CompareAndSwap(false, true)
}

// end records whether polling found data.
func (h *habit) end(hit bool) {
	h.shared.polling.Store(false)
	h.hits.note(hit)
	if h.hits >= shareStop {
		return
	}
	t := h.shared.now()
	if t-h.since > steady {
		h.pause = 0
	}
	h.pause = min(max(2*h.pause, holdMin), holdMax)
	h.active, h.short, h.until = false, 0, t+h.pause
}

// waited records a wait in the usual way. A wait of less than twice max counts as short, because up
// to half of it may be the time to wake up both sides.
func (h *habit) waited(from, to time.Duration) {
	h.parked = to
	if h.shared.last.Load() != h {
		h.shared.last.Store(h)
		h.shared.contended.Store(int64(to))
	}
	h.short.note(to-from < 2*h.max)
	if !h.active && h.short > shareStart && to > h.until {
		h.active, h.hits, h.since = true, shareStart, to
	}
}

// poll calls try until it returns true, but for at most max. The time that other goroutines use
// does not count.
func (h *habit) poll(try func() bool) bool {
	var idle, unread time.Duration
	last := h.shared.now()
	for idle < h.max {
		runtime.Gosched()
		t := h.shared.now()
		took := t - last
		last = t
		if took > idleMax && unread < unreadMax {
			unread += took // other goroutines work: let them continue
			continue
		}
		unread = 0
		idle += min(took, idleMax)
		if try() {
			return true
		}
	}
	return false
}
