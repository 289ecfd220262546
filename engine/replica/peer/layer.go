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

// layer accepts and dials the connections of one place.
type layer struct {
	mux      *Mux
	place    place
	incoming chan *conn
	waiting  atomic.Int64 // connections that are not accepted yet
	closing  sync.Once
	closed   chan struct{}
}

// deliver gives a connection to Accept, for which it waits at most bounds.handoff.
func (l *layer) deliver(c *conn) error {
	defer l.waiting.Add(-1)
	if most := l.mux.bounds.handoffs; l.waiting.Add(1) > most {
		return fmt.Errorf("%d connections already wait to be accepted, which is the most", most)
	}
	patience := time.NewTimer(l.mux.bounds.handoff)
	defer patience.Stop()
	select {
	case l.incoming <- c:
		return nil
	case <-l.closed:
		return net.ErrClosed
	case <-patience.C:
		return fmt.Errorf("it was not accepted within %s", l.mux.bounds.handoff)
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

// shut ends Accept, and frees the place for a new layer.
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

// Dial implements raft.StreamLayer. An address that ServerAddr returned names the node, and Dial refuses any other node;
// at an address that is host:port alone Dial accepts any node.
func (l *layer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if timeout <= 0 {
		timeout = dialTimeout
	}
	ctx, cancel := context.WithTimeout(l.mux.ctx, timeout)
	defer cancel()
	node, to := splitAddress(address)
	return l.mux.dial(ctx, node, to, l)
}

// ServerAddr implements raft.ServerAddressProvider: the address at which Dial reaches a node and no other. It comes from
// Config.Peers, else from SetMembers; it is an error if neither has it. For this node it is Addr.
func (m *Mux) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	node := string(id)
	if node == m.node { // the leader's address in Raft's messages
		return raft.ServerAddress(m.advertise), nil
	}
	if a := m.address(node, ""); a != "" {
		return joinAddress(node, a), nil
	}
	return "", fmt.Errorf("node %q: neither the configured peers nor the members of the cluster have its address", node)
}

// DialCalls connects to a node's server for calls, at the address of Config.Peers, else at address, else at that of SetMembers. If node is
// "", any node at the address will do. DialCalls ends with ctx, or after 10 s if ctx has no deadline.
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
