package client_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
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

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/internal/certstest"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

// freePorts returns addresses on this host without a listener.
func freePorts(t *testing.T, n int) (addresses []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

// realCluster is a cluster of nodes of this process.
type realCluster struct {
	*testing.T

	dirs, certs, addresses []string
	peers                  map[string]string
	shards                 int
	election               time.Duration
	running                []*node.Node
}

func openRealCluster(t *testing.T, nodes, shards int, election time.Duration) *realCluster {
	t.Helper()
	ports := freePorts(t, 2*nodes)
	r := &realCluster{T: t, addresses: ports[:nodes], peers: map[string]string{}, shards: shards, election: election, running: make([]*node.Node, nodes)}
	for i := range nodes {
		r.peers[fmt.Sprint("n", i)] = ports[nodes+i]
	}
	for i := range nodes {
		r.dirs, r.certs = append(r.dirs, t.TempDir()), append(r.certs, certstest.Dir(t, fmt.Sprint("n", i)))
		r.start(i)
	}
	t.Cleanup(func() {
		over, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for _, n := range r.running {
			assert.NoError(t, n.Shutdown(over))
		}
	})
	return r
}

func (r *realCluster) start(i int) {
	r.Helper()
	id := fmt.Sprint("n", i)
	require.Eventually(r, func() bool {
		n, err := node.Open(node.Config{
			DataDir: r.dirs[i], Listen: []string{r.addresses[i]}, Admin: "127.0.0.1:0", Durability: storage.None, Shards: r.shards, Insecure: true,
			Cluster: cluster.Config{Node: id, Listen: r.peers[id], CertsDir: r.certs[i], Peers: r.peers, ElectionTimeout: r.election, HeartbeatTimeout: r.election, LeaderLease: r.election},
		})
		if err != nil && strings.Contains(err.Error(), "address already in use") {
			return false // another process's outgoing connection uses the port for a moment
		}
		require.NoError(r, err)
		r.running[i] = n
		return true
	}, patience, 10*time.Millisecond)
}

// client returns a client of all nodes.
func (r *realCluster) client(options ...grpc.DialOption) *client.Client {
	r.Helper()
	return dial(r.T, strings.Join(r.addresses, ","), options...)
}

// TestARollingRestartFailsNoCall restarts each node of a real cluster in order while producers and
// workers run: no call fails, and each task is completed once.
func TestARollingRestartFailsNoCall(t *testing.T) {
	const nodes, shards, callers = 3, 2, 8
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	r := openRealCluster(t, nodes, shards, cluster.ElectionTimeoutMin)
	c := r.client(client.WithIdempotency())
	p, err := c.Producer(ctx, "")
	require.NoError(t, err)
	w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"q"}, Slots: 4 * callers, Lease: 5 * time.Second})
	require.NoError(t, err)
	var (
		made, done atomic.Int64
		stop       atomic.Bool
		producing  sync.WaitGroup
		working    sync.WaitGroup
		leases     sync.Map // by task id: the end of the latest lease in milliseconds, or endless
		unclear    sync.Map // ids of tasks that may be completed
	)
	tasks := []client.Task{{Queue: "q"}, {Queue: "q"}, {Queue: "q"}, {Queue: "q"}}
	const endless = int64(math.MaxInt64) // the task is completed
	progress := make(chan struct{}, 1)
	receiving, stopReceiving := context.WithCancel(ctx)
	defer stopReceiving()
	for range callers {
		producing.Go(func() {
			for !stop.Load() {
				ids, errs, err := p.EnqueueBatch(ctx, tasks)
				if !assert.NoError(t, err) || !assert.Nil(t, errs) {
					return
				}
				made.Add(int64(len(ids)))
			}
		})
		working.Go(func() {
			for {
				task, err := w.Receive(receiving)
				if err != nil {
					return
				}
				if before, twice := leases.Swap(task.GetId(), task.GetLeaseExpiresAtMs()); twice {
					// A slow host: the lease has ended.
					assert.GreaterOrEqual(t, time.Now().UnixMilli(), before, "task %s was delivered twice", task.GetId())
				}
				began := time.Now()
				err = w.Complete(ctx, task)
				left := time.Until(time.UnixMilli(task.GetLeaseExpiresAtMs()))
				// A slow host: the task is delivered again.
				if errors.Is(err, client.ErrStaleToken) && left <= 0 {
					continue
				}
				// A slow host: the answer was late, or an election lost it. If the completion had no
				// effect, the task is delivered again.
				if errors.Is(err, client.ErrUnknownOutcome) {
					unclear.Store(task.GetId(), true)
					continue
				}
				if err == nil {
					leases.Store(task.GetId(), endless)
				}
				if !assert.NoError(t, err, "%v of the lease remained, and the call took %v", left, time.Since(began)) {
					return
				}
				done.Add(1)
				select {
				case progress <- struct{}{}:
				default:
				}
			}
		})
	}
	advance := func(by int64) {
		until := done.Load() + by
		for done.Load() < until {
			select {
			case <-progress:
			case <-ctx.Done():
				for _, n := range r.running {
					own := dial(t, n.Addresses()[0])
					routes, err := own.API().GetRoutes(context.Background(), &queuepb.GetRoutesRequest{})
					t.Log(n.NodeID(), n.Addresses(), routes, err)
				}
				require.FailNow(t, "no further task is completed", "%d made, %d done", made.Load(), done.Load())
			}
		}
	}
	for i := range nodes {
		advance(300)
		require.NoError(t, r.running[i].Shutdown(ctx))
		advance(300)
		r.start(i)
	}
	advance(300)
	stop.Store(true)
	producing.Wait()
	gone := func() (n int64) { // returns how many tasks of unclear are completed
		unclear.Range(func(id, _ any) bool {
			if ends, _ := leases.Load(id); ends == endless {
				return true // a later completion is counted
			}
			if _, err := c.API().GetTask(ctx, &queuepb.GetTaskRequest{Id: id.(string)}); status.Code(err) == codes.NotFound {
				n++
			}
			return true
		})
		return n
	}
	require.Eventually(t, func() bool { return done.Load()+gone() >= made.Load() }, patience, 10*time.Millisecond)
	stopReceiving()
	working.Wait()
	require.NoError(t, p.Close(ctx))
	require.NoError(t, w.Close(ctx))
	out, err := c.API().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 10})
	require.NoError(t, err)
	assert.Empty(t, out.GetTasks())
	assert.Equal(t, made.Load(), done.Load()+gone())
}
