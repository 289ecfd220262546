package netproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// connsMax is the maximum number of connections of a link. Further connections are closed
	// immediately.
	connsMax = 128
	// dialTimeout is the timeout for dialing the far node of a link.
	dialTimeout = 5 * time.Second
)

// link is a listener that forwards one node's connections to another node, under the conditions of
// the two directions.
type link struct {
	listener *net.TCPListener
	forward  *direction // from the dialing node to the far node
	back     *direction

	ctx    context.Context // cancelled when the link is closed
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	target string // address of the far node; "" while it does not listen
	conns  map[*conn]struct{}
}

func newLink(forward, back *direction) (*link, error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l := &link{listener: listener, forward: forward, back: back, conns: map[*conn]struct{}{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.work.Go(l.accept)
	return l, nil
}

func (l *link) address() string { return l.listener.Addr().String() }

func (l *link) to(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = address
}

func (l *link) accept() {
	for {
		near, err := l.listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // this connection failed, or the process lacks file descriptors
			if !sleepUntil(time.Now().Add(10*time.Millisecond), l.ctx.Done()) {
				return
			}
			continue
		}
		if c := l.add(near); c != nil {
			l.work.Go(func() {
				defer l.remove(c)
				c.proxy()
			})
		}
	}
}

func (l *link) add(near *net.TCPConn) *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil || len(l.conns) == connsMax || l.target == "" {
		_ = near.Close()
		return nil
	}
	c := &conn{link: l, near: near, target: l.target}
	c.ctx, c.cancel = context.WithCancel(l.ctx)
	l.conns[c] = struct{}{}
	return c
}

func (l *link) remove(c *conn) {
	c.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.abort()
	}
}

func (l *link) close() error {
	err := l.listener.Close()
	l.cancel()
	l.work.Wait()
	return err
}
