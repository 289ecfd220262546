package k6

import (
	"context"
	"slices"
	"time"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/k6/options"
	"github.com/pronybench/prony/harness/load"
)

// workerOptions are the options of worker.
type workerOptions struct {
	client.WorkerConfig
}

var workerTable = options.Table[workerOptions]{
	"queues": func(w *workerOptions, v options.Value) (err error) { w.Queues, err = v.Texts(queuesMax); return err },
	"weights": func(w *workerOptions, v options.Value) error {
		weights, err := v.Ints(queuesMax, 1, weightMax)
		for _, n := range weights {
			w.Weights = append(w.Weights, uint32(n))
		}
		return err
	},
	"slots": func(w *workerOptions, v options.Value) error {
		n, err := v.Int(1, slotsMax)
		w.Slots = int(n)
		return err
	},
	"lease": func(w *workerOptions, v options.Value) (err error) {
		w.Lease, err = v.Duration(time.Millisecond, durationMax)
		return err
	},
	"tenant": func(w *workerOptions, v options.Value) (err error) { w.Tenant, err = v.Text(); return err },
}

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
	o := workerOptions{client.WorkerConfig{Slots: 1, Tenant: c.options.tenant}}
	if err := workerTable.Read(c.vu.Runtime(), call, from, &o); err != nil {
		c.throw(err)
	}
	switch {
	case len(o.Queues) == 0:
		c.throw(&options.Error{Call: call, Field: "queues", Remedy: "pass the names of the queues to draw from"})
	case o.Weights != nil && len(o.Weights) != len(o.Queues):
		c.throw(&options.Error{Call: call, Field: "weights", Remedy: "pass one weight for each queue, or none"})
	}
	w := &queueWorker{queueClient: c, config: o.WorkerConfig}
	c.open[&w.stream] = true
	return c.instance.object(map[string]any{
		"claim":    w.claim,
		"complete": c.settle(complete, w.streamed),
		"fail":     c.settle(fail, w.streamed),
		"extend":   c.settle(extend, w.streamed),
		"release":  c.settle(release, w.streamed),
		"close":    func() *sobek.Promise { return c.end("worker.close", &w.stream) },
	})
}

// dial returns a function that opens the stream.
func (w *queueWorker) dial() (func() (*client.Worker, error), error) {
	conn, err := w.connection(w.options.connection)
	if err != nil {
		return nil, err
	}
	return func() (*client.Worker, error) { return conn.Worker(w.process.live, w.config) }, nil
}

// claim implements the script's method.
func (w *queueWorker) claim(from sobek.Value) *sobek.Promise {
	const call = "worker.claim"
	o := claimOptions{max: 1, wait: claimWaitDefault}
	if err := w.usable(call); err != nil {
		return w.refused(err)
	}
	if err := workerClaimTable.Read(w.vu.Runtime(), call, from, &o); err != nil {
		return w.refused(err)
	}
	dial, err := w.dial()
	if err != nil {
		return w.refused(failed(call, err))
	}
	settler, err := w.settlerOf(&w.options, &w.settler)
	if err != nil {
		return w.refused(failed(call, err))
	}
	t := taker{of: w.instance, owner: w, tenant: w.config.Tenant, settler: settler}
	record := w.recorder()
	return w.later(call, o.wait+w.options.timeout, func(ctx context.Context) (func() any, error) {
		var leased []*queuepb.Task
		if err := w.stream.use(ctx, dial, func(s *client.Worker) (err error) {
			leased, err = receive(ctx, s, o)
			return err
		}); err != nil {
			return nil, record.failedCall(ctx, settler, record.of(w.config.Tenant, w.config.Queues[0]), err)
		}
		tasks := t.take(leased)
		return func() any { return tasks }, nil
	})
}

// streamed returns a settler that uses the session's stream.
func (w *queueWorker) streamed(call string) (settler, error) {
	dial, err := w.dial()
	if err != nil {
		return settler{}, err
	}
	entered, err := w.settlerOf(&w.options, &w.settler)
	if err != nil {
		return settler{}, err
	}
	return settler{call: "worker." + call, owner: w, entered: entered, do: func(ctx context.Context, how settling, tasks []*queuepb.Task) (errs []error, err error) {
		err = w.stream.use(ctx, dial, func(s *client.Worker) (err error) {
			errs, err = how.over(ctx, s, tasks)
			return err
		})
		return errs, err
	}}, nil
}

// eachMax is the maximum number of concurrent settlements of one call. The session sends concurrent
// settlements together.
const eachMax = 64

// over settles tasks over a session. It returns the outcome of each task, or nil if the server
// accepted all.
func (h settling) over(ctx context.Context, s *client.Worker, tasks []*queuepb.Task) ([]error, error) {
	if h.kind == complete && h.result == nil {
		return s.CompleteBatch(ctx, tasks)
	}
	errs := make([]error, len(tasks))
	room := make(chan struct{}, eachMax)
	done := make(chan struct{}, len(tasks))
	for i, t := range tasks {
		room <- struct{}{}
		go func() {
			switch h.kind {
			case complete:
				errs[i] = s.CompleteWith(ctx, t, h.result)
			case fail:
				errs[i] = s.Fail(ctx, t, h.reason, h.delay)
			case extend:
				errs[i] = s.Extend(ctx, t, h.lease)
			case release:
				errs[i] = s.Release(ctx, t, h.delay)
			}
			<-room
			done <- struct{}{}
		}()
	}
	for range tasks {
		<-done
	}
	if !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		return nil, nil
	}
	if all := errs[0]; broken(all) && !slices.ContainsFunc(errs, func(err error) bool { return !broken(err) }) {
		return nil, all // the session is broken
	}
	return errs, nil
}
