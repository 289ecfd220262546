package rest

import (
	"crypto/tls"
	"strings"
	"sync"
)

const (
	bufferBytes = 16 << 10
	scheme      = "http://"
	schemeTLS   = "https://"
)

// pool holds clients of one connection each. A request takes one for itself, so that there are never more connections
// than requests under way at once. The clients begin at equally many of the
// server's nodes, and go to the node that leads once an answer has named it.
type pool struct {
	encrypted *tls.Config // of all connections; nil without TLS
	nodes     []string    // "http://host:port", or with TLS "https://host:port"

	mu     sync.Mutex
	free   []*client
	made   int    // clients
	leader string // as the last answer that named one did; "" before, and after the leader did not answer
}

// client is a client of one node, until that does not answer or names another one.
type client struct {
	connection

	node   int    // the number of its node, if leader is ""
	leader string // where it was sent, or ""
}

// url returns where the node at an address, "host:port", is.
func (p *pool) url(address string) string {
	if p.encrypted != nil {
		return schemeTLS + address
	}
	return scheme + address
}

// hostOf returns the "host:port" of a node's URL.
func hostOf(base string) string {
	_, host, _ := strings.Cut(base, "://")
	return host
}

// base is where a client's node is.
func (p *pool) base(c *client) string {
	if c.leader != "" {
		return c.leader
	}
	return p.nodes[c.node%len(p.nodes)]
}

// leads sends a client, and each client that is made later, to the node at an address, which an answer named.
func (p *pool) leads(c *client, address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.leader = p.url(address)
	p.leader = c.leader
}

// failed sends a client to another node. The one that it asked did not answer.
func (p *pool) failed(c *client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leader == c.leader {
		p.leader = ""
	}
	c.leader = ""
	c.node++
}

// take returns a client for the sole use of the caller until the client is given back.
func (p *pool) take() *client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.free) - 1; last >= 0 {
		c := p.free[last]
		p.free = p.free[:last]
		return c
	}
	c := &client{connection: connection{encrypted: p.encrypted}, node: p.made, leader: p.leader}
	p.made++
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
	for _, c := range p.free {
		c.close()
	}
}
