package k6

import (
	"context"
	"fmt"
	"strings"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/k6/options"
)

// reader has the options of a call that only reads, and the clients that it uses.
type reader struct {
	*callOptions
	api   queuepb.QueueServiceClient
	admin adminpb.AdminServiceClient
}

// states are the states by which the server can list tasks.
var states = map[string]queuepb.TaskState{
	"ready":   queuepb.TaskState_TASK_STATE_READY,
	"delayed": queuepb.TaskState_TASK_STATE_DELAYED,
	"leased":  queuepb.TaskState_TASK_STATE_LEASED,
	"dead":    queuepb.TaskState_TASK_STATE_DEAD,
}

// tenantsMax is the number of tenants that a script can list, the server's limit of a page.
const tenantsMax = 1_000

// read makes a call that only reads. The answers not_found and invalid_argument do not count as
// failures.
func (c *queueClient) read(call string, table options.Table[callOptions], from sobek.Value, do func(context.Context, reader) (func() any, error)) *sobek.Promise {
	return c.call(call, table, from, callOptions{limit: listDefault, state: queuepb.TaskState_TASK_STATE_READY}, func(o *callOptions) (work, error) {
		if _, needed := table["queue"]; needed && len(o.queues) == 0 {
			return nil, &options.Error{Call: call, Field: "queue", Remedy: "pass the queue's name"}
		}
		p, err := c.process.pool(c.options.connection)
		if err != nil {
			return nil, err
		}
		r, record := reader{o, p.client(c.vu.State().VUID).API(), p.admin}, c.recorder()
		return func(ctx context.Context) (func() any, error) {
			made, err := do(ctx, r)
			if code := codeOf(err); err != nil && code != codeNotFound && code != codeInvalid {
				err = record.failedCall(ctx, nil, record.tags.Tags.With("tenant", o.tenant), err)
			}
			return made, err
		}, nil
	})
}

// named is read for one task or queue, whose id or name must not be empty.
func (c *queueClient) named(call, field, remedy string, name sobek.Value, table options.Table[callOptions], from sobek.Value, do func(context.Context, reader, string) (func() any, error)) *sobek.Promise {
	text, ok := export(name).(string)
	if usable := c.usable(call); usable == nil && (!ok || text == "") {
		return c.refused(&options.Error{Call: call, Field: field, Remedy: remedy})
	}
	return c.read(call, table, from, func(ctx context.Context, r reader) (func() any, error) { return do(ctx, r, text) })
}

// passID tells a user what to pass as a task's id.
const passID = "pass a task's id, as produce() resolved to"

// task implements the script's method: it returns the state of a task.
func (c *queueClient) task(id, from sobek.Value) *sobek.Promise {
	return c.named("task", "id", passID, id, readTable, from, func(ctx context.Context, r reader, id string) (func() any, error) {
		response, err := r.api.GetTask(ctx, &queuepb.GetTaskRequest{Tenant: r.tenant, Id: id})
		return func() any { return c.plain(response.GetTask().ProtoReflect()) }, err
	})
}

// result implements the script's method: it waits for the end of a task and returns its result.
func (c *queueClient) result(id, from sobek.Value) *sobek.Promise {
	return c.named("result", "id", passID, id, resultTable, from, func(ctx context.Context, r reader, id string) (func() any, error) {
		response, err := r.api.AwaitResult(ctx, &queuepb.AwaitResultRequest{Tenant: r.tenant, Id: id, WaitMs: millis(r.wait)})
		return func() any {
			var result any
			if response.Result != nil {
				result = c.vu.Runtime().NewArrayBuffer(response.GetResult())
			}
			state := strings.ToLower(strings.TrimPrefix(response.GetState().String(), "TASK_STATE_"))
			return c.instance.object(map[string]any{"state": state, "result": result})
		}, err
	})
}

// admin returns the script's admin object, which only reads from the admin listener.
func (c *queueClient) admin() *sobek.Object {
	return c.instance.object(map[string]any{
		"status": func() *sobek.Promise {
			return c.read("admin.status", nil, nil, func(ctx context.Context, r reader) (func() any, error) {
				a, err := r.admin.GetStatus(ctx, &adminpb.GetStatusRequest{})
				return func() any { return c.plain(a.ProtoReflect()) }, err
			})
		},
		"queues": func(from sobek.Value) *sobek.Promise {
			return c.read("admin.queues", listTable, from, func(ctx context.Context, r reader) (func() any, error) {
				a, err := r.admin.ListQueues(ctx, &adminpb.ListQueuesRequest{Tenant: r.tenant, PageSize: uint32(r.limit)})
				return func() any { return plains(c.instance, a.GetQueues()) }, err
			})
		},
		"queue": func(name, from sobek.Value) *sobek.Promise {
			const call, field = "admin.queue", "name"
			return c.named(call, field, "pass the queue's name", name, listTable, from, func(ctx context.Context, r reader, name string) (func() any, error) {
				a, err := r.admin.GetQueue(ctx, &adminpb.GetQueueRequest{Tenant: r.tenant, Queue: name})
				if codeOf(err) == codeNotFound {
					return nil, &options.Error{Call: call, Field: field, Code: codeNotFound, Cause: fmt.Errorf("tenant %q has no queue %q", r.tenant, name)}
				}
				return func() any { return c.plain(a.GetQueue().ProtoReflect()) }, err
			})
		},
		"tasks": func(from sobek.Value) *sobek.Promise {
			return c.read("admin.tasks", tasksTable, from, func(ctx context.Context, r reader) (func() any, error) {
				a, err := r.admin.ListTasks(ctx, &adminpb.ListTasksRequest{Tenant: r.tenant, Queue: r.queues[0], State: r.state, PageSize: uint32(r.limit)})
				return func() any { return plains(c.instance, a.GetTasks()) }, err
			})
		},
		"dead": func(from sobek.Value) *sobek.Promise {
			return c.read("admin.dead", deadTable, from, func(ctx context.Context, r reader) (func() any, error) {
				a, err := r.admin.ListDead(ctx, &adminpb.ListDeadRequest{Tenant: r.tenant, Queue: r.queues[0], PageSize: uint32(r.limit)})
				return func() any { return plains(c.instance, a.GetTasks()) }, err
			})
		},
		"tenants": func() *sobek.Promise {
			return c.read("admin.tenants", nil, nil, func(ctx context.Context, r reader) (func() any, error) {
				a, err := r.admin.ListTenants(ctx, &adminpb.ListTenantsRequest{PageSize: tenantsMax})
				return func() any { return plains(c.instance, a.GetTenants()) }, err
			})
		},
	})
}
