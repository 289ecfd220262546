package shard

import (
	"errors"

	"github.com/pronybench/prony/engine/internal/planted"
)

// What is particular to a shard on a replicated store, which lives as long as its node leads.

// Lose stops a replicated shard whose node has lost the lead, and returns when all that waits or is under way is
// answered: with a *NotLeaderError where nothing was done.
func (s *Shard) Lose() {
	s.inbox.close(&NotLeaderError{s.opts.Number})
	<-s.done
	s.reading.Wait()
}

// end answers all that still waits. The deciding goroutine's.
func (s *Shard) end(why error) {
	if s.opts.Replicate == nil {
		why = errors.Join(why, s.failure)
	} else {
		s.state.LetGo()
	}
	left := s.abandoned()
	for sub := range s.subs {
		left = append(left, &cutOff{sub: sub})
	}
	if len(left) > 0 {
		n := len(left)
		s.pipe <- decided{commands: left, err: why}
		planted.Send(n)
	}
}

// cutOff tells a subscriber of a replicated shard that the lead was lost.
type cutOff struct{ sub *Subscription }

func (*cutOff) decide(*Shard, int64) {}

func (c *cutOff) release(_ *Shard, err error) { c.sub.fail(err) }

// entryTasksMax is about how many tasks and settlements one entry of a replicated store's log has. Larger ones would go from
// stage to stage as one, each idle while another works: deciding, writing on three nodes, applying, answering.
const entryTasksMax = 512

// entry returns how many of the commands, of which there are some, are to be committed together: all, unless the store
// is replicated.
func (s *Shard) entry(commands []command) int {
	if s.opts.Replicate == nil {
		return len(commands)
	}
	tasks := 0
	for i, c := range commands {
		if s.opts.Alone && i == 1 || tasks >= entryTasksMax {
			return i
		}
		switch c := c.(type) {
		case *enqueue:
			tasks += len(c.tasks)
		case *settle:
			tasks += len(c.settlements)
		default:
			tasks++
		}
	}
	return len(commands)
}

// answers says whether any of the commands is answered with what the state holds, so that it must be a leader's.
func answers(commands []command) bool {
	for _, c := range commands {
		switch c.(type) {
		case *change, *subscribe, *unsubscribe:
		default:
			return true
		}
	}
	return false
}
