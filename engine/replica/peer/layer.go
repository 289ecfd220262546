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

// dialTimeout limits the time of a dial whose caller sets no timeout.
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
	waiting  atomic.Int64 // number of connections that wait for Accept
	closing  sync.Once
	closed   chan struct{}
}

// deliver passes a connection to Accept. It waits for at most bounds.handoff.
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

// Accept implements net.Listener. Its only error is net.ErrClosed, after Close.
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
	if l.place.purpose == forGroup { // Raft's transport does not close its connections
		l.mux.closeConns(func(c *conn) bool { return c.layer == l })
	}
	return nil
}

// shut makes Accept fail and removes the layer from the mux, so that the place can get a new one.
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

// Dial implements raft.StreamLayer. If ServerAddr returned the address, it names a node, and Dial
// refuses any other node. If the address is a plain host:port, Dial accepts any node.
func (l *layer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if timeout <= 0 {
		timeout = dialTimeout
	}
	ctx, cancel := context.WithTimeout(l.mux.ctx, timeout)
	defer cancel()
	node, to := splitAddress(address)
	return l.mux.dial(ctx, node, to, l)
}

// ServerAddr implements raft.ServerAddressProvider. It returns an address with which Dial reaches
// the given node and no other. It uses the address in Config.Peers, or else the address set with
// SetMembers, and fails if neither exists. For this node it returns Addr.
func (m *Mux) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	node := string(id)
	if node == m.node { // Raft's messages contain it as the leader's address
		return raft.ServerAddress(m.advertise), nil
	}
	if a := m.address(node, ""); a != "" {
		return joinAddress(node, a), nil
	}
	return "", fmt.Errorf("node %q: neither the configured peers nor the members of the cluster have its address", node)
}

// DialCalls connects to a node's server for calls. It uses the node's address in Config.Peers, or
// else address, or else the address set with SetMembers. If node is "", any node at the address is
// acceptable. DialCalls fails when ctx ends, or after 10 s if ctx has no deadline.
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
