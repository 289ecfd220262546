package shard

import (
	"errors"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// query is the command of an admin call. One turn decides it, and publish answers it when that turn
// is durable.
type query[T any] struct {
	decided func(d *decider, nowMs int64) (T, error)
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

func (c *query[T]) decide(d *decider, nowMs int64) { c.out, c.err = c.decided(d, nowMs) }

func (c *query[T]) publish(_ *Shard, err error) {
	c.reply(c.out, errors.Join(c.err, err))
}

func put[T any](s *Shard, c *query[T]) error { return s.inbox.put(c, load{}) }

// Configure sets the policy of a queue if version is higher than the version of its current policy.
// It creates the queue if it does not exist.
func (s *Shard) Configure(tenant, name string, p queue.Policy, version uint64, reply func(struct{}, error)) error {
	return put(s, &query[struct{}]{
		decided: func(d *decider, _ int64) (none struct{}, err error) {
			return none, d.state.Configure(tenant, name, p, version)
		},
		refused: refuseAll[struct{}],
		reply:   reply,
	})
}

// Pause stops (true) or resumes (false) the delivery of a queue's tasks. It creates the queue if it
// does not exist.
func (s *Shard) Pause(tenant, name string, paused bool, reply func(struct{}, error)) error {
	return put(s, &query[struct{}]{
		decided: func(d *decider, _ int64) (none struct{}, err error) { return none, d.state.Pause(tenant, name, paused) },
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

// Purge removes ready, delayed and waiting tasks of a queue: at most most tasks, and at most purgeMax. Call
// it again while Purged.More is set.
func (s *Shard) Purge(tenant, name string, most int, reply func(Purged, error)) error {
	return put(s, &query[Purged]{
		decided: func(d *decider, _ int64) (p Purged, err error) {
			q, ok := d.state.Named(tenant, name)
			if !ok {
				return p, ErrNoQueue
			}
			p.Removed, p.More = d.state.Purge(q, min(most, purgeMax))
			return p, nil
		},
		refused: refuseAll[Purged],
		reply:   reply,
	})
}

// Change is a change that an admin call makes to a single task. It returns the error of the task's
// result.
type Change func(*queue.State, *Found) error

// Cancel removes a task in any state.
func Cancel(state *queue.State, f *Found) error {
	if !plantedCancel() {
		state.Cancel(&f.Stored)
	}
	return nil
}

// Redrive makes a dead task ready again.
func Redrive(state *queue.State, f *Found) error {
	done, err := state.Redrive(&f.Stored)
	if err != nil {
		return err
	}
	return orElse(done, ErrNotDead)
}

// PurgeDead removes a dead task.
func PurgeDead(state *queue.State, f *Found) error {
	return orElse(state.PurgeDead(&f.Stored), ErrNotDead)
}

// Reschedule returns a Change that makes a ready, delayed or waiting task due at a time, or now if the time
// is earlier.
func Reschedule(dueAtMs int64) Change {
	return func(state *queue.State, f *Found) error {
		return orElse(state.Reschedule(&f.Stored, dueAtMs), ErrNotWaiting)
	}
}

// Prioritize returns a Change that sets the priority of a task that is not leased.
func Prioritize(priority uint8) Change {
	return func(state *queue.State, f *Found) error {
		return orElse(state.Prioritize(&f.Stored, priority), ErrLeased)
	}
}

// edit returns a Change that edits a dead task. It works only with the payload of the task.
func edit(e *queue.Edit) Change {
	return func(state *queue.State, f *Found) error {
		done, err := state.EditDead(&f.Stored, e)
		if err != nil {
			return err
		}
		return orElse(done, ErrNotDead)
	}
}

func orElse(done bool, err error) error {
	if done {
		return nil
	}
	return err
}

// Change changes tasks of one tenant. reply is called as for Enqueue, with ErrNotFound or the
// result of the change for each task. Several turns decide a large call, so that other commands are
// decided in between.
func (s *Shard) Change(what Change, tenant string, refs []queue.Ref, reply func([]error, error)) error {
	return s.change(what, false, tenant, refs, reply)
}

// EditDead edits a dead task of a tenant. reply is called as for Enqueue, with ErrNotFound,
// ErrNotDead, or an error that wraps a *queue.QuotaError if the task was not edited.
func (s *Shard) EditDead(tenant string, ref queue.Ref, e *queue.Edit, reply func(struct{}, error)) error {
	return s.change(edit(e), true, tenant, []queue.Ref{ref}, func(out []error, err error) {
		reply(struct{}{}, errors.Join(out[0], err))
	})
}

func (s *Shard) change(what Change, payloads bool, tenant string, refs []queue.Ref, reply func([]error, error)) error {
	out := make([]error, len(refs))
	return s.inbox.put(&begin{examine: &examine{
		tenant: tenant, refs: refs, payloads: payloads,
		resolve: func(d *decider, i int, f *Found, err error) {
			if out[i] = err; err == nil {
				out[i] = what(d.state, f)
			}
		},
		changes: true,
		reply:   func(_ *Shard, err error) { reply(out, err) },
	}}, load{tasks: len(refs)})
}

// PutSystem stores the node's system records. A nil value removes a record.
func (s *Shard) PutSystem(records []storage.SystemRecord, reply func(struct{}, error)) error {
	return put(s, &query[struct{}]{
		decided: func(d *decider, _ int64) (none struct{}, err error) {
			for _, r := range records {
				d.commits.batch.PutSystem(r.Key, r.Value)
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
