package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/result"
)

// awaitMax is the wait that each await requests from the target.
const awaitMax = 2 * time.Second

// get reads a task of the reader's tenant. The target must return the task, unless the task's
// completion has been requested: then it may also answer that the task is not found.
func (r *reader) get(calls context.Context, task *readable) {
	var found driver.Found
	into, err := r.ask(func() (err error) {
		found, err = r.tasks.Read(calls, r.own.tenant, task.id)
		return err
	})
	asked := r.asked(task)
	switch {
	case err != nil:
		if !r.refusedOwn(calls, task, into, err) {
			return
		}
	case task.ledger.ReadBack(asked, answerOf(found)):
		into.Found++
	default:
		into.Wrong++
	}
	into.Answered++
}

func answerOf(found driver.Found) ledger.Answer {
	return ledger.Answer{ID: found.ID, Tenant: found.Tenant, Queue: found.Queue, Payload: found.Payload}
}

// refusedOwn checks a refused read of the tenant's own task. It returns false if the target did not
// answer the read.
func (r *reader) refusedOwn(calls context.Context, task *readable, into *result.Reads, err error) bool {
	// The ledger is queried after the answer: if the task must be stored now, the target also had
	// to store it when it answered.
	asked, stored := r.asked(task), task.ledger.Stored(task.identity)
	switch {
	case errors.Is(err, driver.ErrNotFound) && !stored:
		task.ledger.Read()
		into.Gone++
	case errors.Is(err, driver.ErrNotFound):
		r.misread(task, asked, into, "expected the task, whose completion was not requested, got not found")
	case errors.Is(err, driver.ErrDenied):
		r.misread(task, asked, into, "access to its own task was denied")
	default:
		r.unanswered(calls, task, into, err)
		return false
	}
	return true
}

func (r *reader) getForeign(calls context.Context, name string, task *readable) error {
	_, err := r.tasks.Read(calls, name, task.id)
	return err
}

// await waits for the end of a task of the reader's tenant. The target may answer that the task is
// done, with the result of the completion, only if the completion has been requested. It may then
// also answer that the task is not found, because a task without a result is deleted at its
// completion. After the full wait it may answer that the task has not ended. It may answer that the
// task is dead only if the workload's workers fail tasks.
func (r *reader) await(calls context.Context, task *readable) {
	var awaited driver.Awaited
	began := r.clock.now()
	into, err := r.ask(func() (err error) {
		awaited, err = r.tasks.Await(calls, r.own.tenant, task.id, awaitMax)
		return err
	})
	waited := time.Duration(r.clock.now() - began)
	asked, stored := r.asked(task), task.ledger.Stored(task.identity)
	switch {
	case err != nil:
		if !r.refusedOwn(calls, task, into, err) {
			return
		}
	case awaited.State != driver.Done && len(awaited.Result) > 0:
		r.misread(task, asked, into, fmt.Sprintf("the answer has a result of %d bytes for a task that is not done", len(awaited.Result)))
	case awaited.State == driver.Done && !r.returned.of(task.identity, task.address, awaited.Result):
		r.misread(task, asked, into, fmt.Sprintf("the answer has a result of %d bytes, which differs from the completion's result", len(awaited.Result)))
	case awaited.State == driver.Done && stored:
		r.misread(task, asked, into, "expected an open task, whose completion was not requested, got done")
	case awaited.State == driver.Done, awaited.State == driver.Dead && r.cfg.Workload.Fail > 0:
		task.ledger.Read()
		into.Found++
	case awaited.State == driver.Dead:
		r.misread(task, asked, into, "expected a task that is not dead, because no worker of this load fails tasks")
	case awaited.State != driver.Open:
		r.misread(task, asked, into, "the answer has no task state")
	case waited < awaitMax && !r.cfg.Persist: // a server that stops may answer early
		r.misread(task, asked, into, fmt.Sprintf("the answer after %v is that the task has not ended, but the requested wait was %v", waited.Round(time.Millisecond), awaitMax))
	default:
		task.ledger.Read()
		into.Unended++
	}
	into.Answered++
}

func (r *reader) awaitForeign(calls context.Context, name string, task *readable) error {
	_, err := r.tasks.Await(calls, name, task.id, awaitMax)
	return err
}
