package shard

import (
	"errors"

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
	Waiting // for other tasks
)

// Found is a task that was looked up or listed.
type Found struct {
	queue.Stored
	Queue      string
	State      TaskState
	Lease      queue.LeaseRef // set for a leased task
	DeadRecord queue.Dead     // set for a dead task
	WaitingFor uint32         // number of tasks that a waiting task waits for
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
		resolve: func(_ *decider, _ int, f *Found, err error) {
			if refused = err; err == nil {
				out = *f
			}
		},
		reply: func(_ *Shard, err error) { reply(out, errors.Join(refused, err)) },
	}}, load{tasks: 1})
}
