package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/internal/nodeid"
)

// Addresses that ServerAddr returns contain the node's ID, because Raft's transport passes only the
// address to Dial.
const addressSeparator = "@"

func joinAddress(node, address string) raft.ServerAddress {
	return raft.ServerAddress(node + addressSeparator + address)
}

func splitAddress(a raft.ServerAddress) (node, address string) {
	if node, address, ok := strings.Cut(string(a), addressSeparator); ok {
		return node, address
	}
	return "", string(a)
}

// dial connects to a node, or to any node at the address if node is "". l is nil for a connection
// for calls.
func (m *Mux) dial(ctx context.Context, node, address string, l *layer) (net.Conn, error) {
	p := place{purpose: forCalls}
	if l != nil {
		p = l.place
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	c, err := m.open(ctx, node, address, p, l)
	if err == nil {
		m.dialed.Add(1)
		return c, nil
	}
	if m.ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", net.ErrClosed, err)
	}
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		m.refused.Add(1)
		m.problems.refusal("a connection to a peer was refused", err, "address", address, "node", node, "for", p.String())
	}
	if node == "" {
		return nil, fmt.Errorf("dial the node at %s for %s: %w", address, p, err)
	}
	return nil, fmt.Errorf("dial node %s at %s for %s: %w", node, address, p, err)
}

func (m *Mux) open(ctx context.Context, node, address string, p place, l *layer) (*conn, error) {
	if node != "" {
		if err := nodeid.Check(node); err != nil {
			return nil, fmt.Errorf("node %w", err)
		}
	}
	raw, err := m.connect(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, raw: raw, mux: m}
	if err = m.keep(c); err == nil {
		err = m.clientHandshake(ctx, c, node, p)
	}
	if err == nil {
		err = c.assign(c.node, l)
	}
	if err != nil {
		return nil, errors.Join(err, ignoreClosed(c.abort()))
	}
	return c, nil
}

// clientHandshake performs the handshake of an outgoing connection. It stops when ctx ends, or
// after bounds.handshake.
func (m *Mux) clientHandshake(ctx context.Context, c *conn, node string, p place) error {
	ctx, cancel := context.WithTimeout(ctx, m.bounds.handshake)
	defer cancel()
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		// SetDeadline fails only if the connection is closed. A closed connection needs no
		// deadline.
		_ = c.raw.SetDeadline(time.Unix(1, 0))
	})
	err := m.negotiate(ctx, c, node, p)
	if !stop() {
		<-interrupted
		if cause := context.Cause(ctx); err != nil && !isRefused(err) {
			return fmt.Errorf("handshake: %w: %w", cause, err)
		}
		return fmt.Errorf("handshake: %w", context.Cause(ctx))
	}
	return err
}

func (m *Mux) negotiate(ctx context.Context, c *conn, node string, p place) error {
	encrypted, err := m.clientTLS(ctx, c.raw)
	if err != nil {
		return err
	}
	c.Conn = encrypted
	c.node, err = m.clientHello(encrypted, node, p)
	return err
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
