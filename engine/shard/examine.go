package shard

import (
	"fmt"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// examine reads stored tasks for a command without blocking the shard:
//
//  1. The deciding goroutine tracks the tasks.
//  2. Once all earlier decisions are visible in the store, a separate goroutine reads the tasks.
//  3. The deciding goroutine resolves the tasks, up to sliceMax in each turn. A task that changed
//     since it was tracked is first read again.
//
// So the deciding goroutine does not wait for a commit, except for tasks that keep changing (see
// roundsMax). A closed shard completes the examines that it has begun.
type examine struct {
	tenant string
	// anyTenant makes the tasks of all tenants exist: resolve checks the tenant.
	anyTenant bool
	refs      []queue.Ref
	// payloads makes the reading include the tasks' payloads and notes.
	payloads bool
	// changes is true if resolve changes the store. While the disk has no space for changes,
	// resolve of such an examine gets an error.
	changes bool
	// more, if not nil, reads further records about the tasks with these indexes in refs. It is called
	// after each reading of the tasks.
	more func(store *storage.Store, indexes []int) error
	// The deciding goroutine calls resolve once for each task: with the task's current state, or
	// with an error, which is ErrNotFound if the task is not stored.
	resolve func(d *decider, i int, f *Found, err error)
	// reply is called once: with nil when all tasks are resolved and the changes that resolve made
	// are durable, or with an error.
	reply func(s *Shard, err error)

	left   []int // indexes of refs that are not resolved
	next   int   // the index in left of the next ref
	stale  []int // indexes of refs to read
	again  []int // indexes of refs that changed while other tasks were resolved
	marks  []uint64
	looked []storage.Looked
	noted  bool  // with payloads: a task has a note from its current lease
	err    error // error of the reading
	rounds int
	partly bool // some changes are durable; owned by the publishing goroutine
}

const (
	// sliceMax limits the number of tasks of one command that one turn resolves.
	sliceMax = 128
	// roundsMax limits how often tasks that keep changing are read again in the background. After
	// that, the deciding goroutine commits, waits for the commit and reads the task.
	roundsMax = 8
)

type begin struct {
	*examine
	looks   bool // there are tasks to read
	reading bool // the reading has already begun, so publish must not start it
}

func (c *begin) decide(d *decider, _ int64) {
	c.marks, c.looked = make([]uint64, len(c.refs)), make([]storage.Looked, len(c.refs))
	for i, ref := range c.refs {
		if q, ok := d.state.Queue(ref.Queue); !ok || !c.anyTenant && q.Tenant() != c.tenant || ref.Priority > queue.MaxPriority {
			c.resolve(d, i, nil, ErrNotFound)
			continue
		}
		c.marks[i] = d.state.Track(ref)
		if c.payloads {
			lease, _ := d.state.FindLease(ref)
			c.noted = c.noted || lease.NoteBytes > 0
		}
		c.left = append(c.left, i)
	}
	if len(c.left) > 0 {
		c.stale, c.looks = c.left, true
		d.shard.examining.Add(1)
		d.toRead = append(d.toRead, c)
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

// readSubmitted starts the readings of this turn, unless the store is replicated or the turn
// failed. A store with its own log shows submitted decisions to reads. A replicated store shows
// only applied decisions, so begin.publish starts the readings instead.
func (d *decider) readSubmitted(err error) {
	for i, c := range d.toRead {
		if c.reading = err == nil && d.shard.opts.Replicate == nil; c.reading {
			c.read(d.shard)
		}
		d.toRead[i] = nil
	}
	d.toRead = d.toRead[:0]
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

// finish replies. If it was the last unfinished examine, it wakes the deciding goroutine, since a
// closed shard does not end before all examines have finished.
func (x *examine) finish(s *Shard, err error) {
	x.reply(s, err)
	if s.examining.Add(-1) == 0 {
		signal.Send(s.inbox.wake)
	}
}

// read reads the stale tasks in the background and then puts a resolving command into the inbox.
// All earlier decisions must be visible in the store.
func (x *examine) read(s *Shard) {
	s.reading.Go(func() {
		refs := make([]queue.Ref, len(x.stale))
		for k, i := range x.stale {
			refs[k] = x.refs[i]
		}
		looked, err := s.store.LookAll(refs, x.payloads, x.noted)
		if err != nil {
			x.err = fmt.Errorf("look up a task: %w", err)
		}
		for k := range looked {
			x.looked[x.stale[k]] = looked[k]
		}
		if err == nil && x.more != nil {
			x.err = x.more(s.store, x.stale)
		}
		s.inbox.resume(&resolving{examine: x})
	})
}

// resolving is the command that resolves up to sliceMax tasks of an examine.
type resolving struct {
	*examine
	more     bool // another resolving follows
	reread   bool // publish reads the stale tasks again
	resolved bool // this command resolved at least one task
}

func (c *resolving) decide(d *decider, nowMs int64) {
	if c.next == 0 && c.changedSince(d) {
		c.reread = true
		return
	}
	for n := 0; n < sliceMax && c.next < len(c.left); n++ {
		i := c.left[c.next]
		if c.err == nil && d.state.Changes(c.refs[i]) != c.marks[i] {
			if c.rounds < roundsMax {
				c.again = append(c.again, i)
				c.next++
				continue
			}
			if n > 0 {
				break // leave the task that needs a commit to a separate turn
			}
			n = sliceMax
			if !c.readNow(d, i) {
				return
			}
		}
		d.state.Untrack(c.refs[i])
		d.resolved++
		c.resolved = true
		c.one(d, i, nowMs)
		c.next++
	}
	switch {
	case c.next < len(c.left):
		c.more = true
		d.shard.inbox.resume(&resolving{examine: c.examine})
	case len(c.again) > 0:
		c.left, c.again, c.next = c.again, nil, 0
		c.reread = c.changedSince(d)
	}
}

// refuse makes decide resolve the remaining tasks with an error, if the examine changes tasks. It
// returns false, so that decide still runs.
func (c *resolving) refuse(err error) bool {
	if c.changes && c.err == nil {
		c.err = err
	}
	return false
}

// changedSince reports whether tasks changed since they were marked and must be read again. It
// lists these tasks in stale and marks their current change counts, since the next reading sees all
// decisions so far. After an error or roundsMax rounds it returns false.
func (x *examine) changedSince(d *decider) bool {
	if x.err != nil || x.rounds == roundsMax {
		return false
	}
	x.stale = nil
	for _, i := range x.left {
		if changes := d.state.Changes(x.refs[i]); changes != x.marks[i] {
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

func (x *examine) one(d *decider, i int, nowMs int64) {
	if x.err != nil {
		x.resolve(d, i, nil, x.err)
		return
	}
	l := &x.looked[i]
	if !l.Found {
		x.resolve(d, i, nil, ErrNotFound)
		return
	}
	q, _ := d.state.Queue(l.Ref.Queue) // a queue with a tracked task exists
	f := &Found{Stored: l.Stored, Queue: q.Name(), LastError: l.LastError}
	switch lease, leased := d.state.FindLease(l.Ref); {
	case leased:
		f.State, f.Lease = Leased, lease
	case l.Dead:
		f.State = Dead
	case l.Waits():
		f.State, f.WaitingFor = Waiting, l.Waiting.Unfinished()
	case l.Progress.DueAtMs > nowMs:
		f.State = Delayed
	default:
		f.State = Ready
	}
	x.resolve(d, i, f, nil)
}

// readNow waits until all decisions so far are visible and reads a task. It returns false if the
// shard failed.
func (x *examine) readNow(d *decider, i int) bool {
	if d.failure = d.commits.submitEarly(); d.failure != nil {
		return false
	}
	looked, err := d.shard.store.LookAll([]queue.Ref{x.refs[i]}, x.payloads, x.noted)
	if err != nil {
		x.err = fmt.Errorf("look up a task: %w", err)
		return true
	}
	x.looked[i] = looked[0]
	if x.more != nil {
		x.err = x.more(d.shard.store, []int{i})
	}
	return true
}

func (c *resolving) publish(s *Shard, err error) {
	if err == nil {
		c.partly = c.partly || c.changes && c.resolved
	} else if c.partly {
		err = notRefused(err)
	}
	switch {
	case c.more: // if this turn failed, the turn of the last resolving fails too
	case err == nil && c.reread:
		c.read(s)
	default:
		c.finish(s, err)
	}
}
