package unary

import (
	"context"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/driver"
)

// DialQueueReader opens a connection that reads queues. admin is the "host:port" of the admin
// listener of one server of the target.
func DialQueueReader(target driver.Target, admin string) (driver.QueueReader, error) {
	c, err := target.DialAdmin(admin)
	if err != nil {
		return nil, err
	}
	return queueReader{c}, nil
}

type queueReader struct{ admin *client.Admin }

// List implements driver.QueueReader with the call ListTasks.
func (r queueReader) List(ctx context.Context, tenant, queue string, leased bool) ([]driver.Found, error) {
	in := &adminpb.ListTasksRequest{Tenant: tenant, Queue: queue, State: queuepb.TaskState_TASK_STATE_READY, PageSize: driver.ListMax}
	if leased {
		in.State = queuepb.TaskState_TASK_STATE_LEASED
	}
	response, err := r.admin.ListTasks(ctx, in)
	if err != nil {
		return nil, answered(err)
	}
	listed := make([]driver.Found, len(response.GetTasks()))
	for i, t := range response.GetTasks() {
		listed[i] = foundOf(t)
	}
	return listed, nil
}

// Stats implements driver.QueueReader with the call GetQueue.
func (r queueReader) Stats(ctx context.Context, tenant, queue string) (driver.QueueStats, error) {
	response, err := r.admin.GetQueue(ctx, &adminpb.GetQueueRequest{Tenant: tenant, Queue: queue})
	if err != nil {
		return driver.QueueStats{}, answered(err)
	}
	q := response.GetQueue()
	return driver.QueueStats{Tenant: q.GetTenant(), Queue: q.GetQueue(), Enqueued: q.GetEnqueued()}, nil
}

func (r queueReader) Close() error { return r.admin.Close() }
