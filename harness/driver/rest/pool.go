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

// pool holds clients with one connection each. Each request uses one client exclusively, so the
// number of connections is the largest number of concurrent requests. The clients start evenly
// spread over the server's nodes, and move to the leading node once an answer has named it.
type pool struct {
	encrypted *tls.Config // of all connections; nil without TLS
	nodes     []string    // "http://host:port", or with TLS "https://host:port"

	mu   sync.Mutex
	free []*client
	made int // clients
	// leader is the node that the last answer with a leader named; "" before, and after it failed
	// to answer.
	leader string
}

// client is a client of one node, until that node fails to answer or an answer names another one.
type client struct {
	connection

	node   int    // index of its node, used if leader is ""
	leader string // node that an answer named, or ""
}

// url returns the URL of the node at an address, "host:port".
func (p *pool) url(address string) string {
	if p.encrypted != nil {
		return schemeTLS + address
	}
	return scheme + address
}

func hostOf(base string) string {
	_, host, _ := strings.Cut(base, "://")
	return host
}

func (p *pool) base(c *client) string {
	if c.leader != "" {
		return c.leader
	}
	return p.nodes[c.node%len(p.nodes)]
}

// leads moves a client, and all clients that are created later, to the node at an address.
func (p *pool) leads(c *client, address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.leader = p.url(address)
	p.leader = c.leader
}

// failed moves a client to another node, because its node did not answer.
func (p *pool) failed(c *client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leader == c.leader {
		p.leader = ""
	}
	c.leader = ""
	c.node++
}

// take returns a client for exclusive use. The caller must give it back.
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

// close closes the connections of all idle clients.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.free {
		c.close()
	}
}
