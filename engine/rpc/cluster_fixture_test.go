package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/metadata"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc"
	"github.com/pronybench/prony/engine/rpc/admin"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// nodes is a cluster of servers in this process. The test decides which node leads a shard; the
// shards' stores move between the nodes.
type nodes struct {
	*testing.T

	ctx    context.Context
	stores []*storage.Store
	all    []*clusterNode
	tokens map[string]string // secrets: "operator", and "t0" with all scopes

	mu      sync.Mutex
	leaders []string       // of the shards
	open    []*shard.Shard // by shard, at its leader
	logs    []*shardLog
}

// shardLog is a shard's log whose entries the test can delay or fail.
type shardLog struct {
	store *storage.Store

	mu    sync.Mutex
	term  uint64
	index uint64
	held  []*proposal // in order of arrival
	hold  bool        // entries wait for the test
}

type proposal struct {
	entry []byte
	done  chan struct{}
	err   error
}

// Wait implements storage.Proposal.
func (p *proposal) Wait() error {
	<-p.done
	return p.err
}

// Done implements storage.Proposal.
func (p *proposal) Done() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Propose implements storage.Log.
func (l *shardLog) Propose(entry []byte) storage.Proposal {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &proposal{entry: entry, done: make(chan struct{})}
	l.held = append(l.held, p)
	if !l.hold {
		l.release(nil)
	}
	return p
}

// Verify implements storage.Log. It always leads.
func (l *shardLog) Verify() storage.Proposal {
	p := &proposal{done: make(chan struct{})}
	close(p.done)
	return p
}

// release applies the waiting entries, or fails them with failed if that is not nil. The caller
// must hold mu.
func (l *shardLog) release(failed error) {
	for _, p := range l.held {
		p.err = failed
		if failed == nil {
			l.index++
			_, p.err = l.store.Apply([]storage.LogEntry{{Index: l.index, Term: l.term, Data: p.entry}})
		}
		close(p.done)
	}
	l.held = nil
}

// holdOn delays entries until letGo.
func (l *shardLog) holdOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = true
}

// waits waits until an entry is delayed.
func (l *shardLog) waits(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.held) > 0
	}, patience, time.Millisecond)
}

func (l *shardLog) letGo(failed error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = false
	l.release(failed)
}

// clusterNode is a node of the cluster, and the route.Cluster of its services.
type clusterNode struct {
	nodes *nodes
	id    string

	group    *shard.Group
	registry *access.Registry
	auth     *call.Auth
	service  *rpc.Service
	admin    *admin.Service
	server   *grpc.Server
	route.Changes

	routes, adminRoutes *route.Router
	address             string
	// For the other nodes and the test, which adds tokens itself.
	conn   *grpc.ClientConn
	served chan error

	forwarded atomic.Int64 // calls forwarded by other nodes
	left      atomic.Int64 // forwarded calls whose caller left
	believes  atomic.Pointer[string]
	// hold, if set, wraps each forwarded call.
	hold atomic.Pointer[func(next func() (any, error)) (any, error)]
}

// startNodes starts nodes and creates shards without leaders.
func startNodes(t *testing.T, count, shards int) *nodes {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	c := &nodes{T: t, ctx: ctx, tokens: map[string]string{}, leaders: make([]string, shards), open: make([]*shard.Shard, shards)}
	for range shards {
		store, err := storage.Open("shard", storage.Options{FS: vfs.NewMem(), Durability: storage.None, Replicated: true})
		require.NoError(t, err)
		c.logs = append(c.logs, &shardLog{store: store})
		c.stores = append(c.stores, store)
	}
	stored := &records{m: map[string][]byte{}}
	for i := range count {
		c.all = append(c.all, c.start(fmt.Sprintf("n%d", i+1), stored))
	}
	t.Cleanup(func() {
		for _, n := range c.all {
			n.service.Stop()
			require.NoError(t, n.conn.Close())
		}
		for _, n := range c.all {
			n.stop()
		}
		for i := range shards {
			c.lead(i, "")
		}
		for _, s := range c.stores {
			require.NoError(t, s.Close())
		}
		for _, n := range c.all {
			n.registry.Close()
		}
		cancel()
	})
	return c
}

func (c *nodes) start(id string, stored *records) *clusterNode {
	c.Helper()
	n := &clusterNode{nodes: c, id: id, registry: access.New(access.Options{}), served: make(chan error, 1)}
	require.NoError(c, n.registry.Load(c.ctx, stored))
	if len(c.tokens) == 0 { // the other nodes load them
		for name, tenant := range map[string]string{"operator": access.AllTenants, "t0": "t0"} {
			_, secret, err := n.registry.CreateToken(c.ctx, access.Everybody(), access.NewToken{Tenant: tenant, Scopes: access.AllScopes})
			require.NoError(c, err)
			c.tokens[name] = secret
		}
		_, secret, err := n.registry.CreateToken(c.ctx, access.Everybody(), access.NewToken{Tenant: "t0", Scopes: access.Produce})
		require.NoError(c, err)
		c.tokens["producer"] = secret
	}
	var err error
	n.group, err = shard.NewClusterGroup(len(c.stores), clock.New().NowMs, nil)
	require.NoError(c, err)
	n.auth = call.NewAuth(n.registry)
	n.service = rpc.NewService(n.group, queue.DefaultLimits(), n.registry)
	n.routes = route.New(n, n.group)
	n.service.InCluster(n.routes)
	n.admin = admin.New(n.group, queue.DefaultLimits(), n.registry, someHost{})
	n.adminRoutes = route.New(n, n.group)
	n.admin.InCluster(n.adminRoutes)
	n.server = rpc.NewServer(n.service, health.NewServer(), n.auth, grpc.ChainUnaryInterceptor(n.watch, route.SendCoverage(n.group)))
	adminpb.RegisterAdminServiceServer(n.server, n.admin)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(c, err)
	n.address = l.Addr().String()
	go func() { n.served <- n.server.Serve(l) }()
	n.conn, err = grpc.NewClient("passthrough:///"+n.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(c, err)
	return n
}

func (n *clusterNode) watch(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if len(metadata.ValueFromIncomingContext(ctx, "prony-forwarded")) == 0 {
		return next(ctx, in)
	}
	n.forwarded.Add(1)
	defer context.AfterFunc(ctx, func() { n.left.Add(1) })()
	if hold := n.hold.Load(); hold != nil {
		return (*hold)(func() (any, error) { return next(ctx, in) })
	}
	return next(ctx, in)
}

// stop cuts all connections to the node.
func (n *clusterNode) stop() {
	n.nodes.Helper()
	n.server.Stop()
	if err := <-n.served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		require.NoError(n.nodes, err)
	}
	n.served <- nil
	for n.conn.GetState() == connectivity.Ready { // requests sent until then may have arrived
		n.conn.WaitForStateChange(n.nodes.ctx, connectivity.Ready)
	}
}

func (c *nodes) node(id string) *clusterNode {
	for _, n := range c.all {
		if n.id == id {
			return n
		}
	}
	return nil
}

// lead transfers the lead of a shard to a node; "" means no node.
func (c *nodes) lead(i int, id string) {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.node(c.leaders[i]); old != nil {
		c.leaders[i] = ""
		old.group.Lose(i)
		c.mu.Unlock()
		c.open[i].Lose()
		c.mu.Lock()
	}
	c.leaders[i], c.open[i] = id, nil
	if id == "" {
		return
	}
	n := c.node(id)
	log := c.logs[i]
	log.mu.Lock()
	log.term++
	tenure := storage.Tenure{Term: log.term, ID: log.term}
	log.mu.Unlock()
	require.NoError(c, log.Propose(tenure.Begin()).Wait())
	s, err := shard.New(c.stores[i], shard.Options{
		Number: i, NowMs: n.group.NowMs, Replicate: log, Tenure: tenure,
		Queue:   queue.Config{Account: n.registry.Account, Shard: i, Shards: len(c.leaders)},
		Deliver: c.deliver,
	})
	require.NoError(c, err)
	c.open[i] = s
	require.NoError(c, n.group.Lead(i, s))
	for _, n := range c.all {
		n.Changed()
	}
}

// deliver passes messages between shards to the leader of the shard.
func (c *nodes) deliver(ctx context.Context, to uint16, messages []queue.Message) error {
	c.mu.Lock()
	n := c.node(c.leaders[to])
	c.mu.Unlock()
	if n == nil {
		return shard.ErrNotLeader
	}
	return n.group.Deliver(ctx, to, messages)
}

// leads makes nodes lead the shards: ids[i] leads shard i.
func (c *nodes) leads(ids ...string) {
	c.Helper()
	for i, id := range ids {
		c.lead(i, id)
	}
}

// retriesFor bounds the time in which calls look for a leader.
func (c *nodes) retriesFor(most time.Duration) {
	for _, n := range c.all {
		n.routes.RetryMax = most
		n.adminRoutes.RetryMax = most
	}
}

// as returns a context with a token.
func (c *nodes) as(token string) context.Context {
	return metadata.AppendToOutgoingContext(c.ctx, "authorization", "Bearer "+c.tokens[token])
}

func (n *clusterNode) queues() queuepb.QueueServiceClient {
	return queuepb.NewQueueServiceClient(n.conn)
}

func (n *clusterNode) admins() adminpb.AdminServiceClient {
	return adminpb.NewAdminServiceClient(n.conn)
}

// Self implements route.Cluster.
func (n *clusterNode) Self() string { return n.id }

// Leader implements route.Cluster.
func (n *clusterNode) Leader(i int) string {
	if b := n.believes.Load(); b != nil {
		return *b
	}
	n.nodes.mu.Lock()
	defer n.nodes.mu.Unlock()
	if i < 0 || i >= len(n.nodes.leaders) {
		return ""
	}
	return n.nodes.leaders[i]
}

// Outage implements route.Cluster.
func (n *clusterNode) Outage() string { return "" }

// Member implements route.Cluster.
func (n *clusterNode) Member(id string) (route.Member, bool) {
	m := n.nodes.node(id)
	if m == nil {
		return route.Member{}, false
	}
	return route.Member{Node: id, Address: m.address, Voter: true}, true
}

// Conn implements route.Cluster.
func (n *clusterNode) Conn(id string) (grpc.ClientConnInterface, error) {
	m := n.nodes.node(id)
	if m == nil {
		return nil, errors.New("not a member")
	}
	return m.conn, nil
}

// Status implements route.Cluster.
func (n *clusterNode) Status(context.Context) (route.ClusterStatus, error) {
	return route.ClusterStatus{Node: n.id}, nil
}

// Change implements route.Cluster.
func (n *clusterNode) Change(context.Context, route.ClusterChange) error { return nil }

// everybody is an operator.
var everybody = *access.Everybody()
