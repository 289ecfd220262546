package busypoll

import (
	"runtime"
	"sync/atomic"
	"time"
)

// pollers is the shared state of a process's connections. At most one of them polls.
type pollers struct {
	now       func() time.Duration // a monotonic clock
	polling   atomic.Bool
	last      atomic.Pointer[habit] // the last connection that received data after a wait
	contended atomic.Int64          // when last changed, by now
}

// process is shared by all connections of this process.
var process = pollers{now: func() time.Duration { return time.Since(epoch) }}

var epoch = time.Now()

const (
	// parkEvery bounds the time that a connection polls before it waits once in the usual way. Only
	// then the scheduler polls the network for the other connections.
	parkEvery = 4 * time.Millisecond
	// aloneAfter is how long no other connection may have received data before a connection polls.
	aloneAfter = 10 * time.Millisecond
	// holdMin and holdMax bound the pause of a connection whose polls fail. Each pause is twice as
	// long as the previous one.
	holdMin, holdMax = 20 * time.Millisecond, 2 * time.Second
	// steady is the time of successful polling after which the next pause is the shortest again.
	steady = time.Second
	// idleMax bounds a yield while no other goroutine has work.
	idleMax = 3 * time.Microsecond
	// unreadMax bounds the time between two reads of the socket while other goroutines work.
	unreadMax = 50 * time.Microsecond
)

// share is the part of hits among about the last sixteen events: 0 to shareAll.
type share int

const (
	shareAll   share = 1 << 12
	shareStart       = shareAll * 3 / 4 // share of short waits above which polling begins
	shareStop        = shareAll / 2     // share of successful polls below which polling ends
)

func (s *share) note(hit bool) {
	if hit {
		*s += (shareAll - *s) / 16
	} else {
		*s -= *s / 16
	}
}

// habit decides whether a connection polls, by the length of the connection's waits. The
// connection's reader owns it.
type habit struct {
	max    time.Duration
	shared *pollers

	active bool
	short  share         // of waits while not polling
	hits   share         // of polls
	since  time.Duration // when polling began
	parked time.Duration // end of the last usual wait
	pause  time.Duration // length of the last pause
	until  time.Duration // end of the pause
}

// begin reports whether to poll now. If it returns true, the caller must call end after polling.
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

// waited records a usual wait. A wait of less than twice the maximum counts as short, because half
// of it may be the wake-up of both sides.
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

// poll calls try until it returns true, for at most max, not counting the time that other
// goroutines use.
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
