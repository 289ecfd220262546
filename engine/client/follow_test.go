package client

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAProducerFollowsTheLeader(t *testing.T) {
	for _, dialed := range [][]int{nil, {2}} { // all addresses, or that of a node which does not lead
		ctx := bounded(t)
		c := running(t, 3, 1)
		p, err := c.client(t, dialed).Producer(ctx, "")
		require.NoError(t, err)
		var want []string
		for i := range 12 {
			if i%3 == 1 {
				c.lead(i/3%3, 0)
			}
			if i == 10 { // who leads dies
				c.nodes[0].kill()
				c.lead(1, 0)
			}
			name := fmt.Sprintf("%02d", i)
			id, err := p.Enqueue(ctx, Task{Queue: "q", Payload: []byte(name)})
			require.NoError(t, err)
			assert.NotEmpty(t, id)
			want = append(want, name)
		}
		require.NoError(t, p.Close(ctx))
		assert.Equal(t, want, c.payloads())
		_, err = p.Enqueue(ctx, Task{Queue: "q"})
		require.ErrorIs(t, err, ErrClosed)
	}
}

func TestAWorkerFollowsTheLeader(t *testing.T) {
	for _, dialed := range [][]int{nil, {2}} {
		const n = 30
		ctx := bounded(t)
		c := running(t, 3, 1)
		client := c.client(t, dialed)
		p, err := client.Producer(ctx, "")
		require.NoError(t, err)
		w, err := client.Worker(ctx, WorkerConfig{Queues: []string{"q"}, Slots: 3})
		require.NoError(t, err)
		for range n {
			_, err := p.Enqueue(ctx, Task{Queue: "q"})
			require.NoError(t, err)
		}
		for i := range n {
			task, err := w.Receive(ctx)
			require.NoError(t, err)
			if i%3 == 1 {
				c.lead(i/3%3, 0) // the task is settled at the next leader
			}
			require.NoError(t, w.Complete(ctx, task))
		}
		require.NoError(t, w.Close(ctx))
		require.NoError(t, p.Close(ctx))
		for _, s := range c.stored {
			assert.Equal(t, 1, s.completed)
			assert.Equal(t, 1, s.times, "the lease went on")
		}
	}
}
