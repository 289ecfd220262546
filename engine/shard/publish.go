package shard

import (
	"cmp"
	"errors"
	"time"

	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// publisher sends the answers and leased tasks of a shard. The publishing goroutine owns it.
type publisher struct {
	shard     *Shard
	published time.Duration // when the last turn was published, by stages.Now
	waits     equalWaits
}

// run is the publishing goroutine. It sends the answers and leased tasks of each turn once the
// turn is durable.
//
// It takes the turns in the order of their decisions and waits for each commit before it looks at
// the next turn. When it publishes a turn, all earlier turns are durable, and with them everything
// that the decisions relied on. After the first error it publishes no success that relies on the
// failed turn: the store or the log fails all later commits, and run fails the turns without a
// commit. A turn without a commit had no effect, so a replicated shard answers its commands with a
// *NotLeaderError, which allows the caller to try again at the new leader.
//
// The order within a turn matters. Acknowledgements are recorded before a client can see them.
// Tasks are delivered before the commands are answered, because an answer may report the end of a
// subscription.
func (p *publisher) run() {
	defer close(p.shard.done)
	var failed error // the first error of a commit
	for t := range p.shard.pipe {
		t.times.taken = p.shard.publishing.begin()
		p.awaitCommit(&t)
		// The turn has no commit that could fail, but it relied on a failed commit.
		if failed != nil && t.err == nil && !t.committed && len(t.early) == 0 {
			if t.err = failed; p.shard.opts.Replicate != nil {
				t.err = &NotLeaderError{p.shard.opts.Number} // the command had no effect
			}
		}
		if t.err != nil {
			failed = cmp.Or(failed, t.err)
			p.shard.fail(t.err)
		}
		p.acknowledge(&t)
		// Deliver before publishing the commands: a closing subscription gets its last tasks first.
		for _, g := range t.grants {
			p.deliver(g, t.nowMs, t.err)
		}
		if t.err == nil {
			notifyCancelled(t.cancelled)
			if t.sent != 0 {
				p.shard.couriers.wake(t.sent, t.sentBelow)
			}
		}
		p.waits.end()
		plantedAnswer(p, &t)
		p.shard.keep(t.commands)
		p.shard.publishing.end()
		p.observe(&t.times)
	}
}

func (p *publisher) answer(t *turn) {
	for _, c := range t.commands {
		c.publish(p.shard, t.err)
	}
}

// awaitCommit waits until the turn is durable or verified, and sets t.err if that failed. It waits
// for all early commits, even after an error. If a part of the turn took effect and a later part
// was refused, the error is ErrUnknownOutcome. If the data folder was removed, the turn fails too:
// a commit to deleted files is not durable, although its fsync succeeded.
func (p *publisher) awaitCommit(t *turn) {
	partly := false // at least one early commit took effect
	for _, c := range t.early {
		parts, err := c.WaitParts()
		partly = partly || err == nil
		t.err = errors.Join(t.err, err)
		t.times.answering = stages.Now()
		if err == nil {
			p.committed(&c.Commit, parts, len(t.commands), batchTimes{decided: c.began, submitted: c.submitted, durable: t.times.answering})
		}
	}
	if t.committed && t.err == nil {
		var parts stalls.Parts
		parts, t.err = t.commit.WaitParts()
		t.times.durable = stages.Now()
		if t.err == nil {
			p.committed(&t.commit, parts, len(t.commands), t.times)
		}
		if p.shard.opts.Observe != nil {
			p.shard.opts.Observe(CommitStats{Commands: len(t.commands), Wait: t.times.durable - t.times.decided})
		}
	}
	if t.verified != nil && t.err == nil {
		t.err = t.verified.Wait()
		t.times.answering = stages.Now()
	}
	if partly {
		t.err = notRefused(t.err)
	}
	if t.err == nil {
		t.err = p.shard.opts.Space.CheckPresent()
	}
}

// notifyCancelled reports leases whose tasks were cancelled to the subscriptions that hold them.
func notifyCancelled(leases []queue.CancelledLease) {
	for _, l := range leases {
		if sub := l.Waiter.Owner.(*Subscription); sub.cancelled != nil { // every waiter's owner is a *Subscription
			sub.cancelled(l.Ref, l.Token)
		}
	}
}

// deliver sends a subscription the tasks that were leased to it at nowMs. Payloads that are not in
// memory are read from the store; they are visible there, because the lease is durable. deliver
// leaves out a task that cannot be read, and returns its credit and bytes to the subscription.
func (p *publisher) deliver(g queue.Grant, nowMs int64, err error) {
	sub := g.Waiter.Owner.(*Subscription) // every waiter's owner is a *Subscription
	if err != nil {
		sub.fail(err)
		return
	}
	all, kept := g.Deliveries, 0
	var missed int
	var missedBytes int64
	for i := range all {
		d := &all[i]
		if !d.Cached {
			if err := p.read(d); err != nil {
				// A task without a record was cancelled after it was leased.
				if !errors.Is(err, ErrNotFound) {
					// The task is not lost: it remains leased until its lease expires.
					p.shard.opts.Log.Error("a leased task could not be read", "queue", d.Queue.Name(), "seq", d.Seq, "error", err)
				}
				missed++
				missedBytes += int64(d.Bytes)
				continue
			}
		}
		if kept < i {
			all[kept] = *d
		}
		kept++
	}
	clear(all[kept:])
	deliveries := all[:kept]
	p.waits.add(deliveries, nowMs)
	if len(deliveries) > 0 {
		sub.deliver(deliveries)
	}
	// A Once claim with tasks gets no further grant.
	if missed > 0 && (!sub.claim.Once || len(deliveries) == 0) {
		sub.giveBack(missed, missedBytes)
	}
}

// read completes a delivery with the task's payload and last error from the store. It returns
// ErrNotFound if the task has no record.
func (p *publisher) read(d *queue.Delivery) error {
	t, found, err := p.shard.store.Task(d.Ref)
	if err != nil {
		return err
	}
	if !found {
		return ErrNotFound
	}
	d.EnqueuedAtMs, d.Payload, d.HasHeaders = t.EnqueuedAtMs, t.Payload, t.HasHeaders
	if d.Attempt > 1 {
		if d.LastError, err = p.shard.store.LastError(storage.StepClaim, d.Ref, d.Attempt-1); err != nil {
			return err
		}
	}
	return nil
}
