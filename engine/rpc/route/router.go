package route

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
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

// forwardedKey is the metadata key that marks a forwarded call. A node executes or refuses such a
// call, and never forwards it again. The key has no other effect.
const forwardedKey = "prony-forwarded"

const (
	// ConnectMax limits the wait for a connection to another node. After it, the router looks up
	// the leader again.
	ConnectMax = time.Second
	// leadWatch is the interval at which a call at another node checks that the node still leads a
	// shard.
	leadWatch = 500 * time.Millisecond
	// ForwardMax limits the time that a call takes at another node, for calls that do not wait.
	ForwardMax = 30 * time.Second
	// forwardsMax limits the number of calls of one service that are active at other nodes.
	forwardsMax = 4_096
)

// Router forwards the calls of one service to the nodes that lead their shards. It is safe for
// concurrent use.
type Router struct {
	// RetryMax limits the time during which Retry looks for a leader while a call has had no
	// effect. It must be set before the first call.
	RetryMax time.Duration
	// Stopping is closed when the server stops; nil means never. It must be set before the first
	// call.
	Stopping <-chan struct{}

	cluster  Cluster
	shards   int
	group    *shard.Group  // the node's own shards
	forwards chan struct{} // contains one element for each call active at another node
}

// New returns a router for the calls that a node receives. shards are the node's own shards.
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

// Routes reports whether this node may forward a call: the node is in a cluster, and no other node
// has forwarded the call.
func (r *Router) Routes(ctx context.Context) bool {
	return r != nil && len(metadata.ValueFromIncomingContext(ctx, forwardedKey)) == 0
}

// leader returns the node that leads a shard, or "" if unknown. If the shard does not exist, it
// returns this node, which then refuses the call.
func (r *Router) leader(n int) string {
	if n < 0 || n >= r.shards {
		return r.cluster.Self()
	}
	return r.cluster.Leader(n)
}

func (r *Router) here(node string) bool { return node == r.cluster.Self() }

// Leaders returns the nodes that lead at least one shard: first this node, then the others ordered
// by id. orphan is a shard without a known leader, or -1.
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

func (r *Router) allHere() bool {
	for i := range r.shards {
		if !r.here(r.cluster.Leader(i)) {
			return false
		}
	}
	return true
}

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

func (r *Router) noLeader(n int) error {
	return call.Status(Misrouted(r.cluster, n, &shard.NotLeaderError{Shard: n}))
}

// forward sends one call to another node. It implements grpc.ClientConnInterface.
type forward struct {
	router *Router
	node   string
	// max limits the time of the call; 0 means no limit other than the caller's own and the
	// server's stop.
	max     time.Duration
	sent    bool     // the call may have reached the other node
	covered coverage // the coverage in the answer
}

// Invoke implements grpc.ClientConnInterface. It works like gRPC's Invoke, and records that the
// call may have been sent.
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
	// If the node stops answering, other nodes become the leaders of its shards. The call must then
	// end.
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
	watch.Reset(leadWatch) // start the timer only now, since its function uses watch
	defer watch.Stop()
	if err := stream.SendMsg(in); err != nil {
		return err
	}
	err = stream.RecvMsg(out)
	f.covered = readCoverage(stream.Trailer())
	return err
}

// NewStream implements grpc.ClientConnInterface for streams, without the limits of Invoke.
func (f *forward) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, o ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, done, err := f.open(ctx, d, method, o...)
	if err == nil {
		context.AfterFunc(ctx, done)
	}
	return stream, err
}

// open starts a call with the caller's authorization. The caller must call done when the call ends.
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

// Target returns a node as the target of calls. The argument most limits the time of a call; 0
// means no limit other than the caller's own.
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

type forwardsKey struct{}

// WatchForwards returns a context for a call, and a function that reports whether at least a part
// of the call was sent to another node. The function is safe for concurrent use.
func WatchForwards(ctx context.Context) (_ context.Context, forwarded func() bool) {
	sent := new(atomic.Bool)
	return context.WithValue(ctx, forwardsKey{}, sent), sent.Load
}

func noteForward(ctx context.Context) {
	if sent, ok := ctx.Value(forwardsKey{}).(*atomic.Bool); ok {
		sent.Store(true)
	}
}
