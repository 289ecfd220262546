package shard

import (
	"math"
	"slices"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/queue"
)

// This file has the faults of package planted that concern a shard. They are compiled only with the
// tag planted.

// plantedEnqueue stores all tasks of a command except the last one, and acknowledges all of them.
// The id of the last task belongs to no stored task.
func (s *Shard) plantedEnqueue(c *enqueue, nowMs int64) {
	stored := len(c.tasks) - 1
	s.state.Enqueue(nowMs, c.tenant, c.tasks[:stored], c.out[:stored])
	c.out[stored] = queue.Enqueued{Ref: queue.Ref{Queue: math.MaxUint32, Seq: uint64(planted.Serial())}}
}

// plantedLeaseMs is the remaining lease of a task whose completion was dropped.
const plantedLeaseMs = 1_000

// plantedSettle replaces completions with other settlements.
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

// plantedDeliver changes deliveries to a subscription, or also gives the first of them to another
// subscription. It gives no task to a claim without a stream, which may already have its answer.
func (s *Shard) plantedDeliver(sub *Subscription, deliveries []queue.Delivery) {
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
