package client_test

import (
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/storage"
)

// TestConnectionsThatPollServeEverybody lets both sides poll in one process on one processor, the
// worst case: whichever connection polls, the other connections, the timers and other calls must
// make progress.
func TestConnectionsThatPollServeEverybody(t *testing.T) {
	const each, callers, connections = 200, 8, 3
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ctx := bounded(t)
	n, err := node.Open(node.Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Durability: storage.None, BusyPoll: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Shutdown(ctx)) })
	var all sync.WaitGroup
	for i := range connections {
		c, err := client.Dial(n.Addresses()[0], client.WithBusyPoll())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		queue := "q" + strconv.Itoa(i)
		p, err := c.Producer(ctx, "")
		require.NoError(t, err)
		w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{queue}, Slots: callers, Lease: time.Hour})
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, p.Close(ctx))
			require.NoError(t, w.Close(ctx))
		})
		for range callers {
			all.Go(func() {
				for range each {
					_, err := p.Enqueue(ctx, client.Task{Queue: queue})
					if !assert.NoError(t, err) {
						return
					}
				}
			})
			all.Go(func() {
				for range each {
					task, err := w.Receive(ctx)
					if !assert.NoError(t, err) {
						return
					}
					assert.NoError(t, w.Complete(ctx, task))
				}
			})
		}
	}
	all.Wait()
}
