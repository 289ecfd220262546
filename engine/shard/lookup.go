package shard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// ErrNotFound says that the tenant has no such task, or that it is done.
var ErrNotFound = errors.New("no such task, or it is done")

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
	return s.inbox.put(&lookup{tenant: tenant, ref: ref, reply: reply}, load{tasks: 1})
}

type lookup struct {
	tenant string
	ref    queue.Ref
	found  Found
	reply  func(Found, error)
	err    error
}

func (c *lookup) decide(s *Shard, nowMs int64) { c.found, c.err = s.look(c.tenant, c.ref, nowMs) }

func (c *lookup) release(s *Shard, err error) {
	if c.err == nil && err == nil && c.found.Progress.Attempts > 0 {
		c.found.LastError, c.err = s.store.LastError(c.ref, c.found.Progress.Attempts)
	}
	c.reply(c.found, errors.Join(c.err, err))
}

// look reads a task and says where it is, after everything decided so far. The deciding goroutine's.
func (s *Shard) look(tenant string, ref queue.Ref, nowMs int64) (f Found, err error) {
	q, ok := s.state.Queue(ref.Queue)
	if !ok || q.Tenant() != tenant || ref.Priority > queue.MaxPriority {
		return f, ErrNotFound
	}
	if err := s.submit(); err != nil {
		s.failure = err
		return f, err
	}
	stored, found, err := s.store.Look(ref)
	if err != nil {
		return f, fmt.Errorf("look up a task: %w", err)
	}
	if !found {
		return f, ErrNotFound
	}
	f.Stored, f.Queue = stored, q.Name()
	switch {
	case stored.Dead:
		f.State = Dead
	case s.state.Leased(&stored):
		f.State = Leased
		f.Lease, _ = s.state.FindLease(ref)
	case stored.Progress.DueAtMs > nowMs:
		f.State = Delayed
	default:
		f.State = Ready
	}
	return f, nil
}

// Awaited is how a task ended, or where it was when the wait was over.
type Awaited struct {
	State     TaskState
	Result    queue.Result // of a done task whose result is kept
	LastError string       // of a dead task
}

// Await calls reply once, when a task is done or dead or was removed, from the releasing goroutine: with
// ErrNotFound if nothing is known of the task, or no longer. cancel ends the wait: reply is called with the state
// that the task is in then, unless it was called before.
func (s *Shard) Await(tenant string, ref queue.Ref, reply func(Awaited, error)) (cancel func(), err error) {
	c := &await{tenant: tenant, ref: ref, reply: reply}
	if err := s.inbox.put(c, load{tasks: 1}); err != nil {
		return nil, err
	}
	return func() {
		if s.inbox.put(&giveUp{await: c}, load{}) != nil {
			return // the shard is stopping, and answers all that wait
		}
	}, nil
}

// await is a wait for the end of a task. Its answer is another command, of which it gets one: with the command
// that began it if the task had ended, or with the commit in which the wait ends.
type await struct {
	tenant string
	ref    queue.Ref
	reply  func(Awaited, error)
	now    *answer // nil: it waits
}

// answer is the answer to a wait.
type answer struct {
	to       *await
	out      Awaited
	err      error
	seen     bool    // completed while it was waited for
	attempts uint32  // used up by a dead task
	buckets  []int64 // where the result of a done task may be
}

func (c *await) decide(s *Shard, nowMs int64) {
	f, err := s.look(c.tenant, c.ref, nowMs)
	a := &answer{to: c, out: Awaited{State: f.State}}
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
		a.attempts = f.Progress.Attempts
	default:
		s.waiting[c.ref] = append(s.waiting[c.ref], c)
		s.state.Watch(c.ref)
		return
	}
	c.now = a
}

// release does nothing for one that waits: if the commit failed, the shard stops and answers all that wait.
func (c *await) release(s *Shard, err error) {
	if c.now != nil {
		c.now.release(s, err)
	}
}

func (*answer) decide(*Shard, int64) {}

func (a *answer) release(s *Shard, err error) {
	switch {
	case err != nil || a.err != nil:
		err = errors.Join(a.err, err)
	case a.out.State == Done:
		err = a.readResult(s)
	case a.out.State == Dead && a.attempts > 0:
		a.out.LastError, err = s.store.LastError(a.to.ref, a.attempts)
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

// ended adds the answers to those who wait for tasks that ended with this commit.
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

// abandoned answers all that still waits, when the shard stops.
func (s *Shard) abandoned() (commands []command) {
	for _, all := range s.waiting {
		for _, c := range all {
			commands = append(commands, &answer{to: c})
		}
	}
	clear(s.waiting)
	return commands
}

// giveUp ends a wait.
type giveUp struct {
	*await
	now *answer // nil: it was answered before
}

func (g *giveUp) decide(s *Shard, nowMs int64) {
	i := slices.Index(s.waiting[g.ref], g.await)
	if i < 0 {
		return
	}
	f, err := s.look(g.tenant, g.ref, nowMs)
	if errors.Is(err, ErrNotFound) || f.State == Dead {
		return // it ends with this very commit, and is answered so
	}
	s.state.Unwatch(g.ref)
	if s.waiting[g.ref] = slices.Delete(s.waiting[g.ref], i, i+1); len(s.waiting[g.ref]) == 0 {
		delete(s.waiting, g.ref)
	}
	g.now = &answer{to: g.await, out: Awaited{State: f.State}, err: err}
}

func (g *giveUp) release(s *Shard, err error) {
	if g.now != nil {
		g.now.release(s, err)
	}
}
