package netproxy

import (
	"context"
	"net"
	"sync"
)

type conn struct {
	link   *link
	near   *net.TCPConn
	target string
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	far     *net.TCPConn // nil until the far node is dialed
	aborted bool
}

func (c *conn) abort() {
	c.mu.Lock()
	c.aborted = true
	_ = c.near.SetLinger(0) // fails only if the connection is closed
	if c.far != nil {
		_ = c.far.SetLinger(0)
	}
	c.mu.Unlock()
	c.cancel()
}

// setFar stores the connection to the far node. If the connection was aborted before, it makes far
// send a reset when it is closed.
func (c *conn) setFar(far *net.TCPConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.far = far
	if c.aborted {
		_ = far.SetLinger(0)
	}
}

func (c *conn) proxy() {
	var work sync.WaitGroup
	defer work.Wait()
	defer c.cancel()
	// Closing a connection ends its pending reads and writes.
	c.atEnd(func() { _ = c.near.Close() })

	forward, back := newPipe(c.link.forward, c.ctx.Done()), newPipe(c.link.back, c.ctx.Done())
	c.atEnd(forward.end)
	c.atEnd(back.end)
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
		c.abort() // reset it, as the far node's host would
		return
	}
	far := dialed.(*net.TCPConn)
	c.setFar(far)
	c.atEnd(func() { _ = far.Close() })
	var both sync.WaitGroup
	write := func(p *pipe, to *net.TCPConn, opposite *direction) func() {
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

func (c *conn) atEnd(do func()) { context.AfterFunc(c.ctx, do) }

// opened waits until both directions pass bytes, as a TCP handshake requires. It returns false if a
// direction resets connections, the sender closes the connection, or the link is closed.
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
