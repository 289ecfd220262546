package shard

import (
	"github.com/pronybench/prony/engine/internal/recycle"
	"github.com/pronybench/prony/engine/queue"
)

// The lists that the shards hand out with each turn. A caller that is done with one may give it back for reuse.
var (
	spareEnqueued   recycle.Pool[queue.Enqueued]
	spareOutcomes   recycle.Pool[error]
	spareDeliveries recycle.Pool[queue.Delivery]
)

// RecycleEnqueued gives back the answers that a reply to Enqueue was called with. The caller does not use them any more.
func RecycleEnqueued(out []queue.Enqueued) { spareEnqueued.Give(out) }

// RecycleOutcomes gives back the answers that a reply to Settle was called with. The caller does not use them any more.
func RecycleOutcomes(out []error) { spareOutcomes.Give(out) }

// RecycleDeliveries gives back the deliveries that a subscription's deliver was called with. The caller does not use the list any more; what
// its elements point to is not touched.
func RecycleDeliveries(ds []queue.Delivery) { spareDeliveries.Give(ds) }
