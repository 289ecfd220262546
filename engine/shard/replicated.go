package shard

import (
	"errors"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/queue"
)

// A replicated shard lives as long as the tenure of its node.

// batchesSkipped lease batches are skipped as well, in case an earlier term exceeded its range. A loss of power takes fewer.
const batchesSkipped = 1 << 24

// skipNumbers makes a leader issue ids and tokens that no leader of an earlier term issued. If a majority loses power at durability
// interval or none, commits of an earlier leader can be lost, including reservations. A leader's term cannot be lost: it is with the votes on
// the disks of a majority in every mode. Queue numbers are not covered, because the seqs alone make ids unique.
func skipNumbers(from *queue.Recovered, term uint64) {
	from.Reserved = from.Reserved.InTerm(term)
	from.Reserved.Batch = max(from.Reserved.Batch, from.Meta.NextBatch+batchesSkipped)
}

// Lose stops a replicated shard whose node has lost leadership. It returns when all commands are answered: with a *NotLeaderError if nothing
// was done.
func (s *Shard) Lose() {
	s.inbox.close(&NotLeaderError{s.opts.Number})
	<-s.done
	s.reading.Wait()
}

// end answers all commands that still wait. The deciding goroutine calls it last.
func (s *Shard) end(why error) {
	if s.opts.Replicate == nil {
		why = errors.Join(why, s.failure)
	} else {
		s.state.LeaveAccounts()
	}
	left := s.unanswered()
	for sub := range s.subs {
		left = append(left, &endSubscription{sub: sub})
	}
	if len(left) > 0 {
		n := len(left)
		s.pipe <- turn{commands: left, err: why}
		planted.Send(n)
	}
}

// endSubscription ends a subscription of a replicated shard after the loss of leadership.
type endSubscription struct{ sub *Subscription }

func (*endSubscription) decide(*Shard, int64) {}

func (c *endSubscription) publish(_ *Shard, err error) { c.sub.fail(err) }

// answersStale is a command whose answer may be that of a node that has just lost leadership.
type answersStale interface{ mayBeStale() bool }

// answers reports whether an answer to the commands depends on the state, so that this node must lead.
func answers(commands []command) bool {
	for _, c := range commands {
		switch c := c.(type) {
		case *change, *subscribe, *unsubscribe, *visible, *refilled:
		case *begin:
			if !c.looks {
				return true // it found no task to look at
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
