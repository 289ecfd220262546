package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/queuepb"
)

func (a taskCommands) task() *cobra.Command {
	c := &cobra.Command{
		Use:     "task ID",
		Short:   "Show a task that is not done",
		Long:    "Shows a task that is not done: its state, its attempts, its headers and its payload.",
		Example: `  queued task 0000000000000000000000g1`,
		Args:    oneArg("ID"),
	}
	conn := a.connect(c, false, true)
	c.RunE = func(c *cobra.Command, args []string) error {
		return conn.queueService(c, func(ctx context.Context, api queuepb.QueueServiceClient) error {
			ctx, cancel := conn.bounded(ctx, 0)
			defer cancel()
			out, err := api.GetTask(ctx, &queuepb.GetTaskRequest{Tenant: conn.tenant, Id: args[0]})
			if err != nil {
				return err
			}
			return a.print(document(out), func(t *table) { taskRows(t, out.GetTask()) })
		})
	}
	return c
}

func taskRows(t *table, task *queuepb.Task) {
	t.row("id", task.GetId())
	t.row("tenant", task.GetTenant())
	t.row("queue", task.GetQueue())
	t.row("state", word(task.GetState()))
	if task.GetWaitingFor() != 0 {
		t.row("waits for", count(uint64(task.GetWaitingFor()), "task"))
	}
	t.row("priority", task.GetPriority())
	t.row("attempts", fmt.Sprintf("%d of %d", task.GetAttempt(), task.GetMaxAttempts()))
	t.row("enqueued", when(task.GetEnqueuedAtMs()))
	for _, moment := range []struct {
		name string
		ms   int64
	}{{"due", task.GetDueAtMs()}, {"lease expires", task.GetLeaseExpiresAtMs()}, {"expires", task.GetExpiresAtMs()}} {
		if moment.ms != 0 {
			t.row(moment.name, when(moment.ms))
		}
	}
	if task.GetLastError() != "" {
		t.row("last error", task.GetLastError())
	}
	if task.GetNote() != "" {
		t.row("note", task.GetNote())
	}
	for _, header := range headers(task) {
		t.row("header", header)
	}
	t.row("payload", string(task.GetPayload()))
}

// headers returns the headers of a task as KEY=VALUE, ordered by key.
func headers(task *queuepb.Task) (out []string) {
	for _, key := range slices.Sorted(maps.Keys(task.GetHeaders())) {
		out = append(out, key+"="+task.GetHeaders()[key])
	}
	return out
}

// headersColumn is true if a table of tasks has a column of headers before the payload. Only tables
// with such a task have the column.
type headersColumn bool

func headersColumnOf(tasks []*queuepb.Task) headersColumn {
	return headersColumn(slices.ContainsFunc(tasks, func(t *queuepb.Task) bool { return len(t.GetHeaders()) > 0 }))
}

// row adds a line to the table: the cells, the headers if the table has the column, and the payload.
func (c headersColumn) row(t *table, headers, payload string, cells ...any) {
	if c {
		cells = append(cells, headers)
	}
	t.row(append(cells, payload)...)
}

func (a taskCommands) result() *cobra.Command {
	var wait time.Duration
	c := &cobra.Command{
		Use:   "result ID",
		Short: "Show the outcome of a task, or wait for it",
		Long: `Shows the outcome of a task while its result is retained. With --wait it waits until the task is done or
dead. It ends with 0 only if the task is done.`,
		Example: `  queued enqueue --queue thumbnails --result-retention 1h --file picture.jpg
  queued result 0000000000000000000000g1 --wait 5m`,
		Args: oneArg("ID"),
	}
	durationFlag(c.Flags(), &wait, "wait", "how long to wait until the task is done or dead")
	conn := a.connect(c, false, true)
	c.RunE = func(c *cobra.Command, args []string) error {
		return conn.queueService(c, func(ctx context.Context, api queuepb.QueueServiceClient) error {
			var out *queuepb.AwaitResultResponse
			shown := a.during(func() string { return "waiting for the outcome of task " + args[0] })
			defer shown()
			err := inWaits(&a.clock, wait, func(wait time.Duration) (bool, error) {
				ctx, cancel := conn.bounded(ctx, wait)
				defer cancel()
				var err error
				out, err = api.AwaitResult(ctx, &queuepb.AwaitResultRequest{Tenant: conn.tenant, Id: args[0], WaitMs: ms(wait)})
				return ended(out.GetState()), err
			})
			shown()
			if err != nil {
				return err
			}
			return errors.Join(a.print(document(out), func(t *table) { resultRows(t, out) }), notDone(out.GetState()))
		})
	}
	return c
}

func ended(s queuepb.TaskState) bool {
	return s == queuepb.TaskState_TASK_STATE_DONE || s == queuepb.TaskState_TASK_STATE_DEAD
}

func notDone(s queuepb.TaskState) error {
	switch {
	case s == queuepb.TaskState_TASK_STATE_DONE:
		return nil
	case ended(s):
		return errors.New("the task is dead")
	}
	return fmt.Errorf("the task is not done, it is %s", word(s))
}

func resultRows(t *table, r *queuepb.AwaitResultResponse) {
	t.row("state", word(r.GetState()))
	if r.GetCompletedAtMs() != 0 {
		t.row("completed", when(r.GetCompletedAtMs()))
		t.row("kept until", when(r.GetRetainedUntilMs()))
	}
	if r.GetLastError() != "" {
		t.row("last error", r.GetLastError())
	}
	if r.GetState() == queuepb.TaskState_TASK_STATE_DONE {
		t.row("result", string(r.GetResult()))
	}
}
