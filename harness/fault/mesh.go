package fault

import (
	"errors"
	"fmt"
)

// pair is one node and another.
type pair struct{ from, to string }

// Mesh is the network between the nodes of a cluster: a link for each directed pair of them, on loopback. Each node
// is told to reach another by the address of the link from the one to the other. Its methods may be called from any
// goroutine.
type Mesh struct {
	links map[pair]*link
	flows map[pair]*flow
}

// NewMesh opens the links between nodes. The caller closes the mesh.
func NewMesh(nodes []string) (*Mesh, error) {
	m := &Mesh{links: map[pair]*link{}, flows: map[pair]*flow{}}
	for _, from := range nodes {
		for _, to := range nodes {
			if from != to {
				m.flows[pair{from, to}] = newFlow()
			}
		}
	}
	for p := range m.flows {
		l, err := newLink(m.flows[p], m.flows[pair{p.to, p.from}])
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		m.links[p] = l
	}
	return m, nil
}

// PeerAddress returns where one node reaches another that listens at the address real. It is real for a pair that the
// mesh does not know.
func (m *Mesh) PeerAddress(from, to, real string) string {
	l := m.links[pair{from, to}]
	if l == nil {
		return real
	}
	l.to(real)
	return l.address()
}

// Set gives the flow from one node to another new conditions. With Reset all connections between the two are reset.
func (m *Mesh) Set(from, to string, c Conditions) error {
	f := m.flows[pair{from, to}]
	if f == nil {
		return fmt.Errorf("there is no link from %q to %q", from, to)
	}
	f.set(c)
	if c.Cut == Reset {
		m.links[pair{from, to}].reset()
		m.links[pair{to, from}].reset()
	}
	return nil
}

// Bytes returns how many bytes one node's connections have brought to another.
func (m *Mesh) Bytes(from, to string) uint64 {
	f := m.flows[pair{from, to}]
	if f == nil {
		return 0
	}
	return f.passed()
}

// Close ends all connections and frees everything the mesh holds.
func (m *Mesh) Close() error {
	var errs []error
	for p, l := range m.links {
		if err := l.close(); err != nil {
			errs = append(errs, fmt.Errorf("close the link from %s to %s: %w", p.from, p.to, err))
		}
	}
	return errors.Join(errs...)
}
