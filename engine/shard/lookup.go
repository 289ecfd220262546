package shard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// TaskState is where a task is in its life.
type TaskState uint8

// The states.
const (
	Ready TaskState = iota + 1
	Delayed
	Leased
	Done
	Dead
)

// Found is a task that was looked up or listed.
type Found struct {
	queue.Stored
	Queue      string
	State      TaskState
	Lease      queue.LeaseRef // of a leased task
	DeadRecord queue.Dead     // of a dead task
	LastError  string
	// Attempts is the history of a listed dead task, oldest first.
	Attempts []storage.NumberedAttempt
}

// Lookup finds one task of a tenant; reply is called as for Enqueue, with ErrNotFound if need be.
func (s *Shard) Lookup(tenant string, ref queue.Ref, reply func(Found, error)) error {
	var out Found
	var refused error
	return s.inbox.put(&begin{examine: &examine{
		tenant: tenant, refs: []queue.Ref{ref}, payloads: true,
		resolve: func(_ *Shard, _ int, f *Found, err error) {
			if refused = err; err == nil {
				out = *f
			}
		},
		reply: func(_ *Shard, err error) { reply(out, errors.Join(refused, err)) },
	}}, load{tasks: 1})
}

// Awaited is how a task ended, or its state at the end of the wait.
type Awaited struct {
	State     TaskState
	Result    queue.Result // of a done task whose result is kept
	LastError string       // of a dead task
}

// Await calls reply once, when a task is done, dead or removed, from the publishing goroutine; with ErrNotFound if the shard does not know
// the task, or its result is not kept any more. cancel ends the wait: unless reply was called, it is called with the task's state.
func (s *Shard) Await(tenant string, ref queue.Ref, reply func(Awaited, error)) (cancel func(), err error) {
	c := &await{tenant: tenant, ref: ref, reply: reply}
	if err := s.inbox.put(c, load{tasks: 1}); err != nil {
		return nil, err
	}
	return func() {
		if s.inbox.put(&endWait{await: c}, load{}) != nil {
			return // the shard is stopping, and answers all that wait
		}
	}, nil
}

// await is a wait for the end of a task. It gets one answer: when the first reading finds that the task has ended, with the commit that
// ends the task, with the reading of endWait, or when the shard stops.
type await struct {
	tenant string
	ref    queue.Ref
	reply  func(Awaited, error)

	waits bool   // it is or was in Shard.waiting; owned by the deciding goroutine
	look  *begin // the reading of the task when the wait begins
}

func (c *await) decide(s *Shard, nowMs int64) {
	c.waits = true
	s.waiting[c.ref] = append(s.waiting[c.ref], c)
	s.state.Watch(c.ref)
	c.look = c.examine(false)
	c.look.decide(s, nowMs)
}

// examine reads the task. The wait ends if the task has ended or this is the last reading.
func (c *await) examine(last bool) *begin {
	var a *answer
	return &begin{examine: &examine{
		tenant: c.tenant, refs: []queue.Ref{c.ref},
		resolve: func(s *Shard, _ int, f *Found, err error) { a = c.resolve(s, f, err, last) },
		reply: func(s *Shard, err error) {
			if a != nil {
				a.publish(s, err)
			} // otherwise it still waits, or was answered; a shard that stops answers all waits
		},
	}}
}

// resolve returns the answer if the wait ends here.
func (c *await) resolve(s *Shard, f *Found, err error, last bool) *answer {
	i := slices.Index(s.waiting[c.ref], c)
	if i < 0 {
		return nil // the wait was answered
	}
	a := &answer{to: c}
	switch {
	case errors.Is(err, ErrNotFound): // it is done, if its result is kept
		if q, ok := s.state.Queue(c.ref.Queue); ok && q.Tenant() == c.tenant {
			a.isDone(s)
		} else {
			a.err = err
		}
	case err != nil:
		a.err = err
	case f.State == Dead:
		a.out.State, a.attempts = Dead, f.Progress.Attempts
	case last:
		a.out.State = f.State
	default:
		return nil
	}
	s.state.Unwatch(c.ref)
	if s.waiting[c.ref] = slices.Delete(s.waiting[c.ref], i, i+1); len(s.waiting[c.ref]) == 0 {
		delete(s.waiting, c.ref)
	}
	return a
}

// publish answers a wait that was never decided because an earlier decision failed. Other waits are answered when the shard stops.
func (c *await) publish(s *Shard, err error) {
	if !c.waits {
		c.reply(Awaited{}, err)
		return
	}
	c.look.publish(s, err)
}

// answer is the answer to a wait.
type answer struct {
	to       *await
	out      Awaited
	err      error
	seen     bool    // the task was completed during the wait
	attempts uint32  // the used-up attempts of a dead task
	buckets  []int64 // the buckets that may have the result of a done task
}

func (*answer) decide(*Shard, int64) {}

func (a *answer) publish(s *Shard, err error) {
	switch {
	case err != nil || a.err != nil:
		err = errors.Join(a.err, err)
	case a.out.State == Done:
		err = a.readResult(s)
	case a.out.State == Dead && a.attempts > 0:
		a.out.LastError, err = s.store.LastError(storage.StepOther, a.to.ref, a.attempts)
	}
	a.to.reply(a.out, err)
}

func (a *answer) isDone(s *Shard) {
	a.out.State = Done
	a.buckets = append([]int64(nil), s.state.ResultBuckets()...)
}

func (a *answer) readResult(s *Shard) error {
	r, found, err := s.store.Result(a.to.ref, a.buckets)
	switch {
	case err != nil:
		return fmt.Errorf("read a result: %w", err)
	case found && r.RetainedUntilMs > s.opts.NowMs():
		a.out.Result = r
	case !a.seen:
		return ErrNotFound
	}
	return nil
}

// ended adds the answers to the waits for tasks that ended in this turn.
func (s *Shard) ended(commands []command) []command {
	for _, e := range s.state.Ended() {
		for _, c := range s.waiting[e.Ref] {
			s.state.Unwatch(c.ref)
			a := &answer{to: c}
			switch e.How {
			case queue.Completed:
				a.seen = true
				a.isDone(s)
			case queue.Died:
				a.out.State, a.attempts = Dead, e.Attempts
			case queue.Removed:
				a.err = ErrNotFound
			}
			commands = append(commands, a)
		}
		delete(s.waiting, e.Ref)
	}
	return commands
}

// unanswered returns commands that answer all waits and requests, when the shard stops.
func (s *Shard) unanswered() (commands []command) {
	for _, c := range s.asking {
		commands = append(commands, &figuresAnswer{c})
	}
	s.asking = nil
	commands, s.carried = append(commands, s.carried...), nil
	for _, all := range s.waiting {
		for _, c := range all {
			commands = append(commands, &answer{to: c})
		}
	}
	clear(s.waiting)
	return commands
}

// endWait ends a wait with the current state of the task.
type endWait struct {
	*await
	last *begin
}

func (g *endWait) decide(s *Shard, nowMs int64) {
	if !slices.Contains(s.waiting[g.ref], g.await) {
		return // the wait was answered
	}
	g.last = g.examine(true)
	g.last.decide(s, nowMs)
}

func (g *endWait) publish(s *Shard, err error) {
	if g.last != nil {
		g.last.publish(s, err)
	}
}
