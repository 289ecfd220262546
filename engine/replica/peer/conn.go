package peer

import (
	"net"
	"sync/atomic"
)

// Addr is the type of RemoteAddr of every connection of this package: the address of the other side, and the node of its certificate.
// A server of calls gets it from gRPC's peer.FromContext.
type Addr struct {
	net.Addr
	Node string
}

// addr is an address as text.
type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

// conn is a connection. Close of the mux, or of the connection's layer, closes it.
type conn struct {
	net.Conn // TLS over raw, which the user reads and writes; raw itself before the handshake

	raw    net.Conn
	mux    *Mux
	node   string // the node at the other side; "" before the handshake
	layer  *layer // nil before the handshake, and for outgoing calls. Guarded by mux.mu
	closed atomic.Bool
}

// assign ends the handshake: the connection belongs to a node and a layer.
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

// RemoteAddr implements net.Conn: it is an Addr.
func (c *conn) RemoteAddr() net.Addr { return Addr{Addr: c.raw.RemoteAddr(), Node: c.node} }

// Close implements net.Conn.
func (c *conn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.mux.forget(c)
	}
	return c.Conn.Close()
}

// abort closes the connection at once, without TLS's close notification.
func (c *conn) abort() error {
	if c.closed.CompareAndSwap(false, true) {
		c.mux.forget(c)
	}
	return c.raw.Close()
}
