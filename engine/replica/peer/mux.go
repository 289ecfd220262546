// Package peer connects the nodes of a cluster: one TCP listener per node carries the Raft traffic of all groups and the
// calls that nodes make to each other.
//
// Each connection begins with a TLS 1.3 handshake in which both sides show a certificate of the cluster's CA (package certs).
// Then the dialer says which node it is, which node it means and what the connection is for, and the listener accepts or
// refuses with a reason. Each side checks that the certificate of the other one is for the node that it says it is. After
// that the connection belongs to its user: Raft's transport of a group (Mux.Group), or a gRPC server or client of calls
// (Mux.Calls, Mux.DialCalls). Nothing is sent without encryption.
//
// A Mux is safe for concurrent use. A refusal by either side is a *RefusedError; both sides count it and log it,
// at most 20 lines in 10 s.
package peer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/replica/peer/certs"
)

const keepAlive = 15 * time.Second // of TCP

// bounds are the limits of a Mux. Tests have smaller ones.
type bounds struct {
	handshake  time.Duration // of a whole handshake, TLS included
	handshakes int           // under way at once at the listener; further connections are closed
	linger     time.Duration // how long a refused dialer may take to read the reason
	handoff    time.Duration // how long a connection waits for its layer's Accept
	handoffs   int64         // connections of one layer that wait for Accept
	conns      int           // open at once, dialed and accepted
}

var defaults = bounds{handshake: 5 * time.Second, handshakes: 128, linger: time.Second, handoff: 5 * time.Second, handoffs: 64, conns: 16_384}

// Counters count what a Mux did since Listen.
type Counters struct {
	Accepted uint64 // incoming connections whose handshake succeeded
	Dialed   uint64 // outgoing ones
	Refused  uint64 // handshakes that failed here or at the other side, and connections beyond a bound
	Open     uint64 // connections that are open now
}

// Mux is the listener of a node and dials other nodes. Its methods are safe for concurrent use.
type Mux struct {
	bounds      bounds
	node        string
	instance    instance
	credentials func() *certs.Credentials
	peers       map[string]string // never changed
	listener    net.Listener
	advertise   addr
	log         *slog.Logger
	problems    *problemLog
	connect     func(ctx context.Context, network, address string) (net.Conn, error) // a TCP connection
	slots       chan struct{}                                                        // one for each handshake under way at the listener

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup // the goroutines of the listener
	closed  sync.Once

	accepted, dialed, refused atomic.Uint64

	mu      sync.Mutex // guards what follows
	layers  map[place]*layer
	members map[string]string
	conns   map[*conn]struct{}
}

// Listen begins to listen at c.Listen. Connections for a group, or calls, are refused until Group, or Calls, is called.
func Listen(c Config) (*Mux, error) { return listen(c, defaults) }

func listen(c Config, b bounds) (*Mux, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{KeepAlive: keepAlive}).Listen(context.Background(), "tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for peers: %w", err)
	}
	advertise, err := c.advertise(l.Addr())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	m := &Mux{
		bounds: b, node: c.Node, credentials: c.Credentials, peers: maps.Clone(c.Peers), listener: l, advertise: addr(advertise), log: c.Log,
		connect: (&net.Dialer{KeepAlive: keepAlive}).DialContext, slots: make(chan struct{}, b.handshakes), layers: map[place]*layer{}, conns: map[*conn]struct{}{},
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	m.problems = newProblemLog(m.log)
	_, _ = rand.Read(m.instance[:]) // it never fails: it ends the process instead
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.running.Go(m.accept)
	return m, nil
}

// Addr returns the address at which the other nodes reach this one: host:port.
func (m *Mux) Addr() string { return string(m.advertise) }

// Counters returns the counts up to now.
func (m *Mux) Counters() Counters {
	m.mu.Lock()
	open := len(m.conns)
	m.mu.Unlock()
	return Counters{Accepted: m.accepted.Load(), Dialed: m.dialed.Load(), Refused: m.refused.Load(), Open: uint64(open)}
}

// Close stops listening, ends dials and handshakes under way, and closes every connection that was made, those in use too.
func (m *Mux) Close() error {
	var err error
	m.closed.Do(func() {
		m.cancel()
		err = m.listener.Close()
		m.mu.Lock()
		layers := slices.Collect(maps.Values(m.layers))
		m.mu.Unlock()
		for _, l := range layers {
			l.shut()
		}
		m.closeConns(func(*conn) bool { return true })
		m.running.Wait()
	})
	return err
}

// Group returns the stream layer of a group. Until it is closed, each call for the same group returns the same one.
// Closing it closes the group's connections, dialed and accepted.
func (m *Mux) Group(n uint16) raft.StreamLayer {
	return m.layer(place{purpose: forGroup, group: n})
}

// Calls returns the listener that accepts the connections of other nodes for calls. Closing it leaves the connections
// that it accepted open.
func (m *Mux) Calls() net.Listener { return m.layer(place{purpose: forCalls}) }

func (m *Mux) layer(p place) *layer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.layers[p]; l != nil {
		return l
	}
	l := &layer{mux: m, place: p, incoming: make(chan *conn), closed: make(chan struct{})}
	if m.ctx.Err() != nil {
		close(l.closed)
		return l
	}
	m.layers[p] = l
	return l
}

// find returns the layer of a place, or nil.
func (m *Mux) find(p place) *layer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.layers[p]
}

// SetMembers replaces the addresses of the groups' members. ServerAddr and DialCalls use these addresses for nodes that are not
// in Config.Peers.
func (m *Mux) SetMembers(addresses map[string]string) {
	addresses = maps.Clone(addresses)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.members = addresses
}

// address returns where a node is reached: the address of Config.Peers, else given, else that of SetMembers, else "".
func (m *Mux) address(node, given string) string {
	if a := m.peers[node]; a != "" {
		return a
	}
	if given != "" {
		return given
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.members[node]
}

// keep registers a connection, so that Close closes it.
func (m *Mux) keep(c *conn) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.ctx.Err() != nil:
		return net.ErrClosed
	case len(m.conns) >= m.bounds.conns:
		return fmt.Errorf("%d connections are open, which is the most: close some", m.bounds.conns)
	}
	m.conns[c] = struct{}{}
	return nil
}

func (m *Mux) forget(c *conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.conns, c)
}

// closeConns closes the connections for which which returns true.
func (m *Mux) closeConns(which func(*conn) bool) {
	m.mu.Lock()
	var chosen []*conn
	for c := range m.conns {
		if which(c) {
			chosen = append(chosen, c)
		}
	}
	m.mu.Unlock()
	for _, c := range chosen {
		_ = c.abort() // the connection is of no use any more
	}
}
