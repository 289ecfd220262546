package rpc

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

// forwardedKey is the metadata of a call that another node handed on. Such a call is carried out here or refused: it is
// never handed on again. Nothing else follows from it.
const forwardedKey = "prony-forwarded"

const (
	// huntMax is how long a call looks for the node that leads, while nothing of it was done.
	huntMax = 5 * time.Second
	// Pauses before it looks again.
	huntPauseMin = 20 * time.Millisecond
	huntPauseMax = 100 * time.Millisecond
	// connectMax is how long a call waits for a connection to another node, before it looks again who leads.
	connectMax = time.Second
	// leadWatch is how often a call that is under way at another node looks whether that node still leads anything.
	leadWatch = 500 * time.Millisecond
	// forwardMax is how long another node may take for a call that does not wait for anything.
	forwardMax = 30 * time.Second
	// forwardsMax is how many calls may be under way at other nodes for the callers of one service here.
	forwardsMax = 4_096
)

// router hands calls on to the nodes of a cluster that lead what they are for. It is safe for concurrent use.
type router struct {
	cluster  Cluster
	shards   int
	group    *shard.Group    // this node's; set where calls are for all shards
	stopping <-chan struct{} // closed when the server stops
	forwards chan struct{}   // has an element for each call under way at another node
	huntMax  time.Duration
}

func newRouter(c Cluster, shards int, stopping <-chan struct{}) *router {
	return &router{cluster: c, shards: shards, stopping: stopping, forwards: make(chan struct{}, forwardsMax), huntMax: huntMax}
}

// routes tells whether a call may go to other nodes: there are some, and none has handed it on.
func (r *router) routes(ctx context.Context) bool {
	return r != nil && len(metadata.ValueFromIncomingContext(ctx, forwardedKey)) == 0
}

// leader returns the node that leads a shard, "" if nobody is known to. What is for a shard that there is not, this
// node refuses.
func (r *router) leader(n int) string {
	if n < 0 || n >= r.shards {
		return r.cluster.Self()
	}
	return r.cluster.Leader(n)
}

// here tells whether a node is this one.
func (r *router) here(node string) bool { return node == r.cluster.Self() }

// leaders returns the nodes that lead, this one first and the others by id, and a shard that nobody is known to lead,
// or -1.
func (r *router) leaders() (nodes []string, orphan int) {
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

// allHere tells whether this node leads all shards.
func (r *router) allHere() bool {
	for i := range r.shards {
		if !r.here(r.cluster.Leader(i)) {
			return false
		}
	}
	return true
}

// leads tells whether a node leads anything.
func (r *router) leads(node string) bool {
	for i := range r.shards {
		if r.cluster.Leader(i) == node {
			return true
		}
	}
	return false
}

// nodeAt returns the node that leads something and whose clients connect at an address; "" if there is none.
func (r *router) nodeAt(address string) string {
	for i := range r.shards {
		node := r.cluster.Leader(i)
		if m, is := r.cluster.Member(node); is && address != "" && m.Address == address {
			return node
		}
	}
	return ""
}

// noLeader refuses a call for a shard.
func (r *router) noLeader(n int) error {
	return statusOf(elsewhere(r.cluster, n, &shard.NotLeaderError{Shard: n}))
}

// hunt bounds how long a call looks for who leads.
type hunt struct {
	router *router
	until  time.Time
	pause  time.Duration
}

func (r *router) hunt() *hunt {
	return &hunt{router: r, until: time.Now().Add(r.huntMax), pause: huntPauseMin}
}

// again waits a little, and tells whether it is worth looking again: there is time left.
func (h *hunt) again(ctx context.Context) bool {
	pause := h.pause/2 + rand.N(h.pause/2+1)
	h.pause = min(2*h.pause, huntPauseMax)
	end := h.until
	if deadline, has := ctx.Deadline(); has && deadline.Before(end) {
		end = deadline
	}
	if time.Until(end) <= pause {
		return false
	}
	wait := time.NewTimer(pause)
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-ctx.Done():
	case <-h.router.stopping:
	}
	return false
}

// forward is a call's way to another node. It implements grpc.ClientConnInterface for one call.
type forward struct {
	router  *router
	node    string
	max     time.Duration // how long it may take; 0: as long as the caller waits, and until the server stops
	sent    bool          // it may have reached the other node
	covered coverage      // of the answer
}

// Invoke implements the interface. It is what gRPC does itself, and notes when the call goes out.
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
			case <-f.router.stopping:
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
	// A node that answers nothing any more has lost its leads by the time that others have them.
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

// NewStream implements the interface, for the calls that are streams: it is Invoke's bounds that count, not these.
func (f *forward) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, o ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, done, err := f.open(ctx, d, method, o...)
	if err == nil {
		context.AfterFunc(ctx, done)
	}
	return stream, err
}

// open begins a call with the caller's own authorization. done is to be called when it is over.
func (f *forward) open(ctx context.Context, d *grpc.StreamDesc, method string, o ...grpc.CallOption) (_ grpc.ClientStream, done func(), err error) {
	conn, err := f.router.cluster.Conn(f.node)
	if err != nil {
		return nil, nil, status.Errorf(codes.Unavailable, "reach node %s: %v", f.node, err)
	}
	select {
	case f.router.forwards <- struct{}{}:
	default:
		return nil, nil, statusOf(shard.ErrOverloaded)
	}
	done = func() { <-f.router.forwards }
	md := metadata.Pairs(forwardedKey, f.router.cluster.Self())
	md["authorization"] = authorizationOf(ctx)
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(ctx, md))
	connecting := time.AfterFunc(connectMax, cancel)
	stream, err := conn.NewStream(ctx, d, method, o...)
	if !connecting.Stop() {
		err = status.Errorf(codes.Unavailable, "connect to node %s: no connection in %v", f.node, connectMax)
	}
	if err != nil {
		cancel()
		done()
		return nil, nil, err
	}
	f.sent = true
	context.AfterFunc(stream.Context(), cancel)
	return stream, done, nil
}

// outcome is what is known of a call that a node refused as a whole.
type outcome int

const (
	refused outcome = iota // for a reason that other nodes would have too
	again                  // nothing was done, and it is worth asking whoever leads now
	unknown                // it may or may not take effect
)

// outcomeOf says what is known of a call that failed at a node; f is nil if it was this one. reading is a call that
// changes nothing.
func outcomeOf(err error, f *forward, reading bool) outcome {
	s := status.Convert(err)
	for _, d := range s.Details() {
		switch d.(type) {
		case *queuepb.NotLeader:
			return again
		case *queuepb.UnknownOutcome:
			return unknown
		}
	}
	if f == nil {
		return refused
	}
	switch s.Code() {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded: // the way was cut, unless the caller left
		if reading || !f.sent {
			return again
		}
		return unknown
	}
	return refused
}

// unknownOutcome refuses a call of which it is not known whether it took effect.
func unknownOutcome(err error) error {
	return statusOf(errors.Join(shard.ErrUnknownOutcome, errors.New(status.Convert(err).Message())))
}

// follow carries a call out at the node that leads a shard, which changes meanwhile at times.
func follow[R any](ctx context.Context, r *router, n int, reading bool, most time.Duration, do func(context.Context, *site) (R, error)) (out R, err error) {
	h := r.hunt()
	for {
		if node := r.leader(n); node != "" {
			began, t := time.Now(), r.site(node, most)
			if out, err = do(ctx, t); err == nil {
				return out, nil
			}
			if ended := ctx.Err(); ended != nil {
				return out, statusOf(ended)
			}
			switch outcomeOf(err, t.forward, reading) {
			case refused:
				return out, err
			case unknown:
				return out, unknownOutcome(err)
			case again:
			}
			if most == 0 && time.Since(began) > 2*connectMax { // it was at work: what comes next is another matter
				h = r.hunt()
			}
		}
		if !h.again(ctx) {
			return out, r.noLeader(n)
		}
	}
}

// site is a node that a call is carried out at.
type site struct {
	forward *forward // nil: this node
}

func (r *router) site(node string, most time.Duration) *site {
	if r.here(node) {
		return &site{}
	}
	return &site{&forward{router: r, node: node, max: most}}
}

func (t *site) here() bool { return t.forward == nil }

func (t *site) queues() queuepb.QueueServiceClient { return queuepb.NewQueueServiceClient(t.forward) }

func (t *site) admin() adminpb.AdminServiceClient { return adminpb.NewAdminServiceClient(t.forward) }
