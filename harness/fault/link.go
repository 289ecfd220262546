package fault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// connsMax bounds the connections of a link; one more is closed at once.
	connsMax = 128
	// dialTimeout bounds the dialing of the node at a link's far end.
	dialTimeout = 5 * time.Second
)

// link is where one node reaches another: a listener that passes connections on. What they carry is subject to the
// conditions of the two flows, one for each direction.
type link struct {
	listener *net.TCPListener
	forward  *flow // what the node that dials sends
	back     *flow

	ctx    context.Context // ends with the link
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	target string // where the far node listens; "" until that is known
	conns  map[*conn]struct{}
}

func newLink(forward, back *flow) (*link, error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("open a link: %w", err)
	}
	l := &link{listener: listener, forward: forward, back: back, conns: map[*conn]struct{}{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.work.Go(l.accept)
	return l, nil
}

func (l *link) address() string { return l.listener.Addr().String() }

// to says where the far node listens.
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
		if err != nil { // of this connection, or a lack of descriptors
			if !sleepUntil(time.Now().Add(10*time.Millisecond), l.ctx.Done()) {
				return
			}
			continue
		}
		if c := l.enter(near); c != nil {
			l.work.Go(func() {
				defer l.leave(c)
				c.carry()
			})
		}
	}
}

// enter makes a connection one of the link's, or closes it where it may not be.
func (l *link) enter(near *net.TCPConn) *conn {
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

func (l *link) leave(c *conn) {
	c.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// reset resets all connections.
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

// conn is one connection through a link.
type conn struct {
	link   *link
	near   *net.TCPConn
	target string
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	far     *net.TCPConn // nil until dialed
	aborted bool
}

// abort resets the connection at both ends.
func (c *conn) abort() {
	c.mu.Lock()
	c.aborted = true
	_ = c.near.SetLinger(0) // one that is closed already needs none
	if c.far != nil {
		_ = c.far.SetLinger(0)
	}
	c.mu.Unlock()
	c.cancel()
}

// reached notes the connection to the far node.
func (c *conn) reached(far *net.TCPConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.far = far
	if c.aborted {
		_ = far.SetLinger(0)
	}
}

// carry passes the connection on until it ends.
func (c *conn) carry() {
	var work sync.WaitGroup
	defer work.Wait()
	defer c.cancel()
	// Closing is what ends reads and writes under way.
	c.after(func() { _ = c.near.Close() })

	forward, back := newPipe(c.link.forward, c.ctx.Done()), newPipe(c.link.back, c.ctx.Done())
	c.after(forward.end)
	c.after(back.end)
	gone := make(chan struct{})
	work.Go(func() {
		defer close(gone)
		forward.read(c.near)
	})
	if !c.opened(gone) {
		return
	}
	var dialer net.Dialer
	dialing, cancel := context.WithTimeout(c.ctx, dialTimeout)
	defer cancel()
	dialed, err := dialer.DialContext(dialing, "tcp", c.target)
	if err != nil {
		c.abort() // as the far node's host would refuse it
		return
	}
	far := dialed.(*net.TCPConn)
	c.reached(far)
	c.after(func() { _ = far.Close() })
	var both sync.WaitGroup
	write := func(p *pipe, to *net.TCPConn, opposite *flow) func() {
		return func() {
			if p.write(to, opposite) != nil {
				c.abort()
			}
		}
	}
	both.Go(write(forward, far, c.link.back))
	both.Go(write(back, c.near, c.link.forward))
	work.Go(func() { back.read(far) })
	both.Wait()
}

// after has something done when the connection is over.
func (c *conn) after(do func()) { context.AfterFunc(c.ctx, do) }

// opened waits until the connection can be opened, for which packets must pass both ways. It returns false when it
// can't, when the sender has given it up, and after a reset.
func (c *conn) opened(gone <-chan struct{}) bool {
	for {
		forward, changed := c.link.forward.conditions()
		back, changedBack := c.link.back.conditions()
		switch {
		case forward.Cut == Reset || back.Cut == Reset:
			c.abort()
			return false
		case forward.Cut == Pass && back.Cut == Pass:
			return true
		}
		select {
		case <-changed:
		case <-changedBack:
		case <-gone:
			return false
		case <-c.ctx.Done():
			return false
		}
	}
}
