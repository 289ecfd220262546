package shard

import (
	"cmp"
	"errors"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// publish is the publishing goroutine: it lets out the answers and leased tasks of each turn once the turn is durable.
func (s *Shard) publish() {
	defer close(s.done)
	var failed error // the first error of a commit
	for t := range s.pipe {
		t.times.taken = s.publishing.begin()
		s.awaitCommit(&t)
		if failed != nil && t.err == nil && !t.committed && len(t.early) == 0 { // decided after a turn whose commit failed
			if t.err = failed; s.opts.Replicate != nil {
				t.err = &NotLeaderError{s.opts.Number} // the command itself took no effect
			}
		}
		if t.err != nil {
			failed = cmp.Or(failed, t.err)
			s.fail(t.err)
		}
		s.acknowledge(&t)
		for _, g := range t.grants { // before commands: a closing subscription gets its last tasks first
			s.deliver(g, t.nowMs, t.err)
		}
		s.endWaits()
		for _, c := range t.commands {
			planted.Receive()
			c.publish(s, t.err)
		}
		if t.committed {
			planted.Commit()
		}
		s.keep(t.commands)
		s.publishing.end()
		s.observe(&t.times)
	}
}

// awaitCommit waits until the turn is durable, or verified, or failed. The loss of the data folder or
// of a store fails the turn as well.
func (s *Shard) awaitCommit(t *turn) {
	partly := false // a part of the turn took effect
	for _, c := range t.early {
		parts, err := c.WaitParts()
		partly = partly || err == nil
		t.err = errors.Join(t.err, err)
		t.times.answering = stages.Now()
		if err == nil {
			s.committed(&c.Commit, parts, len(t.commands), batchTimes{decided: c.began, submitted: c.submitted, durable: t.times.answering})
		}
	}
	if t.committed && t.err == nil {
		var parts stalls.Parts
		parts, t.err = t.commit.WaitParts()
		t.times.durable = stages.Now()
		if t.err == nil {
			s.committed(&t.commit, parts, len(t.commands), t.times)
		}
		if s.opts.Observe != nil {
			s.opts.Observe(CommitStats{Commands: len(t.commands), Wait: t.times.durable - t.times.decided})
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
		t.err = s.opts.Space.CheckPresent()
	}
}

// deliver gives a subscription its tasks, which were leased at nowMs. It reads those that are not in memory from the store.
func (s *Shard) deliver(g queue.Grant, nowMs int64, err error) {
	sub := g.Waiter.Owner.(*Subscription) // only Subscribe makes waiters
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
			if err := s.read(d); err != nil {
				if !errors.Is(err, ErrNotFound) { // a task without a record was cancelled meanwhile
					// The lease stays until it expires: the task is not lost.
					s.opts.Log.Error("a leased task could not be read", "queue", d.Queue.Name(), "seq", d.Seq, "error", err)
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
	s.addWaits(deliveries, nowMs)
	if len(deliveries) > 0 {
		if planted.Enabled {
			s.plantedDeliver(sub, deliveries)
		}
		sub.deliver(deliveries)
	}
	if missed > 0 && (!sub.claim.Once || len(deliveries) == 0) { // a Once claim that got tasks gets no other grant
		sub.giveBack(missed, missedBytes)
	}
}

// read fills in a delivery from the store.
func (s *Shard) read(d *queue.Delivery) error {
	t, found, err := s.store.Task(d.Ref)
	if err != nil {
		return err
	}
	if !found {
		return ErrNotFound
	}
	d.EnqueuedAtMs, d.Payload = t.EnqueuedAtMs, t.Payload
	if d.Attempt > 1 {
		if d.LastError, err = s.store.LastError(storage.StepClaim, d.Ref, d.Attempt-1); err != nil {
			return err
		}
	}
	return nil
}
