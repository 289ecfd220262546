package route

import (
	"context"
	"math"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
)

// forwardedKey is the metadata of a forwarded call. A node executes or refuses such a call, and
// never forwards it again. The key has no other effect.
const forwardedKey = "prony-forwarded"

const (
	// ConnectMax bounds the wait for a connection to another node; then the leader is looked up
	// again.
	ConnectMax = time.Second
	// leadWatch is how often a call at another node checks whether that node still leads a shard.
	leadWatch = 500 * time.Millisecond
	// ForwardMax bounds the time at another node of a call that does not wait.
	ForwardMax = 30 * time.Second
	// forwardsMax bounds the calls of one service that are active at other nodes.
	forwardsMax = 4_096
)

// Router forwards the calls of one service to the nodes that lead their shards. It is safe for
// concurrent use.
type Router struct {
	// RetryMax bounds the search for a leader while a call has had no effect. It must be set before
	// the first call.
	RetryMax time.Duration
	// Stopping is closed when the server stops; nil means never. It must be set before the first
	// call.
	Stopping <-chan struct{}

	cluster  Cluster
	shards   int
	group    *shard.Group  // the node's own shards
	forwards chan struct{} // has an element for each call active at another node
}

// New returns a router of a node's calls; shards are the node's own.
func New(c Cluster, shards *shard.Group) *Router {
	r := newRouter(c, shards.Len())
	r.group = shards
	return r
}

func newRouter(c Cluster, shards int) *Router {
	return &Router{RetryMax: retryMax, cluster: c, shards: shards, forwards: make(chan struct{}, forwardsMax)}
}

// Cluster returns the cluster; nil if r is nil.
func (r *Router) Cluster() Cluster {
	if r == nil {
		return nil
	}
	return r.cluster
}

// Forwards returns the number of calls active at other nodes.
func (r *Router) Forwards() int { return len(r.forwards) }

// Shards returns the number of shards.
func (r *Router) Shards() int { return r.shards }

// Routes reports whether a call may be forwarded: the node is in a cluster, and the call was not
// forwarded to it.
func (r *Router) Routes(ctx context.Context) bool {
	return r != nil && len(metadata.ValueFromIncomingContext(ctx, forwardedKey)) == 0
}

// leader returns the node that leads a shard, or "" if unknown. For a nonexistent shard it returns
// this node, which then refuses the call.
func (r *Router) leader(n int) string {
	if n < 0 || n >= r.shards {
		return r.cluster.Self()
	}
	return r.cluster.Leader(n)
}

// here reports whether node is this node.
func (r *Router) here(node string) bool { return node == r.cluster.Self() }

// Leaders returns the nodes that lead, beginning with this one and then by id, and a shard without
// a known leader, or -1.
func (r *Router) Leaders() (nodes []string, orphan int) {
	orphan = -1
	for i := range r.shards {
		node := r.cluster.Leader(i)
		switch {
		case node == "":
			orphan = i
		case !slices.Contains(nodes, node):
			nodes = append(nodes, node)
		}
	}
	slices.SortFunc(nodes, func(a, b string) int {
		switch {
		case a == b:
			return 0
		case r.here(a) || !r.here(b) && a < b:
			return -1
		}
		return 1
	})
	return nodes, orphan
}

// allHere reports whether this node leads all shards.
func (r *Router) allHere() bool {
	for i := range r.shards {
		if !r.here(r.cluster.Leader(i)) {
			return false
		}
	}
	return true
}

// leads reports whether a node leads a shard.
func (r *Router) leads(node string) bool {
	for i := range r.shards {
		if r.cluster.Leader(i) == node {
			return true
		}
	}
	return false
}

// nodeAt returns the leading node with the given client address, or "" if unknown.
func (r *Router) nodeAt(address string) string {
	for i := range r.shards {
		node := r.cluster.Leader(i)
		if m, is := r.cluster.Member(node); is && address != "" && m.Address == address {
			return node
		}
	}
	return ""
}

// noLeader returns the refusal of a call for a shard without a leader.
func (r *Router) noLeader(n int) error {
	return call.Status(Misrouted(r.cluster, n, &shard.NotLeaderError{Shard: n}))
}

// forward sends one call to another node. It implements grpc.ClientConnInterface.
type forward struct {
	router *Router
	node   string
	// Bounds the call; 0 means as long as the caller waits and the server runs.
	max     time.Duration
	sent    bool     // the call may have reached the other node
	covered coverage // of the answer
}

// Invoke implements grpc.ClientConnInterface like gRPC's Invoke, and records when the call is sent.
func (f *forward) Invoke(ctx context.Context, method string, in, out any, o ...grpc.CallOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if f.max > 0 {
		ctx, cancel = context.WithTimeout(ctx, f.max)
		defer cancel()
	} else {
		over := make(chan struct{})
		defer close(over)
		go func() {
			select {
			case <-f.router.Stopping:
				cancel()
			case <-over:
			}
		}()
	}
	stream, done, err := f.open(ctx, &grpc.StreamDesc{}, method, o...)
	if err != nil {
		return err
	}
	defer done()
	// A node that no longer answers loses its shards to other leaders; the call must then end.
	var watch *time.Timer
	watch = time.AfterFunc(time.Duration(math.MaxInt64), func() {
		switch {
		case ctx.Err() != nil:
		case f.router.leads(f.node):
			watch.Reset(leadWatch)
		default:
			cancel()
		}
	})
	watch.Reset(leadWatch) // started only now, since the function uses watch
	defer watch.Stop()
	if err := stream.SendMsg(in); err != nil {
		return err
	}
	err = stream.RecvMsg(out)
	f.covered = readCoverage(stream.Trailer())
	return err
}

// NewStream implements grpc.ClientConnInterface for streams, without the bounds of Invoke.
func (f *forward) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, o ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, done, err := f.open(ctx, d, method, o...)
	if err == nil {
		context.AfterFunc(ctx, done)
	}
	return stream, err
}

// open begins a call with the caller's authorization. The caller must call done at the end of the
// call.
func (f *forward) open(ctx context.Context, d *grpc.StreamDesc, method string, o ...grpc.CallOption) (_ grpc.ClientStream, done func(), err error) {
	conn, err := f.router.cluster.Conn(f.node)
	if err != nil {
		return nil, nil, status.Errorf(codes.Unavailable, "reach node %s: %v", f.node, err)
	}
	select {
	case f.router.forwards <- struct{}{}:
	default:
		return nil, nil, call.Status(shard.ErrOverloaded)
	}
	done = func() { <-f.router.forwards }
	md := metadata.Pairs(forwardedKey, f.router.cluster.Self())
	md["authorization"] = call.Authorization(ctx)
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(ctx, md))
	connecting := time.AfterFunc(ConnectMax, cancel)
	stream, err := conn.NewStream(ctx, d, method, o...)
	if !connecting.Stop() {
		err = status.Errorf(codes.Unavailable, "connect to node %s: no connection in %v", f.node, ConnectMax)
	}
	if err != nil {
		cancel()
		done()
		return nil, nil, err
	}
	f.sent = true
	noteForward(ctx)
	context.AfterFunc(stream.Context(), cancel)
	return stream, done, nil
}

// Target is a node that executes a call.
type Target struct {
	forward *forward // nil: this node
}

// Target returns a node as the target of calls. most bounds the time of a call; 0 means as long as
// the caller waits.
func (r *Router) Target(node string, most time.Duration) *Target {
	if r.here(node) {
		return &Target{}
	}
	return &Target{&forward{router: r, node: node, max: most}}
}

// Local reports whether the target is this node.
func (t *Target) Local() bool { return t.forward == nil }

// Admins returns a client of the admin service of another node.
func (t *Target) Admins() adminpb.AdminServiceClient { return adminpb.NewAdminServiceClient(t.forward) }

// Queues returns a client of the queue service of another node.
func (t *Target) Queues() queuepb.QueueServiceClient { return queuepb.NewQueueServiceClient(t.forward) }
