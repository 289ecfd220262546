package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// TestARollingRestartFailsNoCall restarts each node of a real cluster in order while producers and
// workers run: no call fails, and each task is completed once.
func TestARollingRestartFailsNoCall(t *testing.T) {
	const nodes, shards, callers = 3, 2, 8
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	ports := freePorts(t, 2*nodes)
	peers := map[string]string{}
	for i := range nodes {
		peers[fmt.Sprint("n", i)] = ports[nodes+i]
	}
	dirs, certs := make([]string, nodes), make([]string, nodes)
	running := make([]*node.Node, nodes)
	start := func(i int) {
		id := fmt.Sprint("n", i)
		require.Eventually(t, func() bool {
			n, err := node.Open(node.Config{
				DataDir: dirs[i], Listen: []string{ports[i]}, Durability: storage.None, Shards: shards, Insecure: true,
				Cluster: cluster.Config{Node: id, Listen: ports[nodes+i], CertsDir: certs[i], Peers: peers, ElectionTimeout: cluster.ElectionTimeoutMin},
			})
			if err != nil && strings.Contains(err.Error(), "address already in use") {
				return false // another process's outgoing connection uses the port for a moment
			}
			require.NoError(t, err)
			running[i] = n
			return true
		}, patience, 10*time.Millisecond)
	}
	for i := range nodes {
		dirs[i], certs[i] = t.TempDir(), certstest.Dir(t, fmt.Sprint("n", i))
		start(i)
	}
	t.Cleanup(func() {
		over, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for _, n := range running {
			assert.NoError(t, n.Shutdown(over))
		}
	})

	c, err := client.Dial(strings.Join(ports[:nodes], ","), client.WithIdempotency())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	p, err := c.Producer(ctx, "")
	require.NoError(t, err)
	w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"q"}, Slots: 4 * callers, Lease: 5 * time.Second})
	require.NoError(t, err)
	var (
		made, done atomic.Int64
		stop       atomic.Bool
		producing  sync.WaitGroup
		working    sync.WaitGroup
		seen       sync.Map
		unclear    sync.Map // ids of tasks that may be completed
	)
	tasks := []client.Task{{Queue: "q"}, {Queue: "q"}, {Queue: "q"}, {Queue: "q"}}
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
				_, twice := seen.LoadOrStore(task.GetId(), true)
				assert.False(t, twice, "task %s was delivered twice", task.GetId())
				began := time.Now()
				err = w.Complete(ctx, task)
				left := time.Until(time.UnixMilli(task.GetLeaseExpiresAtMs()))
				// A slow host: the task is delivered again.
				if errors.Is(err, client.ErrStaleToken) && left <= 0 {
					seen.Delete(task.GetId())
					continue
				}
				// A slow host: the answer was late, or an election lost it.
				if errors.Is(err, client.ErrUnknownOutcome) {
					// If the completion had no effect, the task is delivered again.
					seen.Delete(task.GetId())
					unclear.Store(task.GetId(), true)
					continue
				}
				unclear.Delete(task.GetId())
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
				for _, n := range running {
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
		require.NoError(t, running[i].Shutdown(ctx))
		advance(300)
		start(i)
	}
	advance(300)
	stop.Store(true)
	producing.Wait()
	gone := func() (n int64) { // returns how many tasks of unclear are completed
		unclear.Range(func(id, _ any) bool {
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
