package peer

import (
	"net"
	"sync/atomic"
)

// Addr is the type of the RemoteAddr of every connection of this package. It contains the address
// of the other side and the name of its node, which is in its certificate. A gRPC handler gets it
// from peer.FromContext.
type Addr struct {
	net.Addr
	Node string
}

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

// conn is a connection. It is closed when the mux is closed and, if it belongs to a Raft group,
// when its layer is closed.
type conn struct {
	net.Conn // TLS over raw; before the handshake, raw itself

	raw    net.Conn
	mux    *Mux
	node   string // the node on the other side; "" before the handshake
	layer  *layer // nil before the handshake and for outgoing calls; guarded by mux.mu
	closed atomic.Bool
}

// assign sets the connection's node and layer after the handshake. It fails if the layer is closed.
func (c *conn) assign(node string, l *layer) error {
	c.node = node
	c.mux.mu.Lock()
	defer c.mux.mu.Unlock()
	if l != nil {
		select {
		case <-l.closed:
			return l.closedError()
		default:
		}
	}
	c.layer = l
	return nil
}

// RemoteAddr implements net.Conn. It returns an Addr.
func (c *conn) RemoteAddr() net.Addr { return Addr{Addr: c.raw.RemoteAddr(), Node: c.node} }

// Close implements net.Conn.
func (c *conn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.mux.forget(c)
	}
	return c.Conn.Close()
}

// abort closes the connection immediately, without TLS's close notification.
func (c *conn) abort() error {
	if c.closed.CompareAndSwap(false, true) {
		c.mux.forget(c)
	}
	return c.raw.Close()
}
