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

// dialTimeout bounds a dial whose caller names no bound.
const dialTimeout = 10 * time.Second

// place is what a connection is for.
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

// layer is where the connections of one place come out.
type layer struct {
	mux      *Mux
	place    place
	incoming chan *conn
	waiting  atomic.Int64 // connections that nobody accepted yet
	closing  sync.Once
	closed   chan struct{}
}

// hand gives a connection to who accepts, for whom it waits a bounded time.
func (l *layer) hand(c *conn) error {
	defer l.waiting.Add(-1)
	if most := l.mux.bounds.handoffs; l.waiting.Add(1) > most {
		return fmt.Errorf("%d connections wait to be accepted already", most)
	}
	patience := time.NewTimer(l.mux.bounds.handoff)
	defer patience.Stop()
	select {
	case l.incoming <- c:
		return nil
	case <-l.closed:
		return net.ErrClosed
	case <-patience.C:
		return fmt.Errorf("nobody accepted it within %s", l.mux.bounds.handoff)
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

// shut ends Accept, and lets a new layer have the place.
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

// Addr implements net.Listener: it is the advertised address.
func (l *layer) Addr() net.Addr { return l.mux.advertise }

// Dial implements raft.StreamLayer. An address that ServerAddr returned names the node, and no other is reached; one that is
// host:port alone reaches whichever node is there.
func (l *layer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if timeout <= 0 {
		timeout = dialTimeout
	}
	ctx, cancel := context.WithTimeout(l.mux.ctx, timeout)
	defer cancel()
	node, to := splitAddress(address)
	return l.mux.dial(ctx, node, to, l)
}

// ServerAddr implements raft.ServerAddressProvider: the address at which Dial reaches a node, and nobody else. It is what
// Config.Peers says, else what SetMembers said, and an error if neither did. For this node it is Addr.
func (m *Mux) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	node := string(id)
	if node == m.node { // what Raft tells the others as the leader's address
		return raft.ServerAddress(m.advertise), nil
	}
	if a := m.address(node, ""); a != "" {
		return joinAddress(node, a), nil
	}
	return "", fmt.Errorf("node %q: neither the configured peers nor the members of the cluster have its address", node)
}

// DialCalls connects to the server for calls of a node, where Config.Peers says it is, else at address, else where SetMembers said.
// An empty node reaches whichever is at the address. It takes at most until ctx ends, and 10 s if that has no deadline.
func (m *Mux) DialCalls(ctx context.Context, node, address string) (net.Conn, error) {
	if node != "" {
		address = m.address(node, address)
	}
	if address == "" {
		return nil, fmt.Errorf("node %q: no address is known", node)
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialTimeout)
		defer cancel()
	}
	return m.dial(ctx, node, address, nil)
}
