package k6

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/grafana/sobek"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/k6/options"
	"github.com/pronybench/prony/harness/load"
)

// queueWorker implements the script's worker session.
type queueWorker struct {
	*queueClient
	config  client.WorkerConfig
	stream  session[*client.Worker]
	settler *load.Settler
}

// worker implements the script's method: it returns a session, which opens at its first call.
func (c *queueClient) worker(from sobek.Value) *sobek.Object {
	const call = "worker"
	o := callOptions{slots: 1, tenant: c.options.tenant}
	if err := workerTable.Read(c.vu.Runtime(), call, from, &o); err != nil {
		c.throw(err)
	}
	switch {
	case len(o.queues) == 0:
		c.throw(&options.Error{Call: call, Field: "queues", Remedy: "pass the names of the queues to draw from"})
	case o.weights != nil && len(o.weights) != len(o.queues):
		c.throw(&options.Error{Call: call, Field: "weights", Remedy: "pass one weight for each queue, or none"})
	}
	w := &queueWorker{queueClient: c, config: client.WorkerConfig{Tenant: o.tenant, Queues: o.queues, Weights: o.weights, Slots: o.slots, Lease: o.lease}}
	w.stream.dial = func(conn *client.Client) (*client.Worker, error) { return conn.Worker(c.process.live, w.config) }
	c.open[&w.stream] = true
	of := map[string]any{"claim": w.claim, "close": func() *sobek.Promise { return c.end("worker.close", &w.stream) }}
	for _, k := range kinds {
		of[string(k)] = c.settle(k, "worker."+string(k), w, &w.settler, w.streamed)
	}
	return c.instance.object(of)
}

// claim implements the script's method.
func (w *queueWorker) claim(from sobek.Value) *sobek.Promise {
	return w.call("worker.claim", workerClaimTable, from, callOptions{max: 1, wait: claimWaitDefault}, func(o *callOptions) (work, error) {
		conn, err := w.connection(w.options.connection)
		if err != nil {
			return nil, err
		}
		return w.claiming(w, w.config.Tenant, w.config.Queues[0], &w.settler, func(ctx context.Context) (leased []*queuepb.Task, err error) {
			err = w.stream.use(ctx, conn, func(s *client.Worker) (err error) {
				leased, err = receive(ctx, s, o)
				return err
			})
			return leased, err
		})
	})
}

// receive claims from a session. It waits for the first task, and adds tasks that have arrived.
func receive(ctx context.Context, w *client.Worker, o *callOptions) (leased []*queuepb.Task, err error) {
	arrived := func() {
		for len(leased) < o.max {
			t, ok := w.TryReceive()
			if !ok {
				return
			}
			leased = append(leased, t)
		}
	}
	if arrived(); len(leased) > 0 || o.wait == 0 {
		return leased, nil
	}
	wait, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	first, err := w.Receive(wait)
	if ctx.Err() == nil && wait.Err() != nil && (errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded) {
		return nil, nil // the wait has expired
	}
	if err != nil {
		return nil, err
	}
	leased = append(leased, first)
	arrived()
	return leased, nil
}

// eachMax is the maximum number of concurrent settlements of one call. The session sends concurrent
// settlements together.
const eachMax = 64

// streamed settles tasks over the session's stream.
func (w *queueWorker) streamed(ctx context.Context, conn *client.Client, k kind, o *callOptions, tasks []*queuepb.Task) (errs []error, err error) {
	err = w.stream.use(ctx, conn, func(s *client.Worker) (err error) {
		errs, err = k.over(ctx, s, o, tasks)
		return err
	})
	return errs, err
}

func (k kind) over(ctx context.Context, s *client.Worker, o *callOptions, tasks []*queuepb.Task) ([]error, error) {
	if k == complete && o.result == nil {
		return s.CompleteBatch(ctx, tasks)
	}
	errs := make([]error, len(tasks))
	room := make(chan struct{}, eachMax)
	var all sync.WaitGroup
	for i, t := range tasks {
		room <- struct{}{}
		all.Go(func() {
			switch k {
			case complete:
				errs[i] = s.CompleteWith(ctx, t, o.result)
			case fail:
				errs[i] = s.Fail(ctx, t, o.reason, o.delay)
			case extend:
				errs[i] = s.Extend(ctx, t, o.lease)
			case release:
				errs[i] = s.Release(ctx, t, o.delay)
			}
			<-room
		})
	}
	all.Wait()
	switch {
	case !slices.ContainsFunc(errs, func(err error) bool { return err != nil }):
		return nil, nil
	case !slices.ContainsFunc(errs, func(err error) bool { return !broken(err) }):
		return nil, errs[0] // the session is broken
	}
	return errs, nil
}
