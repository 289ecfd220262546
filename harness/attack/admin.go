package attack

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

const (
	// callMax is the maximum number of tasks or IDs in one call. It is also the number of tasks on
	// one page of a listing.
	callMax = 1_000
	// fullQueue is the number of tasks in a queue before it is redriven, purged or listed.
	fullQueue = 10_000
	// pagesMax bounds the number of pages of one listing, and the number of claims that empty a
	// queue.
	pagesMax = 2 * fullQueue / callMax
	// attemptsMax is the largest number of attempts that a task may have.
	attemptsMax = 1_000
)

// fill enqueues n copies of a task. Each call contains as many tasks as possible. fill returns the
// IDs of the tasks.
func (a *attacker) fill(ctx context.Context, n int, one *queuepb.NewTask) (ids []string, err error) {
	tasks := make([]*queuepb.NewTask, callMax)
	for i := range tasks {
		tasks[i] = one
	}
	for len(ids) < n {
		stored, err := a.enqueue(ctx, tasks[:min(callMax, n-len(ids))]...)
		if err != nil {
			return ids, err
		}
		ids = append(ids, stored...)
	}
	return ids, nil
}

// fillOnce calls fill in an attacker's first try. The tasks remain until the attack ends.
func (a *attacker) fillOnce(ctx context.Context, n int, one *queuepb.NewTask) error {
	if a.filled {
		return nil
	}
	_, err := a.fill(ctx, n, one)
	a.filled = err == nil
	return err
}

// lasting returns a task that can be leased repeatedly and is never completed. When its lease ends,
// it is ready again almost immediately. It has more attempts than an attack uses.
func lasting(queue string) *queuepb.NewTask {
	return &queuepb.NewTask{Queue: queue, Payload: []byte("x"), MaxAttempts: attemptsMax, Backoff: &queuepb.Backoff{InitialMs: 1, MaxMs: 1}}
}

func refused(results []*queuepb.SettleResult) error {
	for _, r := range results {
		if e := r.GetError(); e != nil {
			return fmt.Errorf("task %d: %s", e.GetIndex(), e.GetMessage())
		}
	}
	return nil
}

// massCancels enqueues as many tasks as one call can cancel, leases half of them, and cancels all
// of them in one call.
func (a *attacker) massCancels(ctx context.Context) error {
	queue := fmt.Sprintf("cancels-%d", a.number)
	ids, err := a.fill(ctx, callMax, &queuepb.NewTask{Queue: queue, Payload: []byte("x")})
	if err != nil {
		return err
	}
	if _, err := a.claim(ctx, callMax/2, queue); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := a.admin.CancelTasks(ctx, &adminpb.CancelTasksRequest{Tenant: Tenant, Ids: ids})
	return errors.Join(err, refused(out.GetResults()))
}

// redrives makes all tasks of a queue fail, so that they become dead letters. It then redrives some
// of them by their IDs, and the rest in one call.
func (a *attacker) redrives(ctx context.Context) error {
	queue := fmt.Sprintf("redrives-%d", a.number)
	if err := a.fillOnce(ctx, fullQueue, &queuepb.NewTask{Queue: queue, Payload: []byte("x"), MaxAttempts: 1}); err != nil {
		return err
	}
	for range pagesMax {
		tasks, err := a.claim(ctx, callMax, queue)
		if err != nil {
			return err
		}
		if len(tasks) == 0 {
			break
		}
		if err := a.fail(ctx, tasks, "failed"); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	page, err := a.admin.ListDead(ctx, &adminpb.ListDeadRequest{Tenant: Tenant, Queue: queue, PageSize: callMax})
	if err != nil {
		return err
	}
	var ids []string
	for _, dead := range page.GetTasks() {
		ids = append(ids, dead.GetTask().GetId())
	}
	if len(ids) == 0 {
		return errors.New("no dead letter to redrive")
	}
	some, err := a.admin.RedriveDead(ctx, &adminpb.RedriveDeadRequest{Tenant: Tenant, Ids: ids})
	if err := errors.Join(err, refused(some.GetResults())); err != nil {
		return err
	}
	_, err = a.admin.RedriveDead(ctx, &adminpb.RedriveDeadRequest{Tenant: Tenant, Queue: queue})
	return err
}

func (a *attacker) purges(ctx context.Context) error {
	queue := fmt.Sprintf("purges-%d", a.number)
	if _, err := a.fill(ctx, fullQueue, &queuepb.NewTask{Queue: queue, Payload: []byte("x")}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := a.admin.PurgeQueue(ctx, &adminpb.PurgeQueueRequest{Tenant: Tenant, Queue: queue})
	if err == nil && out.GetRemoved() < fullQueue {
		err = fmt.Errorf("purged %d of %d tasks", out.GetRemoved(), fullQueue)
	}
	return err
}

// lists leases a part of a full queue. It then lists all tasks of the queue in each state, page by
// page, and lists the queues.
func (a *attacker) lists(ctx context.Context) error {
	queue := fmt.Sprintf("lists-%d", a.number)
	if err := a.fillOnce(ctx, fullQueue, lasting(queue)); err != nil {
		return err
	}
	if _, err := a.claim(ctx, callMax, queue); err != nil {
		return err
	}
	listed := 0
	for _, state := range []queuepb.TaskState{
		queuepb.TaskState_TASK_STATE_READY, queuepb.TaskState_TASK_STATE_DELAYED, queuepb.TaskState_TASK_STATE_LEASED, queuepb.TaskState_TASK_STATE_DEAD,
	} {
		n, err := a.listAll(ctx, queue, state)
		if err != nil {
			return err
		}
		listed += n
	}
	if listed == 0 {
		return fmt.Errorf("0 of %d tasks are listed", fullQueue)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := a.admin.ListQueues(ctx, &adminpb.ListQueuesRequest{Tenant: Tenant, PageSize: callMax})
	return err
}

// listAll lists the tasks of a queue that are in the given state. It returns their number.
func (a *attacker) listAll(ctx context.Context, queue string, state queuepb.TaskState) (n int, err error) {
	next := ""
	for range pagesMax {
		calling, cancel := context.WithTimeout(ctx, callTimeout)
		page, err := a.admin.ListTasks(calling, &adminpb.ListTasksRequest{Tenant: Tenant, Queue: queue, State: state, PageSize: callMax, PageToken: next})
		cancel()
		if err != nil {
			return n, err
		}
		n += len(page.GetTasks())
		if next = page.GetNextPageToken(); next == "" {
			break
		}
	}
	return n, nil
}

// awaits leases tasks, reads some of them, and waits for the result of each of them. The leases
// expire, so no result ever arrives.
func (a *attacker) awaits(ctx context.Context) error {
	queue := fmt.Sprintf("awaits-%d", a.number)
	if err := a.fillOnce(ctx, callMax, lasting(queue)); err != nil {
		return err
	}
	tasks, err := a.claim(ctx, callMax, queue)
	if err != nil {
		return err
	}
	if len(tasks) == 0 {
		return errors.New("no task to wait for")
	}
	return a.together(ctx, func(ctx context.Context, i int) error {
		id := tasks[i%len(tasks)].GetId()
		if _, err := a.tenant.GetTask(ctx, &queuepb.GetTaskRequest{Tenant: Tenant, Id: id}); err != nil {
			return err
		}
		_, err := a.tenant.AwaitResult(ctx, &queuepb.AwaitResultRequest{Tenant: Tenant, Id: id, WaitMs: waitMs})
		return err
	})
}
