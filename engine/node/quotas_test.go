package node

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/internal/certstest"
	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/storage"
)

const waitsMost = waittest.Most

// peerAddresses returns addresses where nodes can listen for each other.
func peerAddresses(t *testing.T, n int) (listen []string, peers map[string]string) {
	t.Helper()
	peers = map[string]string{}
	for i := range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		listen = append(listen, l.Addr().String())
		peers[fmt.Sprint("n", i)] = l.Addr().String()
	}
	return listen, peers
}

// startNodes starts a cluster in which each node leads one shard, and the first node leads shard 0.
func startNodes(t *testing.T, n int) (nodes []*Node, apis []queuepb.QueueServiceClient) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitsMost)
	defer cancel()
	listen, peers := peerAddresses(t, n)
	for i := range listen {
		dir, certs := t.TempDir(), certstest.Dir(t, fmt.Sprint("n", i))
		require.Eventually(t, func() bool {
			opened, err := Open(Config{
				DataDir: dir, Listen: []string{"127.0.0.1:0"}, Durability: storage.None, Shards: len(listen), Insecure: true,
				Cluster: cluster.Config{
					Node: fmt.Sprint("n", i), Listen: listen[i], CertsDir: certs, Peers: peers,
					ElectionTimeout: longestPause, HeartbeatTimeout: longestPause, LeaderLease: longestPause,
				},
			})
			if err != nil && strings.Contains(err.Error(), "address already in use") {
				return false // an outgoing connection uses the port briefly
			}
			require.NoError(t, err)
			nodes = append(nodes, opened)
			return true
		}, waitsMost, 10*time.Millisecond)
		t.Cleanup(func() {
			over, cancel := context.WithTimeout(context.Background(), waitsMost)
			defer cancel()
			assert.NoError(t, nodes[i].Shutdown(over))
		})
		conn, err := grpc.NewClient(nodes[i].Addresses()[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		apis = append(apis, queuepb.NewQueueServiceClient(conn))
	}
	require.Eventually(t, func() bool {
		for i := range nodes {
			if id := fmt.Sprint("n", i); nodes[0].cluster.Leader(i) != id {
				// A failed change is retried.
				_ = nodes[0].cluster.Change(ctx, route.ClusterChange{Kind: route.TransferLeadership, Node: id, Shard: i})
				return false
			}
		}
		return true
	}, 2*waitsMost, 50*time.Millisecond)
	return nodes, apis
}

// refusedPause is a client's pause after a refusal.
const refusedPause = 10 * time.Millisecond

// enqueueAll enqueues batches through several nodes until enough tasks are accepted and each node
// has refused several times in a row. It returns the number of accepted tasks.
func enqueueAll(t *testing.T, apis []queuepb.QueueServiceClient, batch, refusals int, enough int64) int64 {
	t.Helper()
	var accepted atomic.Int64
	var all sync.WaitGroup
	by := time.Now().Add(waitsMost)
	for _, api := range apis {
		all.Go(func() {
			for refused := 0; (refused < refusals || accepted.Load() < enough) && time.Now().Before(by); {
				in := &queuepb.EnqueueRequest{Tenant: "t", Tasks: make([]*queuepb.NewTask, batch)}
				for i := range in.GetTasks() {
					in.Tasks[i] = &queuepb.NewTask{Queue: "q"}
				}
				out, err := api.Enqueue(t.Context(), in)
				took := 0
				for _, r := range out.GetResults() {
					if err == nil && r.GetError() == nil {
						took++
					}
				}
				accepted.Add(int64(took))
				if refused++; took > 0 {
					refused = 0
					continue
				}
				// Without a pause, the calls would leave no CPU time for the nodes to share the
				// quota.
				<-time.After(refusedPause)
			}
		})
	}
	all.Wait()
	return accepted.Load()
}

// A tenant's quotas apply to three nodes together, whichever node receives the tasks.
func TestQuotasHoldForAllNodesTogether(t *testing.T) {
	t.Parallel()
	nodes, apis := startNodes(t, 3)
	const most, batch = 600, 10
	configure := func(tenant string, q access.Quotas) {
		t.Helper()
		require.Eventually(t, func() bool {
			for _, n := range nodes {
				if n.cluster.Leader(0) == n.NodeID() {
					_, err := n.registry.ConfigureTenant(t.Context(), access.Everybody(), tenant, q)
					return err == nil
				}
			}
			return false
		}, waitsMost, 50*time.Millisecond)
	}
	held := func() (tasks uint64) {
		for _, n := range nodes {
			tenants, _, err := n.registry.Tenants(access.Everybody(), "", access.TenantsMax)
			require.NoError(t, err)
			for _, tenant := range tenants {
				tasks += tenant.Tasks
			}
		}
		return tasks
	}
	configure("t", access.Quotas{TasksMax: most})
	require.Eventually(t, func() bool {
		for _, n := range nodes {
			if len(n.registry.Quotas()) != 1 {
				return false
			}
		}
		return true
	}, waitsMost, 10*time.Millisecond)

	// With traffic to one node only, it receives the others' spare quota. Then all nodes reach the
	// quota.
	accepted := enqueueAll(t, apis[2:], batch, 0, most/2)
	assert.GreaterOrEqual(t, accepted, int64(most/2))
	accepted += enqueueAll(t, apis, batch, 40, most-3*batch-accepted)
	assert.InDelta(t, most, accepted, 3*batch)
	assert.InDelta(t, most, held(), 3*batch)

	// The rate allows as many tasks as the elapsed time permits, plus one second's worth of saved
	// quota.
	const rate = 100
	configure("t", access.Quotas{EnqueuesPerSMax: rate})
	began := time.Now()
	accepted = enqueueAll(t, apis, batch, 0, 5*rate)
	passed := time.Since(began).Seconds()
	assert.GreaterOrEqual(t, accepted, int64(5*rate), "no quota is stranded")
	assert.LessOrEqual(t, float64(accepted), rate*(passed+1)+3*batch*2)
}
