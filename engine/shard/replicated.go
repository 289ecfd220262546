package shard

import (
	"errors"

	"github.com/pronybench/prony/engine/queue"
)

// This file contains the parts of a replicated shard. Such a shard runs for one tenure of its node
// as the leader.

// batchesSkipped is the number of lease batches that a new leader skips after the stored NextBatch,
// in case an earlier term exceeded its range. It is larger than the number of batches that a power
// loss can undo.
const batchesSkipped = 1 << 24

// skipNumbers ensures that a leader issues only ids and tokens that no leader of an earlier term
// issued. If a majority loses power at durability interval or none, commits of an earlier leader
// can be lost, including reservations. A leader's term cannot be lost, because a majority stores it
// on disk with its votes in every mode. It does not skip queue numbers, because the seqs alone make
// ids unique.
func skipNumbers(from *queue.Recovered, term uint64) {
	from.Reserved = from.Reserved.InTerm(term)
	from.Reserved.Batch = max(from.Reserved.Batch, from.Meta.NextBatch+batchesSkipped)
}

// Lose stops a replicated shard whose node has lost leadership. It returns when all commands are
// answered. Commands that had no effect are answered with a *NotLeaderError.
func (s *Shard) Lose() {
	s.couriers.stop()
	s.inbox.close(&NotLeaderError{s.opts.Number})
	<-s.done
	s.reading.Wait()
}

// end sends the last turn, which answers all commands, waits and subscriptions that are still open.
// The deciding goroutine calls it before it ends.
func (d *decider) end(why error) {
	if d.shard.opts.Replicate == nil {
		why = errors.Join(why, d.failure)
	} else {
		d.state.LeaveAccounts()
	}
	var left []command
	for _, c := range d.figures.asking {
		left = append(left, &figuresAnswer{c})
	}
	left = append(left, d.carried...)
	for _, all := range d.awaits.of {
		for _, c := range all {
			left = append(left, &answer{to: c})
		}
	}
	for sub := range d.subscriptions.open {
		left = append(left, &endSubscription{sub: sub})
	}
	if len(left) > 0 {
		d.send(turn{commands: left, err: why})
	}
}

// endSubscription is the command that fails a subscription of a replicated shard after the loss of
// leadership.
type endSubscription struct{ sub *Subscription }

func (*endSubscription) decide(*decider, int64) {}

func (c *endSubscription) publish(_ *Shard, err error) { c.sub.fail(err) }

// answersStale is implemented by commands that may allow a stale answer: if mayBeStale returns
// true, the answer may come from a node that has just lost leadership.
type answersStale interface{ mayBeStale() bool }

// answers reports whether the answer to any of the commands depends on the state. If so, the node
// must confirm its leadership before it answers.
func answers(commands []command) bool {
	for _, c := range commands {
		switch c := c.(type) {
		case *change, *subscribe, *unsubscribe, *visible, *refilled:
		case *begin:
			if !c.looks {
				return true // this turn answers it, since there is no task to read
			}
		case answersStale:
			if !c.mayBeStale() {
				return true
			}
		default:
			return true
		}
	}
	return false
}
