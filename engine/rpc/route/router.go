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

// forwardedKey is the metadata of a call that another node forwarded. This node executes or refuses such a call, and never
// forwards it again. The key has no other effect.
const forwardedKey = "prony-forwarded"

const (
	// ConnectMax is how long a call waits for a connection to another node before it looks for the leader again.
	ConnectMax = time.Second
	// leadWatch is how often a call that is under way at another node checks whether that node still leads a shard.
	leadWatch = 500 * time.Millisecond
	// ForwardMax is how long another node may take for a call that does not wait.
	ForwardMax = 30 * time.Second
	// forwardsMax is how many calls may be under way at other nodes for the callers of one service here.
	forwardsMax = 4_096
)

// Router forwards the calls of one service to the nodes that lead their shards. It is safe for concurrent use.
type Router struct {
	// RetryMax is how long a call looks for a leader while nothing of the call was done. Set it before the first call.
	RetryMax time.Duration
	// Stopping is closed when the server stops; nil means never. Set it before the first call.
	Stopping <-chan struct{}

	cluster  Cluster
	shards   int
	group    *shard.Group  // the node's own shards
	forwards chan struct{} // has an element for each call under way at another node
}

// New returns a router of a node's calls. The shards are the node's own.
func New(c Cluster, shards *shard.Group) *Router {
	r := newRouter(c, shards.Len())
	r.group = shards
	return r
}

func newRouter(c Cluster, shards int) *Router {
	return &Router{RetryMax: retryMax, cluster: c, shards: shards, forwards: make(chan struct{}, forwardsMax)}
}

// Cluster returns the cluster; nil without a router.
func (r *Router) Cluster() Cluster {
	if r == nil {
		return nil
	}
	return r.cluster
}

// Forwards returns how many calls are under way at other nodes.
func (r *Router) Forwards() int { return len(r.forwards) }

// Shards returns how many shards there are.
func (r *Router) Shards() int { return r.shards }

// Routes reports whether a call may be forwarded: the node is in a cluster, and no other node has forwarded the call.
func (r *Router) Routes(ctx context.Context) bool {
	return r != nil && len(metadata.ValueFromIncomingContext(ctx, forwardedKey)) == 0
}

// leader returns the node that leads a shard, or "" if no leader is known. For a shard that does not exist it returns this node,
// which then refuses the call.
func (r *Router) leader(n int) string {
	if n < 0 || n >= r.shards {
		return r.cluster.Self()
	}
	return r.cluster.Leader(n)
}

// here reports whether a node is this one.
func (r *Router) here(node string) bool { return node == r.cluster.Self() }

// Leaders returns the nodes that lead, this one first and the others by id, and a shard without a known leader, or -1.
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

// nodeAt returns the node that leads a shard and that clients reach at an address, or "" if no such node is known.
func (r *Router) nodeAt(address string) string {
	for i := range r.shards {
		node := r.cluster.Leader(i)
		if m, is := r.cluster.Member(node); is && address != "" && m.Address == address {
			return node
		}
	}
	return ""
}

// noLeader refuses a call for a shard.
func (r *Router) noLeader(n int) error {
	return call.Status(Misrouted(r.cluster, n, &shard.NotLeaderError{Shard: n}))
}

// forward is a call's way to another node. It implements grpc.ClientConnInterface for one call.
type forward struct {
	router  *Router
	node    string
	max     time.Duration // how long it may take; 0: as long as the caller waits, and until the server stops
	sent    bool          // it may have reached the other node
	covered coverage      // of the answer
}

// Invoke implements the interface. It works as gRPC's own Invoke, and notes when the call is sent.
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
	// A node that stopped answering loses its shards to other leaders; then the call ends.
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
	watch.Reset(leadWatch) // only now: it needs itself
	defer watch.Stop()
	if err := stream.SendMsg(in); err != nil {
		return err
	}
	err = stream.RecvMsg(out)
	f.covered = readCoverage(stream.Trailer())
	return err
}

// NewStream implements the interface for streams. It has none of Invoke's bounds.
func (f *forward) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, o ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, done, err := f.open(ctx, d, method, o...)
	if err == nil {
		context.AfterFunc(ctx, done)
	}
	return stream, err
}

// open begins a call with the caller's own authorization. The caller calls done when the call is over.
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

// Target returns a node as a target that may take so long for a call; 0 means as long as the caller waits.
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
