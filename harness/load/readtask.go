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

// awaitMax is for how long one await waits at the target.
const awaitMax = 2 * time.Second

// get reads a task of the tenant. It must be answered with the task or, once a completion was asked for, as not found.
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

// refusedOwn judges the refusal of a read of the tenant's own task, and returns false if the read had no answer.
func (r *reader) refusedOwn(calls context.Context, task *readable, into *result.Reads, err error) bool {
	// Looked up after the answer: if it is stored now, it was when the target answered.
	asked, stored := r.asked(task), task.ledger.Stored(task.identity)
	switch {
	case errors.Is(err, driver.ErrNotFound) && !stored:
		task.ledger.Read()
		into.Gone++
	case errors.Is(err, driver.ErrNotFound):
		r.misread(task, asked, into, "was answered that there is no such task, though no completion of it had been asked for")
	case errors.Is(err, driver.ErrDenied):
		r.misread(task, asked, into, "was denied its own task")
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

// await waits for the end of a task of the tenant. The answer must be that the task is done, once a completion was asked for, with the result of
// the completion; or likewise that there is no such task, as a task that is done without a result is not kept; or, once the wait is over, that the
// task has not ended. A task is dead only in a load whose workers fail tasks.
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
		r.misread(task, asked, into, fmt.Sprintf("was answered with a result of %d bytes, though the task is not done", len(awaited.Result)))
	case awaited.State == driver.Done && !r.returned.of(task.identity, task.address, awaited.Result):
		r.misread(task, asked, into, fmt.Sprintf("was answered with a result of %d bytes, which is not that of the completion", len(awaited.Result)))
	case awaited.State == driver.Done && stored:
		r.misread(task, asked, into, "was answered that the task is done, though no completion of it had been asked for")
	case awaited.State == driver.Done, awaited.State == driver.Dead && r.cfg.Workload.Fail > 0:
		task.ledger.Read()
		into.Found++
	case awaited.State == driver.Dead:
		r.misread(task, asked, into, "was answered that the task is dead, though no worker of this load fails a task")
	case awaited.State != driver.Open:
		r.misread(task, asked, into, "was answered without a state of the task")
	case waited < awaitMax && !r.cfg.Persist: // a server that stops answers early
		r.misread(task, asked, into, fmt.Sprintf("was answered after %v that the task has not ended, before the wait of %v was over", waited.Round(time.Millisecond), awaitMax))
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
