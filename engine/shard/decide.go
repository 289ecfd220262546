package shard

import (
	"slices"
	"time"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// turn is a group of commands that are decided and committed together, and the decisions about
// them. The deciding goroutine fills it in and sends it through Shard.pipe. From then on the
// publishing goroutine owns it.
type turn struct {
	early     []earlyCommit // commits that had to be visible before later decisions
	commit    storage.Commit
	committed bool             // whether commit is set; false if the turn changed nothing
	verified  storage.Proposal // confirms that this node leads; see commit
	err       error
	times     batchTimes
	nowMs     int64     // the time of the state machine at the decision
	commands  []command // the commands that the turn answers
	grants    []queue.Grant
}

// turn decides and commits commands, and passes them to the publishing goroutine. since is the
// arrival time of the oldest command, and began is the time when the turn started.
//
// After a failure, turn decides nothing, and publish answers the commands with the failure. The
// same applies to commands that earlier turns left unanswered (Shard.carried).
func (s *Shard) turn(commands []command, since, began time.Duration) {
	t := turn{commands: commands, err: s.failure}
	if t.err == nil {
		t.times = batchTimes{since: since, began: began}
		s.decideAndCommit(&t)
		if s.opts.Turned != nil {
			s.opts.Turned(TurnStats{Items: s.state.Worked() + s.resolved, Took: stages.Now() - began})
		}
		s.resolved = 0
	} else {
		t.commands = s.takeCarried(t.commands)
	}
	if s.failure = t.err; t.err != nil {
		s.fail(t.err)
	}
	n := len(t.commands) // after the send below, the publishing goroutine owns the commands
	s.pipe <- t
	planted.Send(n)
}

// decideAndCommit runs the phases decide and commit. If an invariant of the state machine is
// broken, the state machine panics with a *queue.BrokenError, which ends the turn before its
// commit. The mutations in the batch are then never submitted: t.err also becomes Shard.failure,
// after which no command is decided. publish still waits for the commits that the turn submitted
// early. decideAndCommit does not recover from other panics.
func (s *Shard) decideAndCommit(t *turn) {
	defer func() {
		if broken := queue.Broken(recover()); broken != nil {
			t.err, t.times = broken, batchTimes{}
			t.commands, t.grants, t.committed = s.takeCarried(t.commands), nil, false
			t.early, s.early = append(t.early, s.early...), nil
			s.readSubmitted(t.err)
		}
	}()
	s.decide(t)
	s.commit(t)
	s.readSubmitted(t.err)
	if t.err == nil {
		t.commands = s.takeRefills(t.commands)
	}
}

// decide applies the turn's commands to the state machine in order, and then leases ready tasks to
// waiters. The order of the steps matters. Dispatch runs after all commands, so that tasks of this
// turn can be leased with credit of this turn. Closed subscriptions end after dispatch, because a
// claim that does not wait is closed immediately and must still get the ready tasks. The ends of
// tasks are collected last: the turn that commits them then also answers the callers that wait for
// them.
func (s *Shard) decide(t *turn) {
	s.batch.Begin(storage.StepOther)
	now, full := s.pass()
	t.nowMs = now
	for _, c := range t.commands {
		planted.Command()
		s.batch.Begin(stepOf(c))
		s.decideOrRefuse(c, now, full)
	}
	t.commands = s.takeCarried(t.commands)
	t.err = s.failure // set by a command that read the store
	switch {
	case t.err != nil:
		s.leave(func(*Subscription) bool { return false })
	case full != nil:
		t.commands = s.carry(t.commands, false)
	default:
		s.batch.Begin(storage.StepClaim)
		t.grants = s.state.Dispatch(now, nil)
		t.commands = s.carry(t.commands, s.state.Exhausted())
	}
	t.early, s.early = s.early, nil
	t.commands = s.ended(t.commands)
	if t.err == nil {
		t.commands = s.answerFigures(t.commands, now)
	}
}

func stepOf(c command) storage.Step {
	switch c.(type) {
	case *enqueue:
		return storage.StepEnqueue
	case *settle:
		return storage.StepSettle
	case *subscribe, *change, *unsubscribe, *poll:
		return storage.StepClaim
	}
	return storage.StepOther
}

func (s *Shard) takeCarried(commands []command) []command {
	if len(s.carried) > 0 {
		commands = append(s.carried, commands...)
		s.carried = nil
	}
	return commands
}

// carry ends the closed subscriptions, and returns the commands that this turn answers. It moves
// two kinds of commands to later turns. First, it does not end a closed subscription that may still
// get ready tasks, because dispatch reached its bound (all is true) or a Refill is under way; a
// later turn answers the command that closed it. Second, a purge that removed nothing because it
// needs a Refill is answered after the Refill; otherwise its caller would repeat the call in vain.
func (s *Shard) carry(commands []command, all bool) []command {
	if len(s.leaving) == 0 && s.refilling == 0 {
		return commands
	}
	stays := func(sub *Subscription) bool { return sub.waiter != nil && (all || s.state.Awaits(sub.waiter)) }
	commands = slices.DeleteFunc(commands, func(c command) bool {
		later := false
		switch c := c.(type) {
		case *poll:
			later = stays(c.sub)
		case *unsubscribe:
			later = stays(c.sub)
		case *query[Purged]:
			later = s.refilling > 0 && c.err == nil && c.out.More && c.out.Removed == 0
		}
		if later {
			s.carried = append(s.carried, c)
		}
		return later
	})
	s.leave(stays)
	return commands
}
