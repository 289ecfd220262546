package k6

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/k6/options"
)

// admin implements the script's admin object, which only reads from the admin listener.
type admin struct{ *queueClient }

func (a admin) object() *sobek.Object {
	return a.instance.object(map[string]any{
		"status": func() *sobek.Promise {
			return a.read("admin.status", nil, nothingTable, func(ctx context.Context, o *adminOptions) (func() any, error) {
				r, err := o.client.GetStatus(ctx, &adminpb.GetStatusRequest{})
				return func() any { return a.plain(r.ProtoReflect()) }, err
			})
		},
		"queues": func(from sobek.Value) *sobek.Promise {
			return a.read("admin.queues", from, tenantedTable, func(ctx context.Context, o *adminOptions) (func() any, error) {
				r, err := o.client.ListQueues(ctx, &adminpb.ListQueuesRequest{Tenant: o.tenant, PageSize: uint32(o.limit)})
				return func() any { return plains(a.instance, r.GetQueues()) }, err
			})
		},
		"queue": a.queue,
		"tasks": func(from sobek.Value) *sobek.Promise {
			return a.read("admin.tasks", from, tasksTable, func(ctx context.Context, o *adminOptions) (func() any, error) {
				r, err := o.client.ListTasks(ctx, &adminpb.ListTasksRequest{Tenant: o.tenant, Queue: o.queue, State: o.state, PageSize: uint32(o.limit)})
				return func() any { return plains(a.instance, r.GetTasks()) }, err
			})
		},
		"dead": func(from sobek.Value) *sobek.Promise {
			return a.read("admin.dead", from, deadTable, func(ctx context.Context, o *adminOptions) (func() any, error) {
				r, err := o.client.ListDead(ctx, &adminpb.ListDeadRequest{Tenant: o.tenant, Queue: o.queue, PageSize: uint32(o.limit)})
				return func() any { return plains(a.instance, r.GetTasks()) }, err
			})
		},
		"tenants": func() *sobek.Promise {
			return a.read("admin.tenants", nil, nothingTable, func(ctx context.Context, o *adminOptions) (func() any, error) {
				r, err := o.client.ListTenants(ctx, &adminpb.ListTenantsRequest{})
				return func() any { return plains(a.instance, r.GetTenants()) }, err
			})
		},
	})
}

// queue implements the script's method: it reads one queue.
func (a admin) queue(name, from sobek.Value) *sobek.Promise {
	const call = "admin.queue"
	queue, ok := export(name).(string)
	if !ok || queue == "" {
		return a.refused(&options.Error{Call: call, Field: "name", Remedy: "pass the queue's name"})
	}
	return a.read(call, from, tenantedTable, func(ctx context.Context, o *adminOptions) (func() any, error) {
		r, err := o.client.GetQueue(ctx, &adminpb.GetQueueRequest{Tenant: o.tenant, Queue: queue})
		if codeOf(err) == codeNotFound {
			return nil, &callError{call: call, field: "name", code: codeNotFound, cause: fmt.Errorf("tenant %q has no queue %q", o.tenant, queue)}
		}
		return func() any { return a.plain(r.GetQueue().ProtoReflect()) }, err
	})
}

// Default and maximum number of items in a list.
const (
	listDefault = 100
	listMax     = 1000
)

// adminOptions are the options of the reads, and the client that they use.
type adminOptions struct {
	client adminpb.AdminServiceClient

	tenant, queue string
	state         queuepb.TaskState
	limit         int
}

func adminTenant(o *adminOptions, v options.Value) (err error) { o.tenant, err = v.Text(); return err }

func adminQueue(o *adminOptions, v options.Value) (err error) { o.queue, err = v.Text(); return err }

func adminLimit(o *adminOptions, v options.Value) error { return v.IntInto(&o.limit, 1, listMax) }

// states are the states by which the server can list tasks.
var states = map[string]queuepb.TaskState{
	"ready":   queuepb.TaskState_TASK_STATE_READY,
	"delayed": queuepb.TaskState_TASK_STATE_DELAYED,
	"leased":  queuepb.TaskState_TASK_STATE_LEASED,
	"dead":    queuepb.TaskState_TASK_STATE_DEAD,
}

var (
	nothingTable  = options.Table[adminOptions]{}
	tenantedTable = options.Table[adminOptions]{"tenant": adminTenant, "limit": adminLimit}
	deadTable     = options.Table[adminOptions]{"tenant": adminTenant, "queue": adminQueue, "limit": adminLimit}
	tasksTable    = options.Table[adminOptions]{
		"tenant": adminTenant, "queue": adminQueue, "limit": adminLimit,
		"state": func(o *adminOptions, v options.Value) error {
			name, err := v.Text()
			state, known := states[name]
			if err != nil || !known {
				return v.Fault("pass one of %s", strings.Join(slices.Sorted(maps.Keys(states)), ", "))
			}
			o.state = state
			return nil
		},
	}
)

// read returns a promise of the admin listener's answer.
func (a admin) read(call string, from sobek.Value, table options.Table[adminOptions], do func(context.Context, *adminOptions) (func() any, error)) *sobek.Promise {
	o := &adminOptions{tenant: a.options.tenant, limit: listDefault, state: queuepb.TaskState_TASK_STATE_READY}
	if err := a.usable(call); err != nil {
		return a.refused(err)
	}
	if err := table.Read(a.vu.Runtime(), call, from, o); err != nil {
		return a.refused(err)
	}
	if _, needed := table["queue"]; needed && o.queue == "" {
		return a.refused(&options.Error{Call: call, Field: "queue", Remedy: "pass the queue's name"})
	}
	p, err := a.process.pool(a.options.connection)
	if err != nil {
		return a.refused(failed(call, err))
	}
	o.client = p.admin
	record := a.recorder()
	return a.later(call, a.options.timeout, func(ctx context.Context) (func() any, error) {
		made, err := do(ctx, o)
		return made, record.failedRead(ctx, o.tenant, err)
	})
}
