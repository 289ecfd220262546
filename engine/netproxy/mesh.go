// Package netproxy simulates the network between the nodes of a cluster under test. Its TCP proxies
// on loopback drop, delay and rate-limit the bytes that one node sends to another.
//
// A Mesh has one link for each ordered pair of nodes. The first node dials the address of the link;
// the link dials the second node and copies the bytes. Conditions apply to a direction, not to a
// connection: the same conditions apply to bytes from n1 to n2 whether n1 or n2 opened the
// connection.
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

type pair struct{ from, to string }

func (p pair) reversed() pair { return pair{p.to, p.from} }

// Mesh is the network between the nodes of a cluster. The caller must call Close.
type Mesh struct {
	mu         sync.Mutex
	links      map[pair]*link
	directions map[pair]*direction
	listens    map[string]string // address of each node; "" while the node does not listen
}

// New returns a network without nodes. A node is added when its name is first used.
func New() *Mesh {
	return &Mesh{links: map[pair]*link{}, directions: map[pair]*direction{}, listens: map[string]string{}}
}

// Address returns the address that the node from must dial to reach the node to. The address never
// changes. Connections to it are closed until Listens sets the address of the node to.
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

// Listens sets the address of a node. An empty address means that the node is down. All connections
// from and to the node are then reset.
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

// Set sets the conditions of one direction. If c.Cut is Reset, Set resets all connections between
// the two nodes.
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

// Drop drops all bytes from one node to another, until Set or Heal changes the conditions.
func (m *Mesh) Drop(from, to string) { m.Set(from, to, Conditions{Cut: Drop}) }

// Isolate drops all bytes between a node and the others, in both directions. It ignores the node in
// others.
func (m *Mesh) Isolate(node string, others ...string) {
	for _, other := range others {
		if other != node {
			m.Drop(node, other)
			m.Drop(other, node)
		}
	}
}

// Heal sets all directions to the conditions of a healthy network.
func (m *Mesh) Heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.directions {
		d.set(Conditions{})
	}
}

// Close closes all connections, and returns when all goroutines of the mesh have ended.
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

func (m *Mesh) directionLocked(p pair) *direction {
	d := m.directions[p]
	if d == nil {
		d = newDirection()
		m.directions[p] = d
	}
	return d
}
