package client

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"github.com/pronybench/prony/engine/queuepb"
)

// cluster simulates a cluster: its nodes are gRPC servers in this process that share the state that
// a real cluster replicates. The test determines the leaders of the shards and the faults.
type cluster struct {
	t     testing.TB
	nodes []*clusterNode

	mu      sync.Mutex
	moved   chan struct{} // closed and replaced with each change
	changes uint64        // the number of changes
	leaders []int         // of the shards; -1 for none
	stored  []*storedTask
	byID    map[string]*storedTask
	byKey   map[string]*storedTask
	tokens  uint64
	turn    int
	lease   time.Duration
	fault   func(node int, settles bool) fault // of each frame; nil: none; called under mu
	gets    atomic.Int32                       // the number of calls of GetTask
	// The number of plain enqueues that break after they took effect.
	breaks int
	denied bool // streams are refused
	alone  bool // the only node reports that it has no cluster

	watchers atomic.Int32 // waiting requests for the routes
}

type storedTask struct {
	id, key   string
	payload   string
	shard     int
	token     uint64 // of its lease; 0: the task is ready
	completed int
	times     int  // the number of leases
	cancelled bool // during its last lease
}

// fault is the fault of a frame.
type fault int

const (
	noFault        fault = iota
	refusedFrame         // the stream ends with NOT_LEADER, and the frame had no effect
	lostAnswer           // the stream breaks after the frame took effect
	lostFrame            // the stream breaks before the frame takes effect
	unclearDone          // the stream ends with ABORTED after the frame took effect
	unclearNotDone       // the stream ends with ABORTED without an effect
	unclearItems         // the items are answered with UNKNOWN_OUTCOME, and took effect
	faults
)

type clusterNode struct {
	queuepb.UnimplementedQueueServiceServer

	cluster *cluster
	index   int
	address string
	// Nil while the node is down; written by the test's goroutine, under the cluster's mu.
	server *grpc.Server
	served chan error
	hangs  bool // the node accepts requests and answers nothing
	lies   []int

	awaited  atomic.Int32
	finishes atomic.Bool // the node has results
}

// newCluster serves a cluster with the given number of nodes; node 0 leads all shards.
func newCluster(t testing.TB, nodes, shards int) *cluster {
	c := &cluster{t: t, moved: make(chan struct{}), leaders: make([]int, shards), byID: map[string]*storedTask{}, byKey: map[string]*storedTask{}, lease: time.Hour}
	for i := range nodes {
		n := &clusterNode{cluster: c, index: i}
		c.nodes = append(c.nodes, n)
		n.start()
	}
	return c
}

// stop stops the cluster once no client needs it.
func (c *cluster) stop() {
	for _, n := range c.nodes {
		n.kill()
	}
}

// running is newCluster for the duration of a test.
func running(t *testing.T, nodes, shards int) *cluster {
	t.Helper()
	c := newCluster(t, nodes, shards)
	t.Cleanup(c.stop)
	return c
}

func (n *clusterNode) start() {
	address := n.address
	if address == "" {
		address = "127.0.0.1:0"
	}
	var l net.Listener
	require.Eventually(n.cluster.t, func() (ok bool) {
		var err error
		l, err = net.Listen("tcp", address)
		return err == nil
	}, patience, time.Millisecond)
	n.address = l.Addr().String()
	s := grpc.NewServer(grpc.MaxRecvMsgSize(16 << 20))
	queuepb.RegisterQueueServiceServer(s, n)
	n.served = make(chan error, 1)
	n.runs(s)
	go func(served chan error) { served <- s.Serve(l) }(n.served)
}

// runs records the node's server, to which other nodes forward calls.
func (n *clusterNode) runs(s *grpc.Server) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.server = s
}

// kill cuts all connections and stops listening.
func (n *clusterNode) kill() {
	if n.server != nil {
		n.server.Stop()
		if err := <-n.served; !errors.Is(err, grpc.ErrServerStopped) {
			assert.NoError(n.cluster.t, err)
		}
		n.runs(nil)
	}
}

// addresses returns the addresses of some nodes in the form for Dial.
func (c *cluster) addresses(of ...int) string {
	var all []string
	for i, n := range c.nodes {
		if len(of) == 0 || slices.Contains(of, i) {
			all = append(all, n.address)
		}
	}
	return strings.Join(all, ",")
}

func (c *cluster) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	c.changes++
	close(c.moved)
	c.moved = make(chan struct{})
}

// lead makes a node lead shards, and notifies their previous leaders.
func (c *cluster) lead(node int, shards ...int) {
	c.change(func() {
		for _, s := range shards {
			c.leaders[s] = node
		}
	})
}

// led returns the shards that a node leads. The caller must hold mu.
func (n *clusterNode) led() (shards []int) {
	for s, l := range n.cluster.leaders {
		if l == n.index {
			shards = append(shards, s)
		}
	}
	return shards
}

func (c *cluster) addressOf(node int) string {
	if node < 0 {
		return ""
	}
	return c.nodes[node].address
}

func detailed(code codes.Code, message string, d protoadapt.MessageV1) error {
	s, err := status.New(code, message).WithDetails(d)
	if err != nil {
		return err
	}
	return s.Err()
}

var errDenied = status.Error(codes.PermissionDenied, "not for you")

func notLeading() error {
	return detailed(codes.Unavailable, "another node leads", &queuepb.NotLeader{RoutesChanged: true})
}

// client dials the given nodes of the cluster, or all if none are given.
func (c *cluster) client(t *testing.T, of []int, options ...grpc.DialOption) *Client {
	t.Helper()
	out, err := Dial(c.addresses(of...), options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, out.Close()) })
	return out
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// payloads returns the payloads of the stored tasks, sorted.
func (c *cluster) payloads() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.stored {
		all = append(all, s.payload)
	}
	slices.Sort(all)
	return all
}
