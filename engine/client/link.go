package client

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/wire"
)

// link is one stream of a session to one node, together with its active calls.
type link[T any] struct {
	to      leader
	peer    *peer
	stream  grpc.ClientStream
	cancel  context.CancelFunc
	batcher *batcher[T]
	end     error         // the reason why the link ended; set before over is closed
	over    chan struct{} // closed when the link has ended
}

// openLink opens a stream to a node. The stream ends when ctx ends. The caller must then set the
// batcher and call start, or call abandon.
func openLink[T any, S grpc.ClientStream](ctx context.Context, c *Client, to leader, open func(context.Context, *peer) (S, error)) (*link[T], S, error) {
	var none S
	p, err := c.peer(to.address)
	if err != nil {
		return nil, none, err
	}
	p.inUse.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(c.timing.openMax, cancel)
	stream, err := open(ctx, p)
	if !late.Stop() && err == nil {
		err = fmt.Errorf("no stream within %v", c.timing.openMax)
	}
	if err != nil {
		cancel()
		p.inUse.Add(-1)
		return nil, none, fmt.Errorf("%s: %w", to.address, err)
	}
	return &link[T]{to: to, peer: p, stream: stream, cancel: cancel, over: make(chan struct{})}, stream, nil
}

// start starts the link's goroutines. receive must return the reason why the link ended. start then
// calls ended.
func (l *link[T]) start(receive func() error, ended func()) {
	go func() {
		err := l.batcher.run()
		if err == nil {
			err = l.stream.CloseSend()
		}
		if err != nil {
			l.batcher.fail(err)
			l.cancel()
		}
	}()
	go func() {
		l.batcher.fail(receive())
		l.cancel()
		l.end = l.batcher.cause()
		l.peer.inUse.Add(-1)
		close(l.over)
		ended()
	}()
}

// abandon ends a link that was not started.
func (l *link[T]) abandon() {
	l.cancel()
	l.peer.inUse.Add(-1)
}

func (l *link[T]) send(f *wire.Frame) error { return l.stream.SendMsg(f) }

// These methods implement linked.

func (l *link[T]) node() leader           { return l.to }
func (l *link[T]) at() string             { return l.peer.address }
func (l *link[T]) leave()                 { l.batcher.close() }
func (l *link[T]) cut()                   { l.cancel() }
func (l *link[T]) ended() <-chan struct{} { return l.over }
func (l *link[T]) reason() error          { return l.end }
