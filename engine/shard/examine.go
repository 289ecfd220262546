package shard

import (
	"fmt"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// examine looks at stored tasks on behalf of a command, without holding the shard up:
//
//  1. The deciding goroutine tracks the tasks.
//  2. Once all that was decided so far is visible in the store, a goroutine of its own reads the tasks.
//  3. The deciding goroutine resolves the tasks, a slice in each turn. A task that changed since it was tracked is read
//     again before.
//
// So nothing waits for a commit in the deciding goroutine, however many tasks a command names. A shard that is closed
// completes what it began.
type examine struct {
	tenant string
	refs   []queue.Ref
	// payloads says that resolve needs the payloads.
	payloads bool
	// changes says that resolve changes the store. It is called with an error instead while the disk has no space for that.
	changes bool
	// resolve is called once for each task, by the deciding goroutine, with what holds at that moment: ErrNotFound for a
	// task that is not stored.
	resolve func(s *Shard, i int, f *Found, err error)
	// reply is called once all tasks are resolved and what came of that is durable, or with an error.
	reply func(s *Shard, err error)

	left   []int // places that are not resolved
	next   int   // in left
	stale  []int // places to be read
	again  []int // places that changed while others were resolved
	marks  []uint64
	looked []storage.Looked
	err    error // why nothing could be read
	rounds int
}

const (
	// sliceMax is how many tasks of one command are resolved in one turn.
	sliceMax = 128
	// roundsMax is how often a task is read while it changes all the time, before the shard waits for its commits.
	roundsMax = 8
)

// begin is the first step of an examine.
type begin struct {
	*examine
	looks   bool // there is something to look at
	reading bool // it began with the decision
}

func (c *begin) decide(s *Shard, _ int64) {
	c.marks, c.looked = make([]uint64, len(c.refs)), make([]storage.Looked, len(c.refs))
	for i, ref := range c.refs {
		if q, ok := s.state.Queue(ref.Queue); !ok || q.Tenant() != c.tenant || ref.Priority > queue.MaxPriority {
			c.resolve(s, i, nil, ErrNotFound)
			continue
		}
		c.marks[i] = s.state.Track(ref)
		c.left = append(c.left, i)
	}
	if len(c.left) > 0 {
		c.stale, c.looks = c.left, true
		s.examining.Add(1)
		s.toRead = append(s.toRead, c)
	}
}

func (c *begin) refuse(err error) bool {
	if c.changes {
		for i := range c.refs {
			c.resolve(nil, i, nil, err)
		}
	}
	return c.changes
}

// readSubmitted begins the readings of this turn if what was decided is visible: a store with a log of its own shows what
// was submitted.
func (s *Shard) readSubmitted(err error) {
	for i, c := range s.toRead {
		if c.reading = err == nil && s.opts.Replicate == nil; c.reading {
			c.read(s)
		}
		s.toRead[i] = nil
	}
	s.toRead = s.toRead[:0]
}

func (c *begin) release(s *Shard, err error) {
	switch {
	case !c.looks: // it was refused, or never decided
		c.reply(s, err)
	case c.reading:
	case err != nil:
		c.finish(s, err)
	default:
		c.read(s)
	}
}

// finish replies, and lets a shard end that was closed.
func (x *examine) finish(s *Shard, err error) {
	x.reply(s, err)
	if s.examining.Add(-1) == 0 {
		s.inbox.signal()
	}
}

// read reads the stale tasks, and has the tasks resolved. What was decided before must be visible.
func (x *examine) read(s *Shard) {
	s.reading.Go(func() {
		refs := make([]queue.Ref, len(x.stale))
		for k, i := range x.stale {
			refs[k] = x.refs[i]
		}
		looked, err := s.store.LookAll(refs, x.payloads)
		if err != nil {
			x.err = fmt.Errorf("look up a task: %w", err)
		}
		for k := range looked {
			x.looked[x.stale[k]] = looked[k]
		}
		s.inbox.goOn(&resolving{examine: x})
	})
}

// resolving resolves one slice of the tasks of an examine.
type resolving struct {
	*examine
	more   bool // another slice follows
	reread bool // another round follows
}

func (c *resolving) decide(s *Shard, nowMs int64) {
	if c.next == 0 && c.changedSince(s) {
		c.reread = true
		return
	}
	for n := 0; n < sliceMax && c.next < len(c.left); n++ {
		i := c.left[c.next]
		if c.err == nil && s.state.Changes(c.refs[i]) != c.marks[i] {
			if c.rounds < roundsMax {
				c.again = append(c.again, i)
				c.next++
				continue
			}
			if n > 0 {
				break // a wait for a commit is a turn of its own
			}
			n = sliceMax
			if !c.readNow(s, i) {
				return
			}
		}
		s.state.Untrack(c.refs[i])
		s.resolved++
		c.one(s, i, nowMs)
		c.next++
	}
	switch {
	case c.next < len(c.left):
		c.more = true
		s.inbox.goOn(&resolving{examine: c.examine})
	case len(c.again) > 0:
		c.left, c.again, c.next = c.again, nil, 0
		c.reread = c.changedSince(s)
	}
}

// refuse has decide resolve what is left with an error.
func (c *resolving) refuse(err error) bool {
	if c.changes && c.err == nil {
		c.err = err
	}
	return false
}

// changedSince tells whether any task has to be read again before the first is resolved, and has the next reading see what
// was decided so far.
func (x *examine) changedSince(s *Shard) bool {
	if x.err != nil || x.rounds == roundsMax {
		return false
	}
	x.stale = nil
	for _, i := range x.left {
		if changes := s.state.Changes(x.refs[i]); changes != x.marks[i] {
			x.marks[i] = changes
			x.stale = append(x.stale, i)
		}
	}
	if len(x.stale) == 0 {
		return false
	}
	x.rounds++
	return true
}

// one resolves a task of which what was read is current.
func (x *examine) one(s *Shard, i int, nowMs int64) {
	if x.err != nil {
		x.resolve(s, i, nil, x.err)
		return
	}
	l := &x.looked[i]
	if !l.Found {
		x.resolve(s, i, nil, ErrNotFound)
		return
	}
	q, _ := s.state.Queue(l.Ref.Queue) // it was there when the task was tracked
	f := &Found{Stored: l.Stored, Queue: q.Name(), LastError: l.LastError}
	switch lease, leased := s.state.FindLease(l.Ref); {
	case leased:
		f.State, f.Lease = Leased, lease
	case l.Dead:
		f.State = Dead
	case l.Progress.DueAtMs > nowMs:
		f.State = Delayed
	default:
		f.State = Ready
	}
	x.resolve(s, i, f, nil)
}

// readNow reads a task after all that was decided so far, and reports false if the shard failed.
func (x *examine) readNow(s *Shard, i int) bool {
	if s.failure = s.submit(); s.failure != nil {
		return false
	}
	looked, err := s.store.LookAll([]queue.Ref{x.refs[i]}, x.payloads)
	if err != nil {
		x.err = fmt.Errorf("look up a task: %w", err)
		return true
	}
	x.looked[i] = looked[0]
	return true
}

func (c *resolving) release(s *Shard, err error) {
	switch {
	case c.more: // the last slice has an error too
	case err == nil && c.reread:
		c.read(s)
	default:
		c.finish(s, err)
	}
}
