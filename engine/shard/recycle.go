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

// RecycleEnqueued returns the list that a reply to Enqueue was called with. The caller must no
// longer use it.
func RecycleEnqueued(out []queue.Enqueued) { spareEnqueued.Give(out) }

// RecycleOutcomes returns the list that a reply to Settle was called with. The caller must no
// longer use it.
func RecycleOutcomes(out []error) { spareOutcomes.Give(out) }

// RecycleDeliveries returns the list that a subscription's deliver was called with. The caller must
// no longer use the list, but may still use the payloads that its elements refer to.
func RecycleDeliveries(ds []queue.Delivery) { spareDeliveries.Give(ds) }
