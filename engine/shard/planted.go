//go:build planted

package shard

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// This file contains the faults of package planted that concern a shard.

type batch = storage.PlantedBatch

func plantedBatch(b *storage.Batch) *batch { return &batch{Batch: b} }

// plantedDecide changes a command before it is decided.
func plantedDecide(d *decider, c command) {
	planted.Command()
	switch c := c.(type) {
	case *enqueue:
		if planted.Hits(planted.Lost) {
			plantedLoss(c)
		}
		for i := range c.tasks {
			if t := &c.tasks[i]; t.KeyScope != queue.NotUnique && planted.Hits(planted.Doubled) {
				t.Key += fmt.Sprint(".", planted.Serial()) // no other task has this key
			}
			if d := c.tasks[i].Dependencies; d != nil && d.BatchSize > 0 && planted.Hits(planted.Hasty) {
				d.BatchSize = 0
			}
		}
	case *settle:
		plantedSettle(c.settlements)
	case *subscribe:
		plantedSubscribe(c.sub)
	case *poll:
		plantedSubscribe(c.sub)
	case *begin:
		if !c.changes { // it looks up one task
			c.tenant = plantedTenant(d, c.tenant, c.refs[0])
		}
	case *await:
		c.tenant = plantedTenant(d, c.tenant, c.ref)
		if planted.Hits(planted.Await) {
			plantedEnd(d, c)
		}
	}
}

// plantedLoss makes a command acknowledge its last task without storing it. The id that it returns
// for this task belongs to no stored task.
func plantedLoss(c *enqueue) {
	c.tasks = c.tasks[:len(c.tasks)-1]
	reply := c.reply
	c.reply = func(out []queue.Enqueued, err error) {
		if err == nil {
			out = append(out, queue.Enqueued{Ref: queue.Ref{Queue: math.MaxUint32, Seq: uint64(planted.Serial())}})
		}
		reply(out, err)
	}
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

// plantedTenant returns the tenant whose task the caller, a tenant, may read.
func plantedTenant(d *decider, tenant string, ref queue.Ref) string {
	if q, ok := d.state.Queue(ref.Queue); ok && q.Tenant() != tenant && planted.Hits(planted.Read) {
		return q.Tenant()
	}
	return tenant
}

// plantedEnd ends a wait immediately, and reports the task as done.
func plantedEnd(d *decider, c *await) {
	reply := c.reply
	c.reply = func(a Awaited, err error) {
		if err == nil {
			a.State = Done
		}
		reply(a, err)
	}
	d.shard.inbox.resume(&endWait{await: c})
}

// plantedTaker is a subscription whose deliver function plantedSubscribe has replaced.
type plantedTaker struct {
	sub     *Subscription
	deliver func([]queue.Delivery) // the original function
}

func plantedSubscribe(sub *Subscription) {
	if !planted.IsOneOf(planted.Flipped, planted.Relabelled, planted.Reversed, planted.Twice, planted.Stranger) {
		return
	}
	t := &plantedTaker{sub, sub.deliver}
	sub.deliver = func(deliveries []queue.Delivery) { plantedDeliver(t, deliveries) }
}

// plantedDeliver changes deliveries to a subscription, or delivers the first of them to another
// subscription too. The source and the target of such a copy are never Once claims, since those may
// already be answered.
func plantedDeliver(to *plantedTaker, deliveries []queue.Delivery) {
	first := &deliveries[0]
	if _, payload := first.Split(); len(payload) > 0 && planted.Hits(planted.Flipped) {
		first.Payload = slices.Clone(first.Payload)
		first.Payload[len(first.Payload)-len(payload)] ^= 1
	}
	if headers, payload := first.Split(); len(headers) > 0 && planted.Hits(planted.Relabelled) {
		first.Payload = slices.Clone(first.Payload)
		first.Payload[len(first.Payload)-len(payload)-1] ^= 1
	}
	if len(deliveries) > 1 && planted.Hits(planted.Reversed) {
		slices.Reverse(deliveries)
	}
	if !to.sub.claim.Once {
		for _, fault := range []string{planted.Twice, planted.Stranger} {
			if other, known := planted.Another(fault, to, to.sub.claim.Tenant).(*plantedTaker); known {
				other.deliver([]queue.Delivery{*first})
			}
		}
	}
	to.deliver(deliveries)
}

func plantedSent(commands int) { planted.Send(commands) }

// plantedAnswer answers the commands of a turn.
func plantedAnswer(p *publisher, t *turn) {
	for range t.commands {
		planted.Receive()
	}
	p.answer(t)
	if t.committed {
		planted.Commit()
	}
}

// plantedGrowth returns err, or a refusal of the run of a recurring task.
func plantedGrowth(err error) error {
	if err == nil && planted.Hits(planted.Skipped) {
		return errors.New("skipped by a planted fault")
	}
	return err
}

// plantedCancel reports whether a cancellation has no effect.
func plantedCancel() bool { return planted.Hits(planted.Uncancelled) }
