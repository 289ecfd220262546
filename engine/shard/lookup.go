package shard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// TaskState is the state of a task.
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
	Lease      queue.LeaseRef // set for a leased task
	DeadRecord queue.Dead     // set for a dead task
	LastError  string
	// Attempts is the history of a listed dead task, oldest first.
	Attempts []storage.NumberedAttempt
}

// Lookup finds one task of a tenant. reply is called as for Enqueue, with ErrNotFound if the task
// is not stored.
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

// Awaited is the end of a task, or its state when the wait was cancelled.
type Awaited struct {
	State     TaskState
	Result    queue.Result // set for a done task whose result is stored
	LastError string       // set for a dead task
}

// Await calls reply once, from the publishing goroutine, when a task is done, dead or removed. The
// error is ErrNotFound if the task was removed or is unknown, or if it was done before the call and
// no result is stored. cancel ends the wait: reply is then called with the task's current state,
// unless it was called before.
func (s *Shard) Await(tenant string, ref queue.Ref, reply func(Awaited, error)) (cancel func(), err error) {
	c := &await{tenant: tenant, ref: ref, reply: reply}
	if err := s.inbox.put(c, load{tasks: 1}); err != nil {
		return nil, err
	}
	return func() {
		if s.inbox.put(&endWait{await: c}, load{}) != nil {
			return // a stopping shard answers all waits anyway
		}
	}, nil
}

// await is a wait for the end of a task. The first of four events answers it: the first reading
// finds that the task has ended; a turn ends the task; the reading that endWait starts returns the
// current state; or the shard stops. Only the event that removes the await from Shard.waiting
// answers it, so it is answered once.
type await struct {
	tenant string
	ref    queue.Ref
	reply  func(Awaited, error)

	waits bool   // the await is or was in Shard.waiting, so publish must not reply
	look  *begin // the first reading of the task
}

func (c *await) decide(s *Shard, nowMs int64) {
	c.waits = true
	s.waiting[c.ref] = append(s.waiting[c.ref], c)
	s.state.Watch(c.ref)
	c.look = c.examine(false)
	c.look.decide(s, nowMs)
}

// examine returns a command that reads the task. The reading ends the wait if the task has ended,
// or if last is true.
func (c *await) examine(last bool) *begin {
	var a *answer
	return &begin{examine: &examine{
		tenant: c.tenant, refs: []queue.Ref{c.ref},
		resolve: func(s *Shard, _ int, f *Found, err error) { a = c.resolve(s, f, err, last) },
		reply: func(s *Shard, err error) {
			if a != nil {
				a.publish(s, err)
			} // otherwise the wait continues or was answered
		},
	}}
}

// resolve returns the answer if the wait ends here, else nil.
func (c *await) resolve(s *Shard, f *Found, err error, last bool) *answer {
	i := slices.Index(s.waiting[c.ref], c)
	if i < 0 {
		return nil // the wait was answered
	}
	a := &answer{to: c}
	switch {
	case errors.Is(err, ErrNotFound): // it may be done: a result may be stored
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

// publish answers a wait that was never decided because the shard had failed. For other waits, it
// continues the first reading; Shard.unanswered answers them when the shard stops.
func (c *await) publish(s *Shard, err error) {
	if !c.waits {
		c.reply(Awaited{}, err)
		return
	}
	c.look.publish(s, err)
}

// answer is the command that answers a wait. Its publish reads the result or the last error from
// the store.
type answer struct {
	to       *await
	out      Awaited
	err      error
	seen     bool    // the task was completed during the wait, so a missing result is no error
	attempts uint32  // number of attempts of a dead task
	buckets  []int64 // result buckets that may contain the result of a done task
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

// endWait is the command that ends a wait by answering it with the current state of the task.
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
