package shard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

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

// await is a caller that waits for the end of a task. It is answered by the first of four events.
// The first reading finds that the task has ended; a turn ends the task; endWait reads the current
// state; or the shard stops. Only the event that removes the await from awaits
// answers it, so it is answered once.
type await struct {
	tenant string
	ref    queue.Ref
	reply  func(Awaited, error)

	waits bool   // the await is or was in awaits, so publish must not reply
	look  *begin // the first reading of the task
}

func (c *await) decide(d *decider, nowMs int64) {
	c.waits = true
	d.awaits.add(c)
	c.look = c.examine(false)
	c.look.decide(d, nowMs)
}

// examine returns a command that reads the task. The reading ends the wait if the task has ended,
// or if last is true.
func (c *await) examine(last bool) *begin {
	var a *answer
	return &begin{examine: &examine{
		tenant: c.tenant, refs: []queue.Ref{c.ref},
		resolve: func(d *decider, _ int, f *Found, err error) { a = c.resolve(d, f, err, last) },
		reply: func(s *Shard, err error) {
			if a != nil {
				a.publish(s, err)
			} // otherwise the wait continues or was answered
		},
	}}
}

// resolve returns the answer if the wait ends here, else nil.
func (c *await) resolve(d *decider, f *Found, err error, last bool) *answer {
	if !d.awaits.has(c) {
		return nil // the wait was answered
	}
	a := &answer{to: c}
	switch {
	case errors.Is(err, ErrNotFound): // it may be done: a result may be stored
		if q, ok := d.state.Queue(c.ref.Queue); ok && q.Tenant() == c.tenant {
			a.isDone(d.state)
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
	d.awaits.remove(c)
	return a
}

// publish answers a wait that was never decided because the shard had failed. For other waits, it
// continues the first reading; decider.end answers them when the shard stops.
func (c *await) publish(s *Shard, err error) {
	if !c.waits {
		c.reply(Awaited{}, err)
		return
	}
	c.look.publish(s, err)
}

// awaits contains the callers that wait for the ends of tasks. The deciding goroutine owns it.
type awaits struct {
	state *queue.State
	of    map[queue.Ref][]*await
}

func (w *awaits) add(c *await) {
	w.of[c.ref] = append(w.of[c.ref], c)
	w.state.Watch(c.ref)
}

func (w *awaits) has(c *await) bool { return slices.Contains(w.of[c.ref], c) }

func (w *awaits) remove(c *await) {
	w.state.Unwatch(c.ref)
	left := w.of[c.ref]
	i := slices.Index(left, c)
	if left = slices.Delete(left, i, i+1); len(left) > 0 {
		w.of[c.ref] = left
	} else {
		delete(w.of, c.ref)
	}
}

// ended appends the answers of the awaits whose tasks this turn ended to commands.
func (w *awaits) ended(commands []command) []command {
	for _, e := range w.state.Ended() {
		for _, c := range w.of[e.Ref] {
			w.state.Unwatch(c.ref)
			a := &answer{to: c}
			switch e.How {
			case queue.Completed:
				a.seen = true
				a.isDone(w.state)
			case queue.Died:
				a.out.State, a.attempts = Dead, e.Attempts
			case queue.Removed:
				a.err = ErrNotFound
			}
			commands = append(commands, a)
		}
		delete(w.of, e.Ref)
	}
	return commands
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

func (*answer) decide(*decider, int64) {}

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

func (a *answer) isDone(state *queue.State) {
	a.out.State = Done
	a.buckets = append([]int64(nil), state.ResultBuckets()...)
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

// endWait is the command that ends a wait by answering it with the current state of the task.
type endWait struct {
	*await
	last *begin
}

func (g *endWait) decide(d *decider, nowMs int64) {
	if !d.awaits.has(g.await) {
		return // the wait was answered
	}
	g.last = g.examine(true)
	g.last.decide(d, nowMs)
}

func (g *endWait) publish(s *Shard, err error) {
	if g.last != nil {
		g.last.publish(s, err)
	}
}
