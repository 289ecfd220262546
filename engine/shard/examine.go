package shard

import (
	"fmt"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// examine reads stored tasks for a command without blocking the shard:
//
//  1. The deciding goroutine tracks the tasks.
//  2. Once all earlier decisions are visible in the store, a separate goroutine reads the tasks.
//  3. The deciding goroutine resolves the tasks, a slice in each turn. If a task changed since it
//     was tracked, it is read again first.
//
// So the deciding goroutine does not wait for a commit, however many tasks a command names. A
// closed shard completes the examines that it has begun.
type examine struct {
	tenant string
	refs   []queue.Ref
	// payloads makes the reading include the payloads.
	payloads bool
	// changes is set if resolve changes the store. While the disk has no space for changes, resolve
	// gets an error.
	changes bool
	// resolve is called by the deciding goroutine once for each task, with the task's current
	// state, or with ErrNotFound if the task is not stored.
	resolve func(s *Shard, i int, f *Found, err error)
	// reply is called once: with nil when all tasks are resolved and the resulting changes are
	// durable, or with an error.
	reply func(s *Shard, err error)

	left   []int // indexes of refs that are not resolved
	next   int   // the index in left of the next ref
	stale  []int // indexes of refs to read
	again  []int // indexes of refs that changed while other tasks were resolved
	marks  []uint64
	looked []storage.Looked
	err    error // of the reading
	rounds int
	partly bool // some changes are durable; owned by the publishing goroutine
}

const (
	// sliceMax bounds the tasks of one command that one turn resolves.
	sliceMax = 128
	// roundsMax bounds how often a task that keeps changing is read again in the background. After
	// that, the deciding goroutine waits for its commits and reads the task.
	roundsMax = 8
)

// begin is the first step of an examine.
type begin struct {
	*examine
	looks   bool // there are tasks to read
	reading bool // the reading began when the turn was submitted
}

func (c *begin) decide(s *Shard, _ int64) {
	c.marks, c.looked = make([]uint64, len(c.refs)), make([]storage.Looked, len(c.refs))
	for i, ref := range c.refs {
		if q, ok := s.state.Queue(ref.Queue); !ok || q.Tenant() != c.tenant && !planted.Hits(planted.Read) || ref.Priority > queue.MaxPriority {
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

// readSubmitted begins the readings of this turn if submitted decisions are visible to reads, as in
// a store with its own log. In a replicated store, begin.publish begins the reading instead, since
// only applied decisions are visible.
func (s *Shard) readSubmitted(err error) {
	for i, c := range s.toRead {
		if c.reading = err == nil && s.opts.Replicate == nil; c.reading {
			c.read(s)
		}
		s.toRead[i] = nil
	}
	s.toRead = s.toRead[:0]
}

func (c *begin) publish(s *Shard, err error) {
	switch {
	case !c.looks: // the command was refused or never decided
		c.reply(s, err)
	case c.reading:
	case err != nil:
		c.finish(s, err)
	default:
		c.read(s)
	}
}

// finish replies. A closed shard stays up until each examine has finished.
func (x *examine) finish(s *Shard, err error) {
	x.reply(s, err)
	if s.examining.Add(-1) == 0 {
		signal.Send(s.inbox.wake)
	}
}

// read reads the stale tasks in the background and then sends the examine to resolving. All earlier
// decisions must be visible.
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
		s.inbox.resume(&resolving{examine: x})
	})
}

// resolving resolves one slice of the tasks of an examine.
type resolving struct {
	*examine
	more     bool // another slice follows
	reread   bool // another round follows
	resolved bool // this slice resolved a task
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
				break // a wait for a commit takes a separate turn
			}
			n = sliceMax
			if !c.readNow(s, i) {
				return
			}
		}
		s.state.Untrack(c.refs[i])
		s.resolved++
		c.resolved = true
		c.one(s, i, nowMs)
		c.next++
	}
	switch {
	case c.next < len(c.left):
		c.more = true
		s.inbox.resume(&resolving{examine: c.examine})
	case len(c.again) > 0:
		c.left, c.again, c.next = c.again, nil, 0
		c.reread = c.changedSince(s)
	}
}

// refuse makes decide resolve the remaining tasks with an error.
func (c *resolving) refuse(err error) bool {
	if c.changes && c.err == nil {
		c.err = err
	}
	return false
}

// changedSince reports whether a task must be read again before the first one is resolved. It lists
// these tasks in stale and marks their current change counts: the next reading sees all decisions
// so far.
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
	q, _ := s.state.Queue(l.Ref.Queue) // a queue with a tracked task exists
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

// readNow waits until all decisions so far are visible and reads a task. It returns false if the
// shard failed.
func (x *examine) readNow(s *Shard, i int) bool {
	if s.failure = s.commitEarly(); s.failure != nil {
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

func (c *resolving) publish(s *Shard, err error) {
	if err == nil {
		c.partly = c.partly || c.changes && c.resolved
	} else if c.partly {
		err = notRefused(err)
	}
	switch {
	case c.more: // if this slice failed, the last slice fails too
	case err == nil && c.reread:
		c.read(s)
	default:
		c.finish(s, err)
	}
}
