package river

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	upstream "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/peers/internal/peer"
	"github.com/pronybench/prony/harness/peers/postgres"
)

// closeMax is the maximum time for closing a worker.
const closeMax = 5 * time.Second

func (c *conn) Worker(_ context.Context, tenant string, queues []string, slots int) (driver.Worker, error) {
	slots = max(1, slots)
	w := &worker{conn: c, tenant: tenant, claimed: make(chan *working, slots*len(queues)), over: make(chan struct{}), queues: map[string]string{}}
	config := &upstream.Config{
		Logger: logger(), Workers: upstream.NewWorkers(), Queues: map[string]upstream.QueueConfig{}, FetchCooldown: fetchPause, JobTimeout: -1,
		RescueStuckJobsAfter: c.lease, RetryPolicy: retryAtOnce{},
	}
	for _, queue := range queues {
		name, err := c.queueOf(tenant, queue)
		if err != nil {
			return nil, err
		}
		w.queues[name] = queue
		config.Queues[name] = upstream.QueueConfig{MaxWorkers: slots}
	}
	upstream.AddWorker(config.Workers, w)
	client, err := upstream.NewClient(riverpgxv5.New(c.pool), config)
	if err != nil {
		return nil, err
	}
	if err := client.Start(context.Background()); err != nil {
		return nil, fmt.Errorf("start River's client: %w", err)
	}
	w.client = client
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers = append(c.workers, w)
	return w, nil
}

// worker is a client of River. River calls Work for each fetched job; Work passes the job to Claim,
// and waits for Complete.
type worker struct {
	upstream.WorkerDefaults[job]
	conn    *conn
	tenant  string
	client  *upstream.Client[pgx.Tx]
	queues  map[string]string // by River's name
	claimed chan *working
	over    chan struct{}
}

// working is the handle of a claimed task: a job whose Work waits.
type working struct {
	ctx  context.Context // context of Work, with the values that JobCompleteTx needs
	job  *upstream.Job[job]
	done chan error // receives the result of Work, with a buffer of one

	mu      sync.Mutex
	settled bool
}

var errNotCompleted = errors.New("the job's completion failed")

// Work implements river.Worker.
func (w *worker) Work(ctx context.Context, j *upstream.Job[job]) error {
	claimed := &working{ctx: ctx, job: j, done: make(chan error, 1)}
	w.claimed <- claimed // never blocks: the buffer has the size of MaxWorkers
	select {
	case err := <-claimed.done:
		return err
	case <-w.over:
		return upstream.JobSnooze(0) // returns the job
	}
}

func (w *worker) close() error {
	close(w.over)
	ctx, cancel := context.WithTimeout(context.Background(), closeMax)
	defer cancel()
	if err := w.client.StopAndCancel(ctx); err != nil {
		return fmt.Errorf("stop River's client: %w", err)
	}
	return nil
}

// Claim implements driver.Worker.
func (w *worker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	return peer.Claim(ctx, w.claimed, w.over, into, w.delivery)
}

func (w *worker) delivery(c *working) driver.Delivery {
	return driver.Delivery{
		Tenant: w.tenant, Queue: w.queues[c.job.Queue], Payload: c.job.Args.Payload, Handle: c, Attempt: uint32(c.job.Attempt),
	}
}

// Complete implements driver.Worker. It completes the tasks of a batch concurrently, each in a
// separate transaction, as in River's documentation.
func (w *worker) Complete(_ context.Context, deliveries []driver.Delivery, outcomes []error) error {
	for i := range deliveries {
		if _, ok := deliveries[i].Handle.(*working); !ok {
			return peer.ErrNotClaimed
		}
	}
	var calls sync.WaitGroup
	for i := range deliveries {
		calls.Go(func() { outcomes[i] = w.complete(deliveries[i].Handle.(*working)) })
	}
	calls.Wait()
	return nil
}

func (w *worker) complete(c *working) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled {
		return peer.ErrLeaseOver
	}
	c.settled = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), answerMax)
	defer cancel()
	err := pgx.BeginFunc(ctx, w.conn.pool, func(tx pgx.Tx) error {
		_, err := upstream.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, c.job)
		return err
	})
	switch {
	case err == nil:
		c.done <- nil
		return nil
	case errors.Is(err, rivertype.ErrNotFound):
		c.done <- nil
		return peer.ErrLeaseOver
	}
	// River redelivers the job if it is not completed.
	c.done <- fmt.Errorf("%w: %w", errNotCompleted, err)
	return postgres.OutcomeOf(err)
}
