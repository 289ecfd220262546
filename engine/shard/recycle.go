package shard

import (
	"github.com/pronybench/prony/engine/internal/recycle"
	"github.com/pronybench/prony/engine/queue"
)

// Pools of the lists that shards pass to callers. A caller that has finished with a list may return
// it for reuse.
var (
	spareEnqueued   recycle.Pool[queue.Enqueued]
	spareOutcomes   recycle.Pool[error]
	spareDeliveries recycle.Pool[queue.Delivery]
)

// RecycleEnqueued puts a list that Enqueue passed to reply back into its pool. The caller must no
// longer use the list.
func RecycleEnqueued(out []queue.Enqueued) { spareEnqueued.Give(out) }

// RecycleOutcomes puts a list that Settle passed to reply back into its pool. The caller must no
// longer use the list.
func RecycleOutcomes(out []error) { spareOutcomes.Give(out) }

// RecycleDeliveries puts a list that was passed to a subscription's deliver back into its pool. The
// caller must no longer use the list, but may still use the payloads that its elements refer to.
func RecycleDeliveries(ds []queue.Delivery) { spareDeliveries.Give(ds) }
