package client

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc"
	grpcpeer "google.golang.org/grpc/peer"

	"github.com/pronybench/prony/engine/queuepb"
)

// unary sends unary calls to a node that answers. Any node executes a call, but the leader does so without a second hop, and a node
// that lost its connection to the others accepts calls and fails them. So calls stay with one node, preferably a leader, until that
// node fails. gRPC's round robin would spread them.
type unary struct {
	client *Client
	most   time.Duration // how long to try
}

// Invoke implements grpc.ClientConnInterface.
func (c *unary) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	if p := c.client.only.Load(); p != nil {
		return p.conn.Invoke(ctx, method, in, out, options...)
	}
	return c.client.try(ctx, c.most, func(p *peer) (again bool, err error) {
		var reached grpcpeer.Peer
		err = p.conn.Invoke(ctx, method, in, out, append(slices.Clip(options), grpc.Peer(&reached))...)
		if err != nil && (reached.Addr == nil || notLeader(err) != nil) {
			err = undone(err)
		}
		return err != nil && !isFinal(err) && (isUndone(err) || repeatable(method, in)), err
	})
}

// NewStream implements grpc.ClientConnInterface.
func (c *unary) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, options ...grpc.CallOption) (s grpc.ClientStream, err error) {
	if p := c.client.only.Load(); p != nil {
		return p.conn.NewStream(ctx, d, method, options...)
	}
	err = c.client.try(ctx, c.most, func(p *peer) (bool, error) {
		s, err = p.conn.NewStream(ctx, d, method, options...)
		return !isFinal(err), err
	})
	return s, err
}

// repeatable reports whether a call may be executed twice without harm.
func repeatable(method string, in any) bool {
	switch method {
	case queuepb.QueueService_GetTask_FullMethodName, queuepb.QueueService_AwaitResult_FullMethodName,
		queuepb.QueueService_GetRoutes_FullMethodName:
		return true
	}
	enqueue, ok := in.(*queuepb.EnqueueRequest)
	return ok && !slices.ContainsFunc(enqueue.GetTasks(), func(t *queuepb.NewTask) bool { return t.GetIdempotencyKey() == "" })
}

// try makes a call at one node after the other, until one executes or refuses it, or time is over. It goes through all nodes at least
// once, unless ctx ends.
func (c *Client) try(ctx context.Context, most time.Duration, call func(*peer) (again bool, err error)) error {
	var deadline time.Time // counted from the first failure: a call may wait long before that
	pace := pace{of: &c.timing}
	var last error
	for {
		for _, p := range c.order() {
			p.inUse.Add(1)
			again, err := call(p)
			p.inUse.Add(-1)
			if err == nil {
				c.last.Store(p)
				return nil
			}
			last = fmt.Errorf("%s: %w", p.address, err)
			if deadline.IsZero() {
				deadline = time.Now().Add(most)
			}
			if !again || ctx.Err() != nil {
				return last
			}
		}
		if last == nil {
			return ErrClosed
		}
		wait := pace.next()
		if time.Until(deadline) < wait || sleep(ctx, wait, nil) != nil {
			return last
		}
	}
}

// order returns all peers, the one that answered last first.
func (c *Client) order() []*peer {
	peers := c.known()
	if i := slices.Index(peers, c.last.Load()); i > 0 {
		peers[0], peers[i] = peers[i], peers[0]
	}
	return peers
}

// switchPeer makes later calls go to another node than the one in use.
func (c *Client) switchPeer() {
	if peers := c.order(); len(peers) > 1 {
		c.last.Store(peers[1+rand.N(len(peers)-1)])
	}
}

// prefer makes later calls go to a node that leads, if the one in use did not answer or leads nothing.
func (c *Client) prefer(answers []answer, t *table) {
	leads := func(p *peer) bool {
		return slices.ContainsFunc(t.leaders, func(l leader) bool { return l.address == p.address })
	}
	last := c.last.Load()
	answered := slices.ContainsFunc(answers, func(a answer) bool { return a.peer == last })
	if answered && leads(last) {
		return
	}
	for _, a := range answers {
		if leads(a.peer) {
			c.last.Store(a.peer)
			return
		}
	}
	if !answered {
		c.last.Store(answers[0].peer)
	}
}
