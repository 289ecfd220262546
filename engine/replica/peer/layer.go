package peer

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// dialTimeout bounds a dial whose caller sets no timeout.
const dialTimeout = 10 * time.Second

// place is the purpose of a connection.
type place struct {
	purpose purpose
	group   uint16 // 0 for calls
}

type purpose byte

const (
	forGroup purpose = 1
	forCalls purpose = 2
)

func (p place) String() string {
	if p.purpose == forGroup {
		return fmt.Sprintf("group %d", p.group)
	}
	return "calls"
}

// layer accepts and dials the connections of one place.
type layer struct {
	mux      *Mux
	place    place
	incoming chan *conn
	waiting  atomic.Int64 // connections not yet accepted
	closing  sync.Once
	closed   chan struct{}
}

// deliver passes a connection to Accept. It waits at most bounds.handoff.
func (l *layer) deliver(c *conn) error {
	defer l.waiting.Add(-1)
	if most := l.mux.bounds.handoffs; l.waiting.Add(1) > most {
		return fmt.Errorf("too many connections wait to be accepted: expected at most %d", most)
	}
	patience := time.NewTimer(l.mux.bounds.handoff)
	defer patience.Stop()
	select {
	case l.incoming <- c:
		return nil
	case <-l.closed:
		return net.ErrClosed
	case <-patience.C:
		return fmt.Errorf("the connection was not accepted within %s", l.mux.bounds.handoff)
	}
}

// Accept implements net.Listener. Its error is net.ErrClosed, after Close.
func (l *layer) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, l.closedError()
	default:
	}
	select {
	case c := <-l.incoming:
		return c, nil
	case <-l.closed:
		return nil, l.closedError()
	}
}

func (l *layer) closedError() error {
	return fmt.Errorf("listener of peers for %s: %w", l.place, net.ErrClosed)
}

// Close implements net.Listener.
func (l *layer) Close() error {
	l.shut()
	if l.place.purpose == forGroup { // Raft's transport leaves its connections open
		l.mux.closeConns(func(c *conn) bool { return c.layer == l })
	}
	return nil
}

// shut ends Accept and frees the place for a new layer.
func (l *layer) shut() {
	l.closing.Do(func() {
		l.mux.mu.Lock()
		if l.mux.layers[l.place] == l {
			delete(l.mux.layers, l.place)
		}
		l.mux.mu.Unlock()
		close(l.closed)
	})
}

// Addr implements net.Listener. It returns the advertised address.
func (l *layer) Addr() net.Addr { return l.mux.advertise }

// Dial implements raft.StreamLayer. An address that ServerAddr returned names the node, and Dial
// refuses any other node. At a plain host:port address, Dial accepts any node.
func (l *layer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if timeout <= 0 {
		timeout = dialTimeout
	}
	ctx, cancel := context.WithTimeout(l.mux.ctx, timeout)
	defer cancel()
	node, to := splitAddress(address)
	return l.mux.dial(ctx, node, to, l)
}

// ServerAddr implements raft.ServerAddressProvider. It returns the address where Dial reaches
// this node and no other: that of Config.Peers, or else that of SetMembers. It fails if both lack
// the node. For this node it returns Addr.
func (m *Mux) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	node := string(id)
	if node == m.node { // used as the leader's address in Raft's messages
		return raft.ServerAddress(m.advertise), nil
	}
	if a := m.address(node, ""); a != "" {
		return joinAddress(node, a), nil
	}
	return "", fmt.Errorf("node %q: neither the configured peers nor the members of the cluster have its address", node)
}

// DialCalls connects to a node's server for calls. It uses the address in Config.Peers, or else
// address, or else that of SetMembers. If node is "", any node at the address is acceptable.
// DialCalls ends with ctx, or after 10 s if ctx has no deadline.
func (m *Mux) DialCalls(ctx context.Context, node, address string) (net.Conn, error) {
	if node != "" {
		address = m.address(node, address)
	}
	if address == "" {
		return nil, fmt.Errorf("node %q: unknown address", node)
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialTimeout)
		defer cancel()
	}
	return m.dial(ctx, node, address, nil)
}
