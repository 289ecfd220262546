// Package peer connects the nodes of a cluster. Each node has one TCP listener for the Raft traffic
// of all groups and the calls between nodes.
//
// Each connection starts with a TLS 1.3 handshake in which both sides present a certificate of the
// cluster's CA (package certs). The dialer then sends its own node ID, the node ID that it wants to
// reach, and the purpose of the connection. The listener accepts the connection, or refuses it with
// a reason. Each side checks that the other side's certificate is for the node that it claims to
// be. After that, the connection belongs to its user: the Raft transport of a group (Mux.Group), a
// gRPC server (Mux.Calls) or a gRPC client (Mux.DialCalls). Nothing is sent unencrypted.
//
// A Mux is safe for concurrent use. A refusal by either side is a *RefusedError. Both sides count
// refusals and log them, at most 20 lines in 10 s.
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

const keepAlive = 15 * time.Second // TCP keep-alive period

// bounds are the limits of a Mux. Tests use smaller values.
type bounds struct {
	handshake time.Duration // maximum duration of a handshake, including TLS
	// handshakes is the maximum number of concurrent handshakes at the listener; further
	// connections are closed.
	handshakes int
	linger     time.Duration // maximum time that a refused dialer has to read the reason
	handoff    time.Duration // maximum time that a connection waits for its layer's Accept
	handoffs   int64         // maximum number of connections of one layer that wait for Accept
	conns      int           // maximum number of open connections, dialed and accepted
}

var defaults = bounds{handshake: 5 * time.Second, handshakes: 128, linger: time.Second, handoff: 5 * time.Second, handoffs: 64, conns: 16_384}

// Counters are the numbers of events of a Mux since Listen.
type Counters struct {
	Accepted uint64 // incoming connections whose handshake succeeded
	Dialed   uint64 // outgoing connections whose handshake succeeded
	Refused  uint64 // handshakes that failed on either side, and connections beyond a limit
	Open     uint64 // currently open connections
}

// Mux is the listener of a node. It also dials other nodes. Its methods are safe for concurrent
// use.
type Mux struct {
	bounds      bounds
	node        string
	instance    instance
	credentials func() *certs.Credentials
	peers       map[string]string // never modified
	listener    net.Listener
	advertise   addr
	log         *slog.Logger
	problems    *problemLog
	// connect opens a TCP connection to another node.
	connect func(ctx context.Context, network, address string) (net.Conn, error)
	// slots contains one element for each handshake in progress at the listener.
	slots chan struct{}

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup // the goroutines of the listener
	closed  sync.Once

	accepted, dialed, refused atomic.Uint64

	mu      sync.Mutex // guards layers, members and conns
	layers  map[place]*layer
	members map[string]string
	conns   map[*conn]struct{}
}

// Listen starts listening at c.Listen. It refuses connections for a group until Group is called for
// that group, and connections for calls until Calls is called.
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
	_, _ = rand.Read(m.instance[:]) // rand.Read never fails: it ends the process instead
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.running.Go(m.accept)
	return m, nil
}

// Addr returns the host:port that other nodes dial to reach this node.
func (m *Mux) Addr() string { return string(m.advertise) }

// Counters returns the current values of the counters.
func (m *Mux) Counters() Counters {
	m.mu.Lock()
	open := len(m.conns)
	m.mu.Unlock()
	return Counters{Accepted: m.accepted.Load(), Dialed: m.dialed.Load(), Refused: m.refused.Load(), Open: uint64(open)}
}

// Close stops listening, ends dials and handshakes in progress, and closes all connections,
// including those in use.
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

// Group returns the stream layer of a group. Each call for the same group returns the same layer,
// until that layer is closed. Closing the layer closes the group's dialed and accepted connections.
func (m *Mux) Group(n uint16) raft.StreamLayer {
	return m.layer(place{purpose: forGroup, group: n})
}

// Calls returns the listener for calls from other nodes. Closing the listener does not close the
// connections that it has accepted.
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

func (m *Mux) find(p place) *layer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.layers[p]
}

// SetMembers replaces the known addresses of members. ServerAddr and DialCalls use them for nodes
// that are not in Config.Peers.
func (m *Mux) SetMembers(addresses map[string]string) {
	addresses = maps.Clone(addresses)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.members = addresses
}

// address returns a node's address. It uses the address in Config.Peers, or else given, or else the
// address set with SetMembers. If there is none, it returns "".
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

// keep registers a connection so that the mux can close it. It fails if the mux is closed or has
// too many connections.
func (m *Mux) keep(c *conn) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.ctx.Err() != nil:
		return net.ErrClosed
	case len(m.conns) >= m.bounds.conns:
		return fmt.Errorf("too many open connections: expected at most %d", m.bounds.conns)
	}
	m.conns[c] = struct{}{}
	return nil
}

func (m *Mux) forget(c *conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.conns, c)
}

// closeConns aborts the connections that the function which selects.
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
		_ = c.abort() // the connection is no longer needed
	}
}
