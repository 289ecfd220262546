package shard

import (
	"slices"
	"time"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// turn is what was decided at once, on its way to be published.
type turn struct {
	early     []earlyCommit // commits that had to be visible before the rest could be decided
	commit    storage.Commit
	committed bool             // commit is set: the turn changed something
	verified  storage.Proposal // of a replicated store, if nothing was committed: confirms that this node leads
	err       error
	times     batchTimes
	nowMs     int64     // the time of the state machine when it was decided
	commands  []command // to answer
	grants    []queue.Grant
}

// turn decides and commits commands, and hands them to the publishing goroutine. since is when the oldest command arrived, began
// when the turn began.
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
	n := len(t.commands) // they belong to the publishing goroutine from here on
	s.pipe <- t
	planted.Send(n)
}

// decideAndCommit carries a turn through the phases decide and commit. A broken invariant of the state machine ends the turn before its
// commit: what the state wrote to the batch is never submitted.
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

// decide decides the turn's commands, and leases ready tasks to waiters.
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
	t.err = s.failure // of a command that had to wait for a commit
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

// stepOf returns the step of a task's cycle that a command is.
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

// takeCarried returns the commands that earlier turns left to a later one, and then the given ones.
func (s *Shard) takeCarried(commands []command) []command {
	if len(s.carried) > 0 {
		commands = append(s.carried, commands...)
		s.carried = nil
	}
	return commands
}

// carry ends the closed subscriptions, and returns the commands that this turn answers. Later turns answer two kinds of commands.
// The turn that has leased all ready tasks answers the end of a subscription that stays. A turn after the Refill answers a purge
// that needs a Refill, so that its caller does not repeat the call meanwhile.
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
