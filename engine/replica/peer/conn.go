package peer

import (
	"net"
	"sync/atomic"
)

// Addr is what RemoteAddr of every connection of this package is: the address of the other side, and the node that its
// certificate is for. gRPC's peer.FromContext returns it to a server of calls.
type Addr struct {
	net.Addr
	Node string
}

// addr is an address as text.
type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

// conn is a connection that Close of the mux, or of its layer, closes.
type conn struct {
	net.Conn // what its user reads and writes: TLS upon raw; raw itself before the handshake

	raw    net.Conn
	mux    *Mux
	node   string // the node at the other side; "" before the handshake
	layer  *layer // nil before the handshake, and for outgoing calls. Guarded by mux.mu
	closed atomic.Bool
}

// belong ends the handshake: the connection is one of a node, for a layer.
func (c *conn) belong(node string, l *layer) error {
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

// abort closes the connection at once, whatever its user does. TLS says no goodbye then.
func (c *conn) abort() error {
	if c.closed.CompareAndSwap(false, true) {
		c.mux.forget(c)
	}
	return c.raw.Close()
}
