package node

import (
	"container/list"
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/rpc/call"
)

// These constants limit client connections.
const (
	// strangerMax is the maximum time for which a gRPC connection may be open without a call.
	strangerMax = 30 * time.Second
	// unreadMax is the maximum time for which a client may leave pending bytes unread.
	unreadMax = time.Minute
	// progressBytesMin is the number of bytes that the client must read within unreadMax. It
	// exceeds the bytes of answers to pings.
	progressBytesMin = 1 << 10
	// sweepEvery is the interval between checks of the connections.
	sweepEvery = time.Second
	// heldBytesMin is the minimum number of bytes that a connection must occupy to be worth closing
	// for lack of memory.
	heldBytesMin = 64 << 10
)

// conns tracks and limits the client connections of all listeners. A connection is a stranger until
// its first call with a valid token.
type conns struct {
	max, strangersMax, tenantMax int
	unreadBytesMax               int64
	outboxes                     *memory.Budget // for bytes that wait until clients read them
	gate                         *memory.Gate
	log                          *slog.Logger

	mu        sync.Mutex
	all       map[*conn]struct{} // guarded by mu
	strangers *list.List         // list of *conn, oldest first; guarded by mu
	tenants   map[string]int     // number of connections by tenant; guarded by mu
	refused   atomic.Uint64
}

func newConns(s memory.Shares, files int, log *slog.Logger) *conns {
	most := max(16, min(s.Connections, files))
	return &conns{
		max: most, strangersMax: max(8, most/4), tenantMax: max(8, most/2), unreadBytesMax: max(1<<20, s.OutboxBytes/8),
		outboxes: memory.NewBudget(s.OutboxBytes), log: log, all: map[*conn]struct{}{}, strangers: list.New(), tenants: map[string]int{},
	}
}

// listener wraps a listener to limit its connections. quiet must be true if another component
// closes connections without calls; conns then leaves them open.
func (k *conns) listener(l net.Listener, quiet bool) net.Listener {
	return &boundedListener{Listener: l, conns: k, quiet: quiet}
}

type boundedListener struct {
	net.Listener

	conns *conns
	quiet bool
}

// Accept implements net.Listener. If there are too many connections, it closes the oldest stranger
// and accepts the new connection. If there is no stranger, it closes the new connection.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if own := l.conns.admit(c, l.quiet); own != nil {
			return own, nil
		}
	}
}

// admit registers a connection, or closes it and returns nil.
func (k *conns) admit(inner net.Conn, quiet bool) *conn {
	c := &conn{Conn: inner, owner: k, quiet: quiet, since: time.Now()}
	c.ready.open(inner)
	k.mu.Lock()
	full := len(k.all) >= k.max
	var out *conn
	if oldest := k.strangers.Front(); oldest != nil && (full || k.strangers.Len() >= k.strangersMax) {
		out = oldest.Value.(*conn)
		k.remove(out)
		full = false
	}
	if !full {
		k.all[c] = struct{}{}
		c.stranger = k.strangers.PushBack(c)
	}
	k.mu.Unlock()
	if out != nil {
		k.refused.Add(1)
		out.closed.Store(true)
		_ = out.Conn.Close() // sends no error, since the client has not authenticated
	}
	if full {
		k.refused.Add(1)
		_ = inner.Close()
		return nil
	}
	return c
}

// remove removes a connection. The caller holds mu.
func (k *conns) remove(c *conn) {
	if _, here := k.all[c]; !here {
		return
	}
	delete(k.all, c)
	if c.stranger != nil {
		k.strangers.Remove(c.stranger)
		c.stranger = nil
	}
	if c.tenant != "" {
		if k.tenants[c.tenant]--; k.tenants[c.tenant] == 0 {
			delete(k.tenants, c.tenant)
		}
	}
}

func (k *conns) count() (all, strangers int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.all), k.strangers.Len()
}

// sweep runs until ctx ends. It closes connections without calls, and connections whose clients do
// not read.
func (k *conns) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, c := range k.overdue(now) {
				_ = c.Close() // notifies the client
			}
		}
	}
}

func (k *conns) overdue(now time.Time) (out []*conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for c := range k.all {
		switch {
		case c.stranger != nil && !c.quiet && !c.probed.Load() && now.Sub(c.since) > strangerMax:
			out = append(out, c)
		case c.stalled(now):
			k.log.Warn("cut a connection whose client does not read", "remote", c.Conn.RemoteAddr(), "waits_bytes", c.held())
			out = append(out, c)
		}
	}
	return out
}

// cut closes the connection that occupies the most bytes of memory. It returns false if no
// connection occupies at least heldBytesMin.
func (k *conns) cut() bool {
	k.mu.Lock()
	var most *conn
	for c := range k.all {
		if n := c.weight(); n >= heldBytesMin && (most == nil || n > most.weight()) {
			most = c
		}
	}
	if most != nil {
		k.remove(most)
	}
	k.mu.Unlock()
	if most == nil {
		return false
	}
	k.refused.Add(1)
	most.closed.Store(true)
	_ = most.Conn.Close()
	return true
}

// conn is a client connection. Its remote address is a link, which implements call.Link.
type conn struct {
	net.Conn

	owner *conns
	quiet bool
	since time.Time
	ready readyReader

	known    atomic.Bool
	closed   atomic.Bool
	probed   atomic.Bool
	tenant   string        // tenant of the first call; guarded by owner.mu
	stranger *list.Element // in owner.strangers; nil if not a stranger; guarded by owner.mu

	came    atomic.Int64 // bytes received but not yet reported as decoded
	holds   atomic.Int64 // bytes that streams buffer for the client
	answers atomic.Int64 // approximate bytes of answers that are not yet written
	written atomic.Int64

	progress   int64     // value of written at the last progress; guarded by owner.mu
	progressAt time.Time // time of the last progress; guarded by owner.mu
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read(n)
	return n, err
}

func (c *conn) read(n int) {
	if n > 0 {
		c.came.Add(int64(n))
		c.owner.gate.Received(n)
	}
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	c.owner.outboxes.Give(subtract(&c.answers, int64(n)))
	return n, err
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.owner.mu.Lock()
	c.owner.remove(c)
	c.owner.mu.Unlock()
	c.closed.Store(true)
	c.owner.outboxes.Give(c.answers.Swap(0))
	return c.Conn.Close()
}

// Socket returns the underlying connection. Package busypoll needs it.
func (c *conn) Socket() net.Conn { return c.Conn }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return link{c.Conn.RemoteAddr(), c} }

func (c *conn) held() int64   { return c.holds.Load() + c.answers.Load() }
func (c *conn) weight() int64 { return c.held() + c.came.Load() }

// stalled reports whether the client has not read its pending bytes for unreadMax. The caller holds
// owner.mu.
func (c *conn) stalled(now time.Time) bool {
	if written := c.written.Load(); c.held() == 0 || written-c.progress >= progressBytesMin || c.progressAt.IsZero() {
		c.progress, c.progressAt = written, now
	}
	return now.Sub(c.progressAt) > unreadMax
}

// subtract subtracts n from a counter and returns the subtracted amount. Since the counts are not
// exact, it stops at 0.
func subtract(from *atomic.Int64, n int64) int64 {
	for {
		was := from.Load()
		off := min(was, n)
		if off <= 0 || from.CompareAndSwap(was, was-off) {
			return max(0, off)
		}
	}
}

// link is a connection's remote address. Calls use it to report events to the connection.
type link struct {
	net.Addr

	c *conn
}

var _ call.Link = link{}

// Called implements call.Link.
func (l link) Called() { l.c.owner.gate.ReceivedCall() }

// Known implements call.Link.
func (l link) Known(tenant string) error {
	c, k := l.c, l.c.owner
	if c.known.Load() {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, here := k.all[c]; !here || c.stranger == nil {
		return nil // the connection is closed, or an earlier call has named the tenant
	}
	if tenant != "" {
		if k.tenants[tenant] >= k.tenantMax {
			return fmt.Errorf("%w: the tenant has %d connections: close some", memory.ErrExhausted, k.tenantMax)
		}
		k.tenants[tenant]++
		c.tenant = tenant
	}
	k.strangers.Remove(c.stranger)
	c.stranger = nil
	c.known.Store(true)
	return nil
}

// Probed implements call.Link.
func (l link) Probed() { l.c.probed.Store(true) }

// Consumed implements call.Link.
func (l link) Consumed(bytes int) { subtract(&l.c.came, int64(bytes)) }

// Holds implements call.Link.
func (l link) Holds(bytes int) {
	l.c.holds.Add(int64(bytes))
	l.c.owner.keep(int64(bytes))
}

// Answers implements call.Link.
func (l link) Answers(bytes int) {
	l.c.answers.Add(int64(bytes))
	l.c.owner.keep(int64(bytes))
	if l.c.closed.Load() {
		l.c.owner.outboxes.Give(l.c.answers.Swap(0))
	}
}

// Unread implements call.Link.
func (l link) Unread() bool {
	return l.c.closed.Load() || l.c.answers.Load() > l.c.owner.unreadBytesMax || l.c.owner.outboxes.Full()
}

// keep adds bytes to the number of bytes that wait for clients. If the budget is exceeded, it
// closes the connection with the most bytes.
func (k *conns) keep(bytes int64) {
	if bytes <= 0 {
		k.outboxes.Give(-bytes)
		return
	}
	if !k.outboxes.Force(bytes) && k.cut() {
		k.log.Warn("the memory for unread answers is exceeded: cut the connection with the most bytes")
	}
}
