package rest

import (
	"context"
	"net/url"
	"strconv"

	"github.com/pronybench/prony/harness/driver"
)

// DialQueueReader returns a reader of queues. admin is the "host:port" of the admin listener of one
// server of the target. The reader opens network connections on demand.
func DialQueueReader(target driver.Target, admin string) (driver.QueueReader, error) {
	target.HTTP = admin
	c, err := callerOf(target)
	if err != nil {
		return nil, err
	}
	return queueReader{c}, nil
}

type queueReader struct{ caller caller }

// List implements driver.QueueReader with a GET of the tasks.
func (r queueReader) List(ctx context.Context, tenant, queue string, leased bool) ([]driver.Found, error) {
	query := url.Values{"tenant": {tenant}, "queue": {queue}, "state": {stateReady}, "page_size": {strconv.Itoa(driver.ListMax)}}
	if leased {
		query.Set("state", stateLeased)
	}
	var answer struct{ Tasks []taskMessage }
	if err := r.caller.get(ctx, "/v1/tasks", query, &answer); err != nil {
		return nil, err
	}
	listed := make([]driver.Found, len(answer.Tasks))
	for i, t := range answer.Tasks {
		listed[i] = t.found()
	}
	return listed, nil
}

// Stats implements driver.QueueReader with a GET of the queue.
func (r queueReader) Stats(ctx context.Context, tenant, queue string) (driver.QueueStats, error) {
	var answer struct {
		Queue struct {
			Tenant, Queue string
			Enqueued      uint64 `json:",string"`
		}
	}
	if err := r.caller.get(ctx, "/v1/queues:get", url.Values{"tenant": {tenant}, "queue": {queue}}, &answer); err != nil {
		return driver.QueueStats{}, err
	}
	q := answer.Queue
	return driver.QueueStats{Tenant: q.Tenant, Queue: q.Queue, Enqueued: q.Enqueued}, nil
}

// Close closes all idle connections.
func (r queueReader) Close() error {
	r.caller.pool.close()
	return nil
}
