package busypoll

import (
	"runtime"
	"sync/atomic"
	"time"
)

// pollers is shared by the connections of a process: at most one of them polls.
type pollers struct {
	now       func() time.Duration // a monotonic clock
	polling   atomic.Bool
	last      atomic.Pointer[habit] // the connection that received data last, after a wait
	contended atomic.Int64          // when last changed, by now
}

// process is shared by all connections of this process.
var process = pollers{now: func() time.Duration { return time.Since(epoch) }}

var epoch = time.Now()

const (
	// parkEvery is how long a connection may poll before it waits as usual once. Only then does the scheduler poll
	// the network for the other connections.
	parkEvery = 4 * time.Millisecond
	// aloneAfter is for how long no other connection may have received data.
	aloneAfter = 10 * time.Millisecond
	// holdMin and holdMax bound the pause of a connection after polling stopped to pay; each pause is longer.
	holdMin, holdMax = 20 * time.Millisecond, 2 * time.Second
	// steady is how long polling must have paid before the next pause is the shortest again.
	steady = time.Second
	// idleMax bounds a yield while no other goroutine has work.
	idleMax = 3 * time.Microsecond
	// unreadMax bounds the time between two reads of the socket while other goroutines work.
	unreadMax = 50 * time.Microsecond
)

// share is how many of the last events, about sixteen, were hits: 0 to shareAll.
type share int

const (
	shareAll   share = 1 << 12
	shareStart       = shareAll * 3 / 4 // of waits that were short, from which on polling is tried
	shareStop        = shareAll / 2     // of polls that found something, below which it ends
)

func (s *share) note(hit bool) {
	if hit {
		*s += (shareAll - *s) / 16
	} else {
		*s -= *s / 16
	}
}

// habit decides by the length of a connection's waits whether the connection polls. The connection's reader owns it.
type habit struct {
	max    time.Duration
	shared *pollers

	active bool
	short  share         // of waits while not polling
	hits   share         // of polls
	since  time.Duration // when polling began
	parked time.Duration // when the connection last ended a wait as usual
	pause  time.Duration // how long not to poll after the next end
	until  time.Duration // no polling before that
}

// begin reports whether to poll now. If so, the caller calls end afterwards.
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

// end notes whether polling found data.
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

// waited notes a usual wait. A wait of up to twice the maximum counts as short: up to half of the wait may be the two
// sides waking up.
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

// poll calls try until it returns true, for up to max without the time that other goroutines take.
func (h *habit) poll(try func() bool) bool {
	var idle, unread time.Duration
	last := h.shared.now()
	for idle < h.max {
		runtime.Gosched()
		t := h.shared.now()
		took := t - last
		last = t
		if took > idleMax && unread < unreadMax {
			unread += took // other goroutines work: the socket waits until they are done
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
