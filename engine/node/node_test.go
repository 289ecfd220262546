package node_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, change func(*node.Config)) *node.Node {
	t.Helper()
	c := node.Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Admin: "127.0.0.1:0", Durability: storage.None, DiskLow: storage.SpaceMark{Set: true}}
	if change != nil {
		change(&c)
	}
	n, err := node.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, n.Shutdown(ctx))
	})
	return n
}

func dial(t *testing.T, address string) *client.Client {
	t.Helper()
	c, err := client.Dial(address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// Many goroutines enqueue while many others complete.
func TestStreamsCarryEveryTask(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "unix:" + t.TempDir() + "/s"} {
		t.Run(listen[:4], func(t *testing.T) {
			const producers, each, workers = 8, 500, 16
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			n := start(t, func(c *node.Config) { c.Listen = []string{listen} })
			c := dial(t, n.Addresses()[0])
			p, err := c.Producer(ctx, "")
			require.NoError(t, err)
			w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"a", "b"}, Slots: workers})
			require.NoError(t, err)

			var wg sync.WaitGroup
			var seen sync.Map
			for i := range producers {
				wg.Go(func() {
					for j := range each {
						payload := fmt.Sprintf("%d/%d", i, j)
						_, err := p.Enqueue(ctx, client.Task{Queue: []string{"a", "b"}[j%2], Payload: []byte(payload)})
						if err != nil {
							t.Errorf("enqueue %s: %v", payload, err)
							return
						}
					}
				})
			}
			for i := range workers {
				wg.Go(func() {
					for range producers * each / workers {
						task, err := w.Receive(ctx)
						if err != nil {
							t.Errorf("worker %d: %v", i, err)
							return
						}
						if _, twice := seen.LoadOrStore(string(task.GetPayload()), true); twice {
							t.Errorf("task %s was received twice", task.GetPayload())
						}
						if err := w.Complete(ctx, task); err != nil {
							t.Errorf("complete %s: %v", task.GetPayload(), err)
						}
					}
				})
			}
			wg.Wait()
			count := 0
			seen.Range(func(any, any) bool { count++; return true })
			require.Equal(t, producers*each, count)
			require.NoError(t, p.Close(ctx))
			require.NoError(t, w.Close(ctx))
		})
	}
}
