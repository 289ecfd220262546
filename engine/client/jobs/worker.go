package jobs

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

// Worker runs the jobs of queues. Set the fields and call Run.
type Worker struct {
	Client *client.Client
	Mux    *Mux
	Tenant string // "" means the token's tenant
	// Queues has the weight of each queue, from 1 to 100: the relative share of the queue among the
	// jobs while all queues have ready jobs. Nil means DefaultQueue.
	Queues map[string]int
	// Concurrency is the maximum number of handlers that run at the same time; 0 means 10.
	Concurrency int
	// Lease is the duration of leases and of their extensions: if the worker dies, its tasks are
	// ready again after this time. 0 means the lease duration of each task, or else the server's
	// default.
	Lease time.Duration
	// Grace is how long Run waits for handlers after its context has ended, before it ends their
	// contexts. 0 means 20 s; a negative value means no wait.
	Grace time.Duration
	// Logger receives failures, panics and lost leases; nil means slog.Default.
	Logger *slog.Logger
	// Middleware wraps all handlers. The first one is the outermost.
	Middleware []Middleware
	// OnFinish, if not nil, is called after each attempt, by several goroutines at the same time.
	OnFinish func(Finish)
}

const (
	concurrencyDefault = 10
	graceDefault       = 20 * time.Second
	// abandonAfter is how long Run waits for handlers whose contexts have ended.
	abandonAfter = 5 * time.Second
)

// Run runs jobs until ctx ends. It then takes no further task and waits for the running handlers.
// After the time of Grace it ends their contexts with ErrShutdown and waits for another 5 s. Tasks
// of handlers that still run are released then, and Run returns an error that names them.
//
// Run returns an error if it cannot open a session, or if the server ends the session. It does not
// return while the server is unreachable, because the session reconnects.
func (w *Worker) Run(ctx context.Context) error {
	r, err := w.open(ctx)
	if err != nil || r == nil {
		return err
	}
	err = r.receive(ctx)
	return r.stop(err)
}

// open opens the session. It returns nil if ctx ends before the session is open.
func (w *Worker) open(ctx context.Context) (*run, error) {
	r := &run{
		Worker: w, log: w.Logger, running: map[*queuepb.Task]*attempt{},
		slots: make(chan struct{}, max(w.concurrency(), 0)), extending: make(chan struct{}, extendMax),
	}
	if r.log == nil {
		r.log = slog.Default()
	}
	r.handle = func(ctx context.Context, t *queuepb.Task) error { return protect(w.Mux.of(t).handle)(ctx, t) }
	for _, m := range slices.Backward(w.Middleware) {
		r.handle = protect(m(r.handle))
	}
	// The session must outlive ctx, since handlers settle their tasks during the grace.
	detached := context.WithoutCancel(ctx)
	r.handling, r.endHandlers = context.WithCancelCause(detached)
	r.settling, r.endSettling = context.WithCancel(detached)
	detach := context.AfterFunc(ctx, r.endSettling)
	config := client.WorkerConfig{Tenant: w.Tenant, Slots: w.concurrency(), Lease: w.Lease, OnCancel: r.cancelled}
	queues := w.Queues
	if len(queues) == 0 {
		queues = map[string]int{DefaultQueue: 1}
	}
	for _, q := range slices.Sorted(maps.Keys(queues)) {
		config.Queues, config.Weights = append(config.Queues, q), append(config.Weights, uint32(max(queues[q], 0)))
	}
	var err error
	r.session, err = w.Client.Worker(r.settling, config)
	if err == nil && detach() {
		return r, nil
	}
	r.endSettling()
	r.endHandlers(ErrShutdown)
	if r.session != nil {
		r.warn("close the session", r.session.Close(r.settling))
	}
	if ctx.Err() != nil {
		err = nil
	}
	return nil, err
}

func (w *Worker) concurrency() int {
	if w.Concurrency == 0 {
		return concurrencyDefault
	}
	return w.Concurrency
}

func (w *Worker) grace() time.Duration {
	if w.Grace == 0 {
		return graceDefault
	}
	return w.Grace
}
