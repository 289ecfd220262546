package load

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

// Each worker slot has a separate session, which claims from a queue that no other slot uses.
// Producers are spread over all queues.
func TestQueuePerWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.ackDelay, b.completeDelay = time.Millisecond, time.Millisecond
		w := workload(func(w *scenario.Workload) { w.QueuePerWorker, w.Queues, w.InFlight, w.Batch = true, 1, 320, 2 })
		cfg := config(b, w)
		var queues []string
		for i, c := range cfg.Conns {
			cfg.Conns[i] = openingConn{c, func(tenant string, of []string, slots int) {
				require.Len(t, of, 1)
				assert.Equal(t, w.Batch, slots)
				queues = append(queues, tenant+"/"+of[0])
			}}
		}
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.True(t, o.Drained, "no queue is without a worker")
		assert.Positive(t, o.Cycles)
		slices.Sort(queues)
		assert.Equal(t, []string{"t0/q0", "t0/q1", "t0/q2", "t0/q3", "t1/q0", "t1/q1", "t1/q2", "t1/q3"}, queues)
		for _, queue := range queues {
			assert.Positive(t, b.sent[queue], queue)
		}
	})
	cfg := config(newBroker(), workload(func(w *scenario.Workload) { w.QueuePerWorker, w.Workers = true, 7 }))
	_, err := Run(t.Context(), cfg)
	require.ErrorContains(t, err, "workload.workers is 7; with queue_per_worker it must be a multiple of the 2 tenants")
}

// openingConn records the worker sessions that are opened.
type openingConn struct {
	driver.Conn
	opened func(tenant string, queues []string, slots int)
}

func (c openingConn) Worker(ctx context.Context, tenant string, queues []string, slots int) (driver.Worker, error) {
	c.opened(tenant, queues, slots)
	return c.Conn.Worker(ctx, tenant, queues, slots)
}
