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

// pool contains clients with one connection each. Each request uses one client exclusively, so the
// number of connections is the largest number of requests in flight at the same time. At first the
// clients are evenly spread over the server's nodes. Once an answer has named the leading node,
// they move to it.
type pool struct {
	encrypted *tls.Config // used by all connections; nil without TLS
	nodes     []string    // "http://host:port", or "https://host:port" with TLS

	mu   sync.Mutex
	free []*client
	made int // number of clients
	// leader is the node that the last answer with a leader header named. It is "" before the first
	// such answer, and after the leader failed to answer.
	leader string
}

// client sends requests to one node. It moves to another node when its node fails to answer or an
// answer names another node.
type client struct {
	connection

	node   int    // index of its node; used if leader is ""
	leader string // node that an answer named, or ""
}

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

// leads moves a client to the node at an address. Clients that are created later use that node too.
func (p *pool) leads(c *client, address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.leader = p.url(address)
	p.leader = c.leader
}

// failed moves a client to another node, because its current node did not answer.
func (p *pool) failed(c *client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leader == c.leader {
		p.leader = ""
	}
	c.leader = ""
	c.node++
}

// take returns a client for exclusive use. The caller must return it by giveBack.
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

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.free {
		c.close()
	}
}
