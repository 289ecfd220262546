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
		if s.inbox.put(&giveUp{c}, load{}) != nil {
			return // the shard is stopping, and answers all that wait
		}
	}, nil
}

// await is a wait for the end of a task. It is released once it is answered: with the command that began it if
// the task had ended, or with the commit in which it ends.
type await struct {
	tenant   string
	ref      queue.Ref
	reply    func(Awaited, error)
	waiting  bool // the deciding goroutine's
	answered bool
	out      Awaited
	err      error
	attempts uint32  // used up by a dead task
	buckets  []int64 // where a result may be
}

func (c *await) decide(s *Shard, nowMs int64) {
	f, err := s.look(c.tenant, c.ref, nowMs)
	c.out.State = f.State
	switch {
	case errors.Is(err, ErrNotFound): // it is done, if its result is kept
		if q, ok := s.state.Queue(c.ref.Queue); ok && q.Tenant() == c.tenant {
			c.isDone(s)
			return
		}
		c.answered, c.err = true, ErrNotFound
	case err != nil:
		c.answered, c.err = true, err
	case f.State == Dead:
		c.answered, c.attempts = true, f.Progress.Attempts
	default:
		c.waiting = true
		s.waiting[c.ref] = append(s.waiting[c.ref], c)
		s.state.Watch(c.ref)
	}
}

func (c *await) isDone(s *Shard) {
	c.answered, c.out.State = true, Done
	c.buckets = append([]int64(nil), s.state.ResultBuckets()...)
}

func (c *await) release(s *Shard, err error) {
	switch {
	case err == nil && !c.answered:
		return // it waits
	case err != nil || c.err != nil:
		err = errors.Join(c.err, err)
	case c.out.State == Done:
		err = c.readResult(s)
	case c.out.State == Dead && c.attempts > 0:
		c.out.LastError, err = s.store.LastError(c.ref, c.attempts)
	}
	c.reply(c.out, err)
}

func (c *await) readResult(s *Shard) error {
	r, found, err := s.store.Result(c.ref, c.buckets)
	if err != nil {
		return fmt.Errorf("read a result: %w", err)
	}
	if !found || r.RetainedUntilMs <= s.opts.NowMs() {
		return ErrNotFound
	}
	c.out.Result = r
	return nil
}

// ended adds the waits for tasks that ended with this commit to what is released after it.
func (s *Shard) ended(commands []command) []command {
	for _, e := range s.state.Ended() {
		for _, c := range s.waiting[e.Ref] {
			c.waiting = false
			s.state.Unwatch(c.ref)
			switch e.How {
			case queue.Completed:
				c.isDone(s)
			case queue.Died:
				c.answered, c.out.State, c.attempts = true, Dead, e.Attempts
			case queue.Removed:
				c.answered, c.err = true, ErrNotFound
			}
			commands = append(commands, c)
		}
		delete(s.waiting, e.Ref)
	}
	return commands
}

// abandoned returns all that still waits, when the shard stops.
func (s *Shard) abandoned() (commands []command) {
	for _, all := range s.waiting {
		for _, c := range all {
			commands = append(commands, c)
		}
	}
	clear(s.waiting)
	return commands
}

// giveUp ends a wait.
type giveUp struct{ c *await }

func (g *giveUp) decide(s *Shard, nowMs int64) {
	c := g.c
	if !c.waiting {
		g.c = nil // it is answered, or about to be
		return
	}
	c.waiting, c.answered = false, true
	s.state.Unwatch(c.ref)
	s.waiting[c.ref] = slices.DeleteFunc(s.waiting[c.ref], func(o *await) bool { return o == c })
	if len(s.waiting[c.ref]) == 0 {
		delete(s.waiting, c.ref)
	}
	f, err := s.look(c.tenant, c.ref, nowMs)
	c.out.State, c.err = f.State, err
}

func (g *giveUp) release(s *Shard, err error) {
	if g.c != nil {
		g.c.release(s, err)
	}
}
