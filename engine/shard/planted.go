package shard

import (
	"math"
	"slices"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/queue"
)

// This file contains the faults of package planted that concern a shard. They take effect only in a
// build with the tag planted.

// plantedEnqueue acknowledges all tasks of a command, but does not store the last task. The id that
// it returns for the last task belongs to no stored task.
func plantedEnqueue(state *queue.State, c *enqueue, nowMs int64) {
	stored := len(c.tasks) - 1
	state.Enqueue(nowMs, c.tenant, c.tasks[:stored], c.out[:stored])
	c.out[stored] = queue.Enqueued{Ref: queue.Ref{Queue: math.MaxUint32, Seq: uint64(planted.Serial())}}
}

// plantedLeaseMs is the time until the lease of a task expires after its completion was dropped.
const plantedLeaseMs = 1_000

func plantedSettle(settlements []queue.Settlement) {
	for i := range settlements {
		t := &settlements[i]
		switch {
		case t.Action != queue.Complete:
		case planted.Hits(planted.Dropped):
			t.Action, t.LeaseMs = queue.Extend, plantedLeaseMs
		case planted.Hits(planted.Again):
			t.Action, t.DelayMs = queue.Release, 0
		}
	}
}

// plantedDeliver changes deliveries to a subscription, or delivers the first of them to another
// subscription too. The source and the target are never Once claims, since those may already be
// answered.
func plantedDeliver(sub *Subscription, deliveries []queue.Delivery) {
	first := &deliveries[0]
	if len(first.Payload) > 0 && planted.Hits(planted.Flipped) {
		first.Payload = slices.Clone(first.Payload)
		first.Payload[0] ^= 1
	}
	if len(deliveries) > 1 && planted.Hits(planted.Reversed) {
		slices.Reverse(deliveries)
	}
	if sub.claim.Once {
		return
	}
	for _, fault := range []string{planted.Twice, planted.Stranger} {
		other, known := planted.Another(fault, sub, sub.claim.Tenant).(*Subscription)
		if known {
			other.deliver([]queue.Delivery{*first})
		}
	}
}
