package load

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

// Producers and workers have separate batch sizes. In-flight limits count batches of producers;
// worker sessions have room for batches of workers.
func TestBatchOfEachSide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.ackDelay, b.completeDelay = time.Millisecond, time.Millisecond
		w := workload(func(w *scenario.Workload) { w.Batch, w.ProducerBatch, w.WorkerBatch, w.InFlight = 5, 7, 2, 69 })
		var mu sync.Mutex
		sent := make(map[int]int)
		cfg := withCalls(config(b, w), func(tasks []driver.Task) {
			mu.Lock()
			defer mu.Unlock()
			sent[len(tasks)]++
		})
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.True(t, o.Drained)
		assert.Len(t, sent, 1)
		assert.Positive(t, sent[7])
		claimed := make(map[int]int)
		for _, c := range b.completed {
			claimed[c.n]++
		}
		assert.Positive(t, claimed[2])
		assert.Zero(t, claimed[5]+claimed[7])
		slots := 0
		for _, n := range b.sessions {
			slots += n
		}
		assert.Equal(t, 2*w.Workers, slots, "tasks that the sessions may hold")
		assert.Equal(t, 4*7+8*2, w.HeldMax())
	})
	both := workload(func(w *scenario.Workload) { w.Batch = 3 })
	assert.Equal(t, []int{3, 3}, []int{both.EnqueueBatch(), both.ClaimBatch()})
}
