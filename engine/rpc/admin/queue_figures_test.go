package admin

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/queue"
)

// Another node's figures arrive as they were sent.
func TestFiguresSurviveTheMessage(t *testing.T) {
	q := queue.Stats{
		Tenant: "t", Name: "q", Paused: true, Policy: queue.Policy{Placement: queue.Ordered, MaxAttempts: 2, LeaseMs: 3, TTLMs: 4, RetentionMs: 5},
		Ready: 1, Parked: 11, Delayed: 2, Waiting: 12, Leased: 3, Dead: 4, Charged: 5, Enqueued: 6, Completed: 7, Removed: 8, EnqueuedPerS: 9, CompletedPerS: 10, ReadySinceMs: 990,
		Events: queue.Events{FailedAttempts: 11, ExpiredLeases: 12, Retries: 13, Cancelled: 14, Died: [5]uint64{0, 15, 16, 17, 18}},
	}
	assert.Equal(t, q, figuresOf(queueMessage(&q, 1_000), 1_000))
	empty := queue.Stats{ReadySinceMs: math.MaxInt64, Policy: queue.Policy{Placement: queue.Spread}}
	assert.Equal(t, empty, figuresOf(queueMessage(&empty, 1_000), 1_000))
}
