package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/result"
)

// list reads tasks of the queue of the given task, alternating between ready and leased tasks. Each
// listed task must have been sent to that queue.
func (r *reader) list(calls context.Context, task *readable) {
	var listed []driver.Found
	r.leased = !r.leased
	into, err := r.ask(func() (err error) {
		listed, err = r.queues.List(calls, r.own.tenant, task.address.Queue, r.leased)
		return err
	})
	if err != nil {
		if !r.refusedQueue(calls, task, into, err) {
			return
		}
		into.Answered++
		return
	}
	answers := make([]ledger.Answer, len(listed))
	for i, found := range listed {
		answers[i] = answerOf(found)
	}
	switch {
	case len(listed) > driver.ListMax:
		r.misread(task, r.asked(task), into, fmt.Sprintf("the answer has %d tasks, the limit was %d", len(listed), driver.ListMax))
	case !task.ledger.ListedBack(r.asked(task), answers):
		into.Wrong++
	case len(listed) == 0:
		into.Gone++
	default:
		into.Found++
		into.Tasks += uint64(len(listed))
	}
	into.Answered++
}

func (r *reader) listForeign(calls context.Context, name string, task *readable) error {
	_, err := r.queues.List(calls, name, task.address.Queue, false)
	return err
}

// stats reads the figures of the queue of the given task. The answer must name that queue and count
// at least one enqueue.
func (r *reader) stats(calls context.Context, task *readable) {
	var stats driver.QueueStats
	into, err := r.ask(func() (err error) {
		stats, err = r.queues.Stats(calls, r.own.tenant, task.address.Queue)
		return err
	})
	asked := r.asked(task)
	switch {
	case err != nil:
		if !r.refusedQueue(calls, task, into, err) {
			return
		}
	case stats.Tenant != asked.Tenant || stats.Queue != asked.Queue:
		r.misread(task, asked, into, fmt.Sprintf("the answer has the figures of %s/%s", stats.Tenant, stats.Queue))
	case stats.Enqueued == 0:
		r.misread(task, asked, into, "the answer has 0 enqueued tasks, expected at least 1")
	default:
		task.ledger.Read()
		into.Found++
	}
	into.Answered++
}

func (r *reader) statsForeign(calls context.Context, name string, task *readable) error {
	_, err := r.queues.Stats(calls, name, task.address.Queue)
	return err
}

// refusedQueue checks a refused read of the tenant's own queue. The queue must exist, because a
// task was enqueued to it before. It returns false if the target did not answer the read.
func (r *reader) refusedQueue(calls context.Context, task *readable, into *result.Reads, err error) bool {
	switch asked := r.asked(task); {
	case errors.Is(err, driver.ErrNotFound):
		r.misread(task, asked, into, "expected the task's queue, got not found")
	case errors.Is(err, driver.ErrDenied):
		r.misread(task, asked, into, "access to its own queue was denied")
	default:
		r.unanswered(calls, task, into, err)
		return false
	}
	return true
}
