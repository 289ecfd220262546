// Package netproxy is the network between the nodes of a cluster under test: TCP proxies on
// loopback that lose, delay and slow what one node sends to another.
//
// A Mesh has one link for each node that reaches another. The node dials the link's address; the
// link dials the other node and copies. Conditions belong to a direction, not to a connection: what
// n1 sends to n2 meets the same conditions whether n1 or n2 opened the connection.
//
//	mesh := netproxy.New()
//	defer mesh.Close()
//	address, err := mesh.Address("n1", "n2") // give it to n1 as the address of n2
//	mesh.Listens("n2", "127.0.0.1:7001")     // where n2 really listens
//	mesh.Set("n1", "n2", netproxy.Conditions{Cut: netproxy.Drop})
//
// All methods of a Mesh are safe for concurrent use.
package netproxy

import (
	"errors"
	"fmt"
	"sync"
)

// pair is an ordered pair of nodes.
type pair struct{ from, to string }

func (p pair) reversed() pair { return pair{p.to, p.from} }

// Mesh is the network between the nodes of a cluster. The caller must call Close.
type Mesh struct {
	mu         sync.Mutex
	links      map[pair]*link
	directions map[pair]*direction
	listens    map[string]string // address of each node; empty while the node does not listen
}

// New returns a network without nodes. Using a node's name adds the node.
func New() *Mesh {
	return &Mesh{links: map[pair]*link{}, directions: map[pair]*direction{}, listens: map[string]string{}}
}

// Address returns the address that one node must dial to reach another. It never changes. The link
// closes connections until Listens sets the address of the other node.
func (m *Mesh) Address(from, to string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := pair{from, to}
	if l := m.links[p]; l != nil {
		return l.address(), nil
	}
	l, err := newLink(m.directionLocked(p), m.directionLocked(p.reversed()))
	if err != nil {
		return "", fmt.Errorf("link from %s to %s: %w", from, to, err)
	}
	l.to(m.listens[to])
	m.links[p] = l
	return l.address(), nil
}

// Listens sets the address of a node. An empty address means that the node is down: all its
// connections are reset.
func (m *Mesh) Listens(node, address string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listens[node] = address
	for p, l := range m.links {
		if p.to == node {
			l.to(address)
		}
		if address == "" && (p.to == node || p.from == node) {
			l.reset()
		}
	}
}

// Set sets the conditions of one direction. Cut Reset resets all connections between the two nodes.
func (m *Mesh) Set(from, to string, c Conditions) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := pair{from, to}
	m.directionLocked(p).set(c)
	if c.Cut != Reset {
		return
	}
	for _, p := range []pair{p, p.reversed()} {
		if l := m.links[p]; l != nil {
			l.reset()
		}
	}
}

// Drop drops all bytes from one node to another until the direction is set again or healed.
func (m *Mesh) Drop(from, to string) { m.Set(from, to, Conditions{Cut: Drop}) }

// Isolate drops all bytes between a node and the others, in both directions. The node may be among
// the others.
func (m *Mesh) Isolate(node string, others ...string) {
	for _, other := range others {
		if other != node {
			m.Drop(node, other)
			m.Drop(other, node)
		}
	}
}

// Heal removes the conditions of all directions.
func (m *Mesh) Heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.directions {
		d.set(Conditions{})
	}
}

// Close ends all connections and returns when all goroutines of the mesh have ended.
func (m *Mesh) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for p, l := range m.links {
		if err := l.close(); err != nil {
			errs = append(errs, fmt.Errorf("close the link from %s to %s: %w", p.from, p.to, err))
		}
	}
	return errors.Join(errs...)
}

// directionLocked returns the direction of a pair. The caller holds m.mu.
func (m *Mesh) directionLocked(p pair) *direction {
	d := m.directions[p]
	if d == nil {
		d = newDirection()
		m.directions[p] = d
	}
	return d
}
