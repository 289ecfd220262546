// Package links carries the connections between the nodes of a cluster under test, so that a test can cut what one
// node sends to another.
//
// A link is a TCP proxy that one node dials to reach another. What is held in one direction is held in every
// connection between the two, whoever dialed it: as on a network that loses the packets of one direction, nothing is
// lost of a connection that lives until the direction opens again, and neither side is told.
package links

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// chunkBytes is how much one connection carries at once, and so about what it may have in hand when it is held.
const chunkBytes = 64 << 10

// Net is the links of one cluster. Its methods are safe for concurrent use.
type Net struct {
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	gates map[pair]*gate
	links map[pair]*link
	at    map[string]string // where a node listens; empty while it does not
}

// pair is a direction: what goes from one node to another.
type pair struct{ from, to string }

// link is where one node reaches another.
type link struct {
	pair
	listener net.Listener

	mu    sync.Mutex
	conns map[net.Conn]func() // what ends a connection that the node dialed
}

// New returns links between no nodes.
func New() *Net {
	ctx, cancel := context.WithCancel(context.Background())
	return &Net{ctx: ctx, cancel: cancel, gates: map[pair]*gate{}, links: map[pair]*link{}, at: map[string]string{}}
}

// Address returns where a node reaches another: always the same for the two. Connections are refused until At says
// where the other listens.
func (n *Net) Address(from, to string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := pair{from, to}
	if l, found := n.links[p]; found {
		return l.listener.Addr().String(), nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("link %s to %s: %w", from, to, err)
	}
	l := &link{pair: p, listener: listener, conns: map[net.Conn]func(){}}
	n.links[p] = l
	n.running.Go(func() { n.serve(l) })
	return listener.Addr().String(), nil
}

// At says where a node listens; empty means that it does not, and its connections are reset.
func (n *Net) At(node, address string) {
	n.mu.Lock()
	n.at[node] = address
	n.mu.Unlock()
	if address == "" {
		n.reset(func(p pair) bool { return p.from == node || p.to == node })
	}
}

// Hold holds what one node sends to another. What it sent and was not delivered waits.
func (n *Net) Hold(from, to string) { n.gate(pair{from, to}).hold() }

// Open delivers what was held, and what comes.
func (n *Net) Open(from, to string) { n.gate(pair{from, to}).open() }

// Isolate holds what a node sends to all others, and what they send to it.
func (n *Net) Isolate(node string, others ...string) {
	for _, other := range others {
		if other != node {
			n.Hold(node, other)
			n.Hold(other, node)
		}
	}
}

// Heal opens all directions.
func (n *Net) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, g := range n.gates {
		g.open()
	}
}

// Reset cuts the connections between two nodes; they may dial again.
func (n *Net) Reset(a, b string) {
	n.reset(func(p pair) bool { return p == pair{a, b} || p == pair{b, a} })
}

// Close cuts everything, and returns when nothing runs any more.
func (n *Net) Close() {
	n.cancel()
	n.mu.Lock()
	for _, l := range n.links {
		_ = l.listener.Close()
	}
	n.mu.Unlock()
	n.reset(func(pair) bool { return true })
	n.running.Wait()
}

func (n *Net) reset(which func(pair) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for p, l := range n.links {
		if which(p) {
			l.cut()
		}
	}
}

func (n *Net) gate(p pair) *gate {
	n.mu.Lock()
	defer n.mu.Unlock()
	g, found := n.gates[p]
	if !found {
		g = newGate()
		n.gates[p] = g
	}
	return g
}

// serve accepts a node's connections until the link is closed.
func (n *Net) serve(l *link) {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return
		}
		n.running.Go(func() { n.carry(l, c) })
	}
}

// carry connects a node's connection with the other node, and returns when it has ended.
func (n *Net) carry(l *link, c net.Conn) {
	defer c.Close() //nolint:errcheck // it may have been cut
	n.mu.Lock()
	address := n.at[l.to]
	n.mu.Unlock()
	if address == "" {
		return
	}
	var dialer net.Dialer
	other, err := dialer.DialContext(n.ctx, "tcp", address)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(n.ctx)
	end := func() { // one direction's end is the connection's
		cancel()
		_, _ = c.Close(), other.Close()
	}
	defer end()
	l.mu.Lock()
	l.conns[c] = end
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.conns, c)
		l.mu.Unlock()
	}()
	if ctx.Err() != nil { // closed before the connection was known
		return
	}
	var both sync.WaitGroup
	both.Go(func() { defer end(); n.gate(l.pair).pass(ctx, other, c) })
	both.Go(func() { defer end(); n.gate(pair{l.to, l.from}).pass(ctx, c, other) })
	both.Wait()
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, end := range l.conns {
		end()
	}
}

// gate is open or holds what would pass.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // closed while the gate is open
}

func newGate() *gate {
	g := &gate{opened: make(chan struct{})}
	close(g.opened)
	return g
}

func (g *gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.opened:
		g.opened = make(chan struct{})
	default:
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.opened:
	default:
		close(g.opened)
	}
}

func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	select {
	case <-opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pass copies until a side is closed. What was read while the gate was open and not yet written is held as well.
func (g *gate) pass(ctx context.Context, to, from net.Conn) {
	buffer := make([]byte, chunkBytes)
	for {
		read, err := from.Read(buffer)
		if g.wait(ctx) != nil {
			return
		}
		if _, failed := to.Write(buffer[:read]); errors.Join(err, failed) != nil {
			return
		}
	}
}
