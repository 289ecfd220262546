package rest

import (
	"net/http"
	"sync"
)

const bufferBytes = 16 << 10

// pool holds clients of one connection each. A request takes one for itself, so that there are never more connections
// than requests under way at once; a transport shared by all would dial more than it needs. Each client keeps to one of
// the server's nodes, and the nodes have equally many clients.
type pool struct {
	nodes []string // "http://host:port"

	mu   sync.Mutex
	free []*client
	all  []*client
}

// client is a client of one node, until that does not answer.
type client struct {
	http.Client

	node int
}

// base is where a client's node is.
func (p *pool) base(c *client) string { return p.nodes[c.node%len(p.nodes)] }

// take returns a client for the sole use of the caller until the client is given back.
func (p *pool) take() *client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.free) - 1; last >= 0 {
		c := p.free[last]
		p.free = p.free[:last]
		return c
	}
	c := &client{node: len(p.all), Client: http.Client{Transport: &http.Transport{
		MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1,
		DisableCompression: true, ReadBufferSize: bufferBytes, WriteBufferSize: bufferBytes,
	}}}
	p.all = append(p.all, c)
	return c
}

func (p *pool) giveBack(c *client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, c)
}

// close closes all connections that no request uses.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.all {
		c.CloseIdleConnections()
	}
}
