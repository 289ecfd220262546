package k6

import (
	"context"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/k6/options"
)

// readOptions are the options of task and result.
type readOptions struct {
	tenant string
	wait   time.Duration
}

var (
	readTable = options.Table[readOptions]{
		"tenant": func(r *readOptions, v options.Value) (err error) { r.tenant, err = v.Text(); return err },
	}
	resultTable = options.Table[readOptions]{
		"tenant": readTable["tenant"],
		"wait": func(r *readOptions, v options.Value) (err error) {
			r.wait, err = v.Duration(0, claimWaitMax)
			return err
		},
	}
)

// read makes a read-only call for a task.
func (c *queueClient) read(call string, id, from sobek.Value, table options.Table[readOptions], do func(context.Context, queuepb.QueueServiceClient, string, readOptions) (func() any, error)) *sobek.Promise {
	o := readOptions{tenant: c.options.tenant}
	if err := c.usable(call); err != nil {
		return c.refused(err)
	}
	text, ok := export(id).(string)
	if !ok || text == "" {
		return c.refused(&options.Error{Call: call, Field: "id", Remedy: "pass a task's id, as produce() resolved to"})
	}
	if err := table.Read(c.vu.Runtime(), call, from, &o); err != nil {
		return c.refused(err)
	}
	api, err := c.api()
	if err != nil {
		return c.refused(failed(call, err))
	}
	record := c.recorder()
	return c.later(call, o.wait+c.options.timeout, func(ctx context.Context) (func() any, error) {
		made, err := do(ctx, api, text, o)
		return made, record.failedRead(ctx, o.tenant, err)
	})
}

// failedRead counts a failed read and returns err. The answers not_found and invalid_argument do
// not count as failures.
func (r *recorder) failedRead(ctx context.Context, tenant string, err error) error {
	if code := codeOf(err); err == nil || code == codeNotFound || code == codeInvalid {
		return err
	}
	return r.failedCall(ctx, nil, r.tags.Tags.With("tenant", tenant), err)
}

// task implements the script's method: it returns the state of a task.
func (c *queueClient) task(id, from sobek.Value) *sobek.Promise {
	return c.read("task", id, from, readTable, func(ctx context.Context, api queuepb.QueueServiceClient, id string, o readOptions) (func() any, error) {
		response, err := api.GetTask(ctx, &queuepb.GetTaskRequest{Tenant: o.tenant, Id: id})
		if err != nil {
			return nil, err
		}
		return func() any { return c.plain(response.GetTask().ProtoReflect()) }, nil
	})
}

// result implements the script's method: it waits for the end of a task and returns its result.
func (c *queueClient) result(id, from sobek.Value) *sobek.Promise {
	return c.read("result", id, from, resultTable, func(ctx context.Context, api queuepb.QueueServiceClient, id string, o readOptions) (func() any, error) {
		response, err := api.AwaitResult(ctx, &queuepb.AwaitResultRequest{Tenant: o.tenant, Id: id, WaitMs: millis(o.wait)})
		if err != nil {
			return nil, err
		}
		return func() any {
			var result any
			if response.Result != nil {
				result = c.vu.Runtime().NewArrayBuffer(response.GetResult())
			}
			return c.instance.object(map[string]any{"state": stateName(response.GetState()), "result": result})
		}, nil
	})
}

// stateName returns a state's name for scripts, such as "ready".
func stateName(s queuepb.TaskState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_"))
}
