package shard

import (
	"slices"
	"time"

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
	verified  storage.Proposal // confirms that this node leads; see commits.submit
	err       error
	times     batchTimes
	nowMs     int64     // the time of the state machine at the decision
	commands  []command // the commands that the turn answers
	grants    []queue.Grant
	cancelled []queue.CancelledLease
	sent      uint32 // the shards to which messages were sent: see queue.State.Outgoing
	sentBelow uint64
}

// decider decides the commands of a shard. The deciding goroutine owns it.
type decider struct {
	shard         *Shard
	state         *queue.State
	commits       commits
	subscriptions subscriptions
	refills       refills
	awaits        awaits
	figures       figuresRequests

	tickedMs int64     // the state machine's time
	failure  error     // why the shard failed; after that it decides nothing
	carried  []command // commands that a later turn answers: see carry
	toRead   []*begin  // examines that began in this turn
	resolved int       // number of tasks that this turn resolved
}

// turn decides and commits commands, and passes them to the publishing goroutine. since is the
// arrival time of the oldest command, and began is the time when the turn started.
//
// After a failure, turn decides nothing, and the publisher answers the commands with the failure.
// The same applies to commands that earlier turns left unanswered (decider.carried).
func (d *decider) turn(commands []command, since, began time.Duration) {
	t := turn{commands: commands, err: d.failure}
	if t.err == nil {
		t.times = batchTimes{since: since, began: began}
		d.decideAndCommit(&t)
		if d.shard.opts.Turned != nil {
			d.shard.opts.Turned(TurnStats{Items: d.state.Worked() + d.resolved, Took: stages.Now() - began})
		}
		d.resolved = 0
	} else {
		t.commands = d.takeCarried(t.commands)
	}
	if d.failure = t.err; t.err != nil {
		d.shard.fail(t.err)
	}
	d.send(t)
}

// send passes a turn to the publishing goroutine, which owns it and its commands from then on.
func (d *decider) send(t turn) {
	n := len(t.commands)
	d.shard.pipe <- t
	plantedSent(n)
}

// decideAndCommit runs the phases decide and commit. If an invariant of the state machine is
// broken, the state machine panics with a *queue.BrokenError, which ends the turn before its
// commit. The mutations in the batch are then never submitted: t.err also becomes decider.failure,
// after which no command is decided. The publisher still waits for the commits that the turn
// submitted early. decideAndCommit does not recover from other panics.
func (d *decider) decideAndCommit(t *turn) {
	defer func() {
		if broken := queue.Broken(recover()); broken != nil {
			t.err, t.times = broken, batchTimes{}
			t.commands, t.grants, t.committed = d.takeCarried(t.commands), nil, false
			t.early = append(t.early, d.commits.takeEarly()...)
			d.readSubmitted(t.err)
		}
	}()
	d.decide(t)
	d.commits.submit(t)
	t.sent, t.sentBelow = d.state.Outgoing()
	d.readSubmitted(t.err)
	if t.err == nil {
		t.commands = d.refills.take(t.commands)
	}
}

// decide applies the turn's commands to the state machine in order, and then leases ready tasks to
// waiters. The order of the steps matters. Dispatch runs after all commands, so that tasks of this
// turn can be leased with credit of this turn. Closed subscriptions end after dispatch, because a
// claim that does not wait is closed immediately and must still get the ready tasks. The ends of
// tasks are collected last: the turn that commits them then also answers the callers that wait for
// them.
func (d *decider) decide(t *turn) {
	d.commits.batch.Begin(storage.StepOther)
	now, full := d.pass()
	t.nowMs = now
	for _, c := range t.commands {
		d.commits.batch.Begin(stepOf(c))
		d.decideOrRefuse(c, now, full)
	}
	t.commands = d.takeCarried(t.commands)
	t.err = d.failure // set by a command that read the store
	switch {
	case t.err != nil:
		d.subscriptions.leave(func(*Subscription) bool { return false })
	case full != nil:
		t.commands = d.carry(t.commands, false)
	default:
		d.commits.batch.Begin(storage.StepClaim)
		t.grants = d.state.Dispatch(now, nil)
		t.commands = d.carry(t.commands, d.state.Exhausted())
	}
	t.early = d.commits.takeEarly()
	t.cancelled = d.state.CancelledLeases()
	t.commands = d.awaits.ended(t.commands)
	if t.err == nil {
		t.commands = d.figures.answer(t.commands, now)
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

func (d *decider) takeCarried(commands []command) []command {
	if len(d.carried) > 0 {
		commands = append(d.carried, commands...)
		d.carried = nil
	}
	return commands
}

// carry ends the closed subscriptions, and returns the commands that this turn answers. It moves
// two kinds of commands to later turns. First, it does not end a closed subscription that may still
// get ready tasks, because dispatch reached its bound (all is true) or a Refill is under way; a
// later turn answers the command that closed it. Second, a purge that removed nothing because it
// needs a Refill is answered after the Refill; otherwise its caller would repeat the call in vain.
func (d *decider) carry(commands []command, all bool) []command {
	if len(d.subscriptions.leaving) == 0 && d.refills.unanswered == 0 {
		return commands
	}
	stays := func(sub *Subscription) bool { return sub.waiter != nil && (all || d.state.Awaits(sub.waiter)) }
	commands = slices.DeleteFunc(commands, func(c command) bool {
		later := false
		switch c := c.(type) {
		case *poll:
			later = stays(c.sub)
		case *unsubscribe:
			later = stays(c.sub)
		case *query[Purged]:
			later = d.refills.unanswered > 0 && c.err == nil && c.out.More && c.out.Removed == 0
		}
		if later {
			d.carried = append(d.carried, c)
		}
		return later
	})
	d.subscriptions.leave(stays)
	return commands
}
