package wire

import (
	"context"
	"net"
	"runtime"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
)

// pollMax is how long one wait is polled for: less, and the two sides lose each other at every collection of garbage.
const pollMax = 200 * time.Microsecond

// BusyPoll returns credentials whose connections poll for data for a short time before their thread sleeps.
//
// To wake a sleeping thread costs both sides more than a small frame does, and takes longer. Where one process
// answers another as fast as it is asked, that is most of what a frame costs: polling saves it, and pays with the
// time between the frames, in which the processor is busy instead of idle. So it is for a process that has a
// processor of its own and runs on that one alone, GOMAXPROCS being 1 of several: with more it gains nothing,
// measured, and beside a third busy process it loses some. There connections wait as usual. A connection polls only
// while nearly all of its waits are short, so an idle one costs nothing, and only while it is the only one
// that data comes in on: a process with several is kept busy by them. It does not poll under TLS where that is
// between the credentials and the network.
func BusyPoll(c credentials.TransportCredentials) credentials.TransportCredentials {
	if runtime.GOMAXPROCS(0) > 1 || runtime.NumCPU() == 1 {
		return c
	}
	return pollingCredentials{c}
}

type pollingCredentials struct {
	credentials.TransportCredentials
}

// ClientHandshake implements the interface.
func (c pollingCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.TransportCredentials.ClientHandshake(ctx, authority, polling(conn, pollMax, &process))
}

// ServerHandshake implements the interface.
func (c pollingCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.TransportCredentials.ServerHandshake(polling(conn, pollMax, &process))
}

// Clone implements the interface.
func (c pollingCredentials) Clone() credentials.TransportCredentials {
	return pollingCredentials{c.TransportCredentials.Clone()}
}

// pollers is what the connections of a process share: at most one of them polls.
type pollers struct {
	now       func() time.Duration // a monotonic clock
	polling   atomic.Bool
	last      atomic.Pointer[habit] // whose data came in last, after a wait
	contended atomic.Int64          // when that last changed, by now
}

// process is what all connections of this process share.
var process = pollers{now: func() time.Duration { return time.Since(epoch) }}

var epoch = time.Now()

const (
	// parkEvery is how long a connection may poll before it waits as usual once. Only then does the scheduler look
	// at other connections, as long as they do not make it do so on their own.
	parkEvery = 4 * time.Millisecond
	// aloneAfter is how long no data may have come in on another connection.
	aloneAfter = 10 * time.Millisecond
	// holdMin and holdMax are how long a connection does not poll after polling had stopped to pay: longer each time.
	holdMin, holdMax = 20 * time.Millisecond, 2 * time.Second
	// steady is how long polling must have paid for the next pause to be the shortest again.
	steady = time.Second
	// idleMax is how long a yield takes at most when nobody else has anything to do.
	idleMax = 3 * time.Microsecond
	// unreadMax is how long the socket is left alone while others have something to do.
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

// habit decides whether a connection polls, by how long its waits were. It belongs to the connection's reader.
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

// begin reports whether to poll now. Then end must be called.
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

// end says whether polling found data.
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

// waited says that the connection waited as usual from one time to another. A wait of up to twice the maximum
// counts as short: half of it may be how long the two sides take to wake up.
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

// poll calls try until it returns true, for up to max beside the time that other goroutines take.
func (h *habit) poll(try func() bool) bool {
	var idle, unread time.Duration
	last := h.shared.now()
	for idle < h.max {
		runtime.Gosched()
		t := h.shared.now()
		took := t - last
		last = t
		if took > idleMax && unread < unreadMax {
			unread += took // others are at work: the socket can wait until they are done
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
