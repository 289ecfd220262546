package shard

import (
	"errors"
	"fmt"
	"math"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// query is the command of an admin call. One turn decides it, and publish answers it when that turn
// is durable.
type query[T any] struct {
	decided func(s *Shard, nowMs int64) (T, error)
	// refused returns the answer to a change that the disk has no space for. It is nil for a
	// command that only reads.
	refused func(error) (T, error)
	reply   func(T, error)
	// stale allows an answer from a node that has just lost leadership: the shard does not ask a
	// majority to confirm the leadership first.
	stale bool
	out   T
	err   error
}

func (c *query[T]) mayBeStale() bool { return c.stale }

func (c *query[T]) decide(s *Shard, nowMs int64) { c.out, c.err = c.decided(s, nowMs) }

func (c *query[T]) publish(_ *Shard, err error) {
	c.reply(c.out, errors.Join(c.err, err))
}

func put[T any](s *Shard, c *query[T]) error { return s.inbox.put(c, load{}) }

// Configure sets the policy of a queue if version is higher than the version of its current policy.
// It creates the queue if it does not exist.
func (s *Shard) Configure(tenant, name string, p queue.Policy, version uint64, reply func(struct{}, error)) error {
	return put(s, &query[struct{}]{
		decided: func(s *Shard, _ int64) (none struct{}, err error) {
			return none, s.state.Configure(tenant, name, p, version)
		},
		refused: refuseAll[struct{}],
		reply:   reply,
	})
}

// Pause stops (true) or resumes (false) the delivery of a queue's tasks. It creates the queue if it
// does not exist.
func (s *Shard) Pause(tenant, name string, paused bool, reply func(struct{}, error)) error {
	return put(s, &query[struct{}]{
		decided: func(s *Shard, _ int64) (none struct{}, err error) { return none, s.state.Pause(tenant, name, paused) },
		refused: refuseAll[struct{}],
		reply:   reply,
	})
}

// Purged is the result of one Purge call.
type Purged struct {
	Removed int
	More    bool // Purge must be called again
}

// purgeMax limits the number of tasks that one command removes, so that other commands do not wait
// for a whole purge.
const purgeMax = 512

// Purge removes ready and delayed tasks of a queue: at most most tasks, and at most purgeMax. Call
// it again while Purged.More is set.
func (s *Shard) Purge(tenant, name string, most int, reply func(Purged, error)) error {
	return put(s, &query[Purged]{
		decided: func(s *Shard, _ int64) (p Purged, err error) {
			q, ok := s.state.Named(tenant, name)
			if !ok {
				return p, ErrNoQueue
			}
			p.Removed, p.More = s.state.Purge(q, min(most, purgeMax))
			return p, nil
		},
		refused: refuseAll[Purged],
		reply:   reply,
	})
}

// Change is the kind of change that an admin call makes to single tasks.
type Change uint8

// The changes.
const (
	Cancel    Change = iota + 1 // remove a task in any state
	Redrive                     // make a dead task ready again
	PurgeDead                   // remove a dead task
)

// Change cancels, redrives or purges tasks of one tenant. reply is called as for Enqueue, with nil,
// ErrNotFound or ErrNotDead for each task. Several turns decide a large call, so that other
// commands are decided in between.
func (s *Shard) Change(what Change, tenant string, refs []queue.Ref, reply func([]error, error)) error {
	out := make([]error, len(refs))
	return s.inbox.put(&begin{examine: &examine{
		tenant: tenant, refs: refs,
		resolve: func(s *Shard, i int, f *Found, err error) {
			if out[i] = err; err == nil {
				out[i] = s.change(what, f)
			}
		},
		changes: true,
		reply:   func(_ *Shard, err error) { reply(out, err) },
	}}, load{tasks: len(refs)})
}

func (s *Shard) change(what Change, f *Found) error {
	done := true
	switch what {
	case Cancel:
		s.state.Cancel(&f.Stored)
	case Redrive:
		done = s.state.Redrive(&f.Stored)
	case PurgeDead:
		done = s.state.PurgeDead(&f.Stored)
	}
	if !done {
		return ErrNotDead
	}
	return nil
}

// List is the request for one page of a queue's tasks.
type List struct {
	Tenant string
	Queue  string
	State  TaskState // Ready, Delayed, Leased or Dead
	After  storage.Place
	Limit  int
	// BytesMax approximately limits the bytes of payloads and error texts in a page. The limit does
	// not apply to the first task. 0 means no limit.
	BytesMax int
	// Match selects dead tasks; nil selects all.
	Match func(*Found) bool
}

// Listed is a page of a list. Next is empty for the last page. Other pages too may contain fewer
// tasks than List.Limit, or none.
type Listed struct {
	Tasks []Found
	Next  storage.Place
}

// listLookMax limits the number of records that are read for one page.
const listLookMax = 10_000

// List lists tasks. A separate goroutine reads the page and then calls reply, since reading may
// take long.
func (s *Shard) List(l List, reply func(Listed, error)) error {
	return put(s, &query[listing]{
		decided: func(s *Shard, nowMs int64) (listing, error) { return s.beginList(l, nowMs) },
		reply: func(b listing, err error) {
			if err != nil {
				reply(Listed{}, err)
				return
			}
			s.reading.Go(func() {
				page, err := s.readList(&b)
				if b.list.State == Leased && err == nil {
					s.currentLeases(page, reply)
					return
				}
				reply(page, err)
			})
		},
	})
}

// listing is a List request with a copy of the queue's state at the time when the turn decided it.
type listing struct {
	list    List
	queueID uint32
	nowMs   int64
	cursors [queue.MaxPriority + 1]uint64
}

func (s *Shard) beginList(l List, nowMs int64) (listing, error) {
	q, ok := s.state.Named(l.Tenant, l.Queue)
	if !ok {
		return listing{}, ErrNoQueue
	}
	b := listing{list: l, queueID: q.ID(), nowMs: nowMs}
	for p := range b.cursors {
		b.cursors[p] = q.Cursor(uint8(p))
	}
	return b, nil
}

// currentLeases replies with a page of leased tasks. It replaces their leases with those of the
// state machine, since a recovered lease may last longer than its record states. A task that was
// settled after the page was read stays in the page unchanged.
func (s *Shard) currentLeases(page Listed, reply func(Listed, error)) {
	err := put(s, &query[Listed]{
		decided: func(s *Shard, _ int64) (Listed, error) {
			for i := range page.Tasks {
				if lease, is := s.state.FindLease(page.Tasks[i].Ref); is {
					page.Tasks[i].Lease = lease
				}
			}
			return page, nil
		},
		reply: reply,
	})
	if err != nil {
		reply(Listed{}, err)
	}
}

func (s *Shard) readLeased(b *listing, page storage.Page) (Listed, error) {
	tasks, next, err := s.store.ListLeased(b.queueID, page)
	out := Listed{Next: next}
	for _, t := range tasks {
		f := Found{Stored: t.Stored, Queue: b.list.Queue, State: Leased, Lease: t.Lease}
		if err == nil {
			f.LastError, err = s.lastError(f.Ref, f.Lease.Attempt-1)
		}
		out.Tasks = append(out.Tasks, f)
	}
	return out, err
}

func (s *Shard) lastError(ref queue.Ref, attempts uint32) (string, error) {
	if attempts == 0 {
		return "", nil
	}
	text, err := s.store.LastError(storage.StepOther, ref, attempts)
	if err != nil {
		return "", fmt.Errorf("list tasks: %w", err)
	}
	return text, nil
}

func (s *Shard) readList(b *listing) (Listed, error) {
	l := &b.list
	page := storage.Page{After: l.After, Limit: l.Limit, LookMax: listLookMax, BytesMax: l.BytesMax}
	var tasks []storage.Listed
	var next storage.Place
	var err error
	switch l.State {
	case Leased:
		return s.readLeased(b, page)
	case Ready:
		tasks, next, err = s.readReady(b, page)
	case Delayed:
		tasks, next, err = s.store.ListReturned(b.queueID, b.nowMs+1, math.MaxInt64, page)
	case Dead:
		tasks, next, err = s.store.ListDead(b.queueID, func(d *storage.Listed) bool {
			if l.Match == nil {
				return true
			}
			f := found(l, d)
			return l.Match(&f)
		}, page)
	case Done:
		err = fmt.Errorf("tasks of state %d can't be listed from the store", l.State)
	}
	out := Listed{Next: next}
	for i := range tasks {
		f := found(l, &tasks[i])
		if l.State != Dead && err == nil {
			f.LastError, err = s.lastError(f.Ref, f.Progress.Attempts)
		}
		out.Tasks = append(out.Tasks, f)
	}
	return out, err
}

// readReady lists ready tasks: first the returned tasks (ready again after a lease or a delay),
// then the fresh tasks, which were never leased.
func (s *Shard) readReady(b *listing, page storage.Page) ([]storage.Listed, storage.Place, error) {
	const again, fresh = 'd', 't' // the first byte of a Place names the part of the list
	part := byte(again)
	if len(page.After) > 0 {
		part, page.After = page.After[0], page.After[1:]
	}
	if part == again {
		tasks, next, err := s.store.ListReturned(b.queueID, math.MinInt64, b.nowMs+1, page)
		if err != nil || len(next) > 0 {
			return tasks, append(storage.Place{again}, next...), err
		}
		if len(tasks) > 0 {
			return tasks, storage.Place{fresh}, nil
		}
		page.After = nil
	}
	tasks, next, err := s.store.ListFresh(b.queueID, b.cursors, page)
	if len(next) > 0 {
		next = append(storage.Place{fresh}, next...)
	}
	return tasks, next, err
}

func found(l *List, t *storage.Listed) Found {
	f := Found{Stored: t.Stored, Queue: l.Queue, State: l.State, DeadRecord: t.DeadRecord, Attempts: t.Attempts}
	if n := len(t.Attempts); n > 0 {
		f.LastError = t.Attempts[n-1].Error
	}
	return f
}

// PutSystem stores the node's system records. A nil value removes a record.
func (s *Shard) PutSystem(records []storage.SystemRecord, reply func(struct{}, error)) error {
	return put(s, &query[struct{}]{
		decided: func(s *Shard, _ int64) (none struct{}, err error) {
			for _, r := range records {
				s.batch.PutSystem(r.Key, r.Value)
			}
			return none, nil
		},
		refused: refuseAll[struct{}],
		reply:   reply,
	})
}

// System reads the node's system records.
func (s *Shard) System() ([]storage.SystemRecord, error) { return s.store.System() }

// Checkpoint writes a consistent copy of the store into the folder dir, which must not exist yet.
// The copy includes everything that was acknowledged before the call.
func (s *Shard) Checkpoint(dir string) error { return s.store.Checkpoint(dir) }
