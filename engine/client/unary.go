package client

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// unary sends unary calls to a node that answers. Any node can execute a call, but the leader does
// so without forwarding it, and a node that has lost its connection to the others accepts calls and
// fails them. Therefore all calls go to one node, preferably a leader, until that node fails.
// gRPC's round robin would distribute them over all nodes.
type unary struct {
	client *Client
	most   time.Duration // maximum time for retries
}

// Invoke implements grpc.ClientConnInterface.
func (c *unary) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	return c.client.try(ctx, c.most, func(p *peer) (again bool, err error) {
		sent, err := p.invoke(ctx, method, in, out, options)
		if err != nil && (!sent || notLeader(err) != nil) {
			err = undone(err)
		}
		return err != nil && !isFinal(err) && !isRefusal(err) && (isUndone(err) || repeatable(method, in)), err
	})
}

// reach records whether a call was sent. Its parts are reused.
type reach struct {
	to      grpcpeer.Peer
	options []grpc.CallOption
}

var reaches = sync.Pool{New: func() any { return &reach{} }}

// invoke makes a call. sent is false if the call was certainly not sent.
func (p *peer) invoke(ctx context.Context, method string, in, out any, options []grpc.CallOption) (sent bool, err error) {
	r, _ := reaches.Get().(*reach)
	r.options = append(append(r.options, options...), grpc.Peer(&r.to))
	err = p.Invoke(ctx, method, in, out, r.options...)
	sent = r.to.Addr != nil
	clear(r.options)
	*r = reach{options: r.options[:0]}
	reaches.Put(r)
	return sent, err
}

// NewStream implements grpc.ClientConnInterface.
func (c *unary) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, options ...grpc.CallOption) (s grpc.ClientStream, err error) {
	err = c.client.try(ctx, c.most, func(p *peer) (bool, error) {
		s, err = p.NewStream(ctx, d, method, options...)
		if err != nil {
			err = undone(err) // nothing was sent
		}
		return !isFinal(err), err
	})
	return s, err
}

func repeatable(method string, in any) bool {
	switch method {
	case queuepb.QueueService_GetTask_FullMethodName, queuepb.QueueService_AwaitResult_FullMethodName,
		queuepb.QueueService_ListDependencies_FullMethodName, queuepb.QueueService_GetRoutes_FullMethodName:
		return true
	}
	enqueue, ok := in.(*queuepb.EnqueueRequest)
	return ok && !slices.ContainsFunc(enqueue.GetTasks(), func(t *queuepb.NewTask) bool {
		u := t.GetUnique()
		return t.GetIdempotencyKey() == "" || u.GetScope() > queuepb.UniqueScope_UNIQUE_SCOPE_FOR_A_TIME || u.GetConflict() > queuepb.UniqueConflict_UNIQUE_CONFLICT_FIRST
	})
}

// try makes a call at one node after another, until one executes or refuses it, or the time has
// passed. It tries each node at least once, unless ctx ends. If the TLS handshakes with all nodes
// were refused, it tries each only once. The error is an undoneError only if certainly no try has
// taken effect.
func (c *Client) try(ctx context.Context, most time.Duration, call func(*peer) (again bool, err error)) error {
	var deadline time.Time // set at the first failure, since a call may wait long before that
	pace := pace{of: &c.timing}
	var last, doubtful error // doubtful is the error of a try that may have taken effect
	failed := func() error {
		if doubtful != nil && isUndone(last) {
			return fmt.Errorf("%w; the last try: %s", doubtful, last.Error())
		}
		return last
	}
	for {
		peers := c.order()
		if len(peers) == 0 {
			if last == nil {
				return ErrClosed
			}
			return failed()
		}
		hopeless := true
		for _, p := range peers {
			p.inUse.Add(1)
			again, err := call(p)
			p.inUse.Add(-1)
			if err == nil {
				c.last.Store(p)
				return nil
			}
			if last = err; len(peers) > 1 {
				last = fmt.Errorf("%s: %w", p.address, err)
			}
			if !isUndone(err) {
				doubtful = last
			}
			hopeless = hopeless && isHandshakeRefused(err)
			if deadline.IsZero() {
				deadline = time.Now().Add(most)
			}
			if !again || ctx.Err() != nil || len(peers) == 1 && !isUndone(err) && !brokeOff(err) {
				return failed()
			}
		}
		wait := pace.next()
		if hopeless || time.Until(deadline) < wait || sleep(ctx, wait, nil) != nil {
			return failed()
		}
	}
}

// brokeOff reports whether a call ended because its connection broke, or because a server stopped
// or lost the lead. After any other error, another node may execute the call, but the same node
// will not.
func brokeOff(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.Aborted
}

// order returns all peers. The first one is the peer that answered last.
func (c *Client) order() []*peer {
	if p := c.only.Load(); p != nil {
		return p.alone
	}
	peers := c.known()
	if i := slices.Index(peers, c.last.Load()); i > 0 {
		peers[0], peers[i] = peers[i], peers[0]
	}
	return peers
}

func (c *Client) switchPeer() {
	if peers := c.order(); len(peers) > 1 {
		c.last.Store(peers[1+rand.N(len(peers)-1)])
	}
}

// prefer makes later calls go to a node that leads, if the current node did not answer or leads no
// shard.
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
