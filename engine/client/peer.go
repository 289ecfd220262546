package client

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/queuepb"
)

type peer struct {
	address    string
	conn       *grpc.ClientConn
	handshakes handshakes
	api        queuepb.QueueServiceClient
	seed       bool
	alone      []*peer      // a list that contains only this peer
	inUse      atomic.Int32 // number of links and calls that use this peer
}

// Invoke implements grpc.ClientConnInterface.
func (p *peer) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	err := p.conn.Invoke(ctx, method, in, out, options...)
	if err != nil {
		return p.handshakes.explain(err)
	}
	return nil
}

// NewStream implements grpc.ClientConnInterface.
func (p *peer) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := p.conn.NewStream(ctx, d, method, options...)
	if err != nil {
		return nil, p.handshakes.explain(err)
	}
	return s, nil
}

// peer returns the peer with the given address. It creates the peer if the client does not know it
// yet.
func (c *Client) peer(address string) (*peer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("dial %s: %w", address, ErrClosed)
	}
	if i := slices.IndexFunc(c.peers, func(p *peer) bool { return p.address == address }); i >= 0 {
		return c.peers[i], nil
	}
	if len(c.peers) >= peersMax {
		return nil, fmt.Errorf("dial %s: the client already has connections to %d addresses", address, peersMax)
	}
	p := &peer{address: address, seed: slices.Contains(c.seeds, address)}
	var err error
	if p.conn, err = connect(address, &c.timing, c.options, &p.handshakes); err != nil {
		return nil, err
	}
	p.api, p.alone = queuepb.NewQueueServiceClient(p), []*peer{p}
	c.peers = append(c.peers, p)
	return p, nil
}

func (c *Client) known() []*peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.peers)
}

// forget closes connections, except those to seeds, to addresses in keep, and those in use.
func (c *Client) forget(keep []leader) {
	c.mu.Lock()
	var gone []*peer
	c.peers = slices.DeleteFunc(c.peers, func(p *peer) bool {
		out := !p.seed && p.inUse.Load() == 0 && !slices.ContainsFunc(keep, func(l leader) bool { return l.address == p.address })
		if out {
			gone = append(gone, p)
		}
		return out
	})
	c.mu.Unlock()
	for _, p := range gone {
		_ = p.conn.Close() // the connection has no active calls
	}
}
