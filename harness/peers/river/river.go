// Package river measures River, a job queue on PostgreSQL.
package river

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	upstream "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers/internal/peer"
	"github.com/pronybench/prony/harness/peers/postgres"
)

// fetchPause is the minimum time between two fetches of a worker.
const fetchPause = time.Millisecond

// Target returns the target river.
func Target() program.Target { return target{} }

type target struct{}

// Describe implements program.Target.
func (target) Describe(ctx context.Context) program.Description {
	d := postgres.Target().Describe(ctx)
	d.Name, d.Product = "river", "River on PostgreSQL"
	d.Client = peer.Module("github.com/riverqueue/river") + ", " + d.Client
	d.Settings = append(postgres.ServerSettings(),
		program.Setting{Name: "enqueue", Value: "Insert, and InsertManyFast for batches", Because: "a batch is one COPY and one commit"},
		program.Setting{Name: "claim", Value: "River's own producers, with MaxWorkers = the worker's slots", Because: "River itself fetches jobs for its workers, in batches"},
		program.Setting{Name: "FetchCooldown", Value: fetchPause.String(), Because: "the default of 100 ms bounds the rate of a worker that empties its queue"},
		program.Setting{Name: "complete", Value: "JobCompleteTx and a commit for each task", Because: "River completes jobs in batches after their work, without a notification"},
		program.Setting{Name: "RescueStuckJobsAfter", Value: "the lease", Because: "a job that is still marked as running is redelivered after it. River checks every 30 s"},
	)
	d.Claim = "package river: a \"robust high-performance job processing system\"; jobs are enqueued if their transaction commits. It makes no statement on rates."
	return d
}

// Launch implements program.Target.
func (target) Launch(ctx context.Context, spec program.LaunchSpec) (program.Server, error) {
	processes, address, err := postgres.Start(ctx, "river", spec)
	if err != nil {
		return nil, err
	}
	s := &peer.Server{
		Processes: processes,
		Prepare:   func(ctx context.Context) error { return migrate(ctx, address) },
		Open:      func(ctx context.Context) (driver.Conn, error) { return open(ctx, address, spec) },
	}
	return s.Begin(ctx)
}

func migrate(ctx context.Context, address string) error {
	pool, err := postgres.Pool(ctx, address)
	if err != nil {
		return err
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: logger()})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("make River's tables: %w", err)
	}
	return nil
}

// logger only writes errors. Standard error is written to the log of the run.
func logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

// job is the arguments of a task. River stores them as JSON, with bytes in base64.
type job struct {
	Payload []byte `json:"p"`
}

// Kind implements river.JobArgs.
func (job) Kind() string { return "task" }

func queueName(number int) string { return fmt.Sprint("queue-", number) }

func open(ctx context.Context, address string, spec program.LaunchSpec) (driver.Conn, error) {
	pool, err := postgres.Pool(ctx, address)
	if err != nil {
		return nil, err
	}
	client, err := upstream.NewClient(riverpgxv5.New(pool), &upstream.Config{Logger: logger()})
	if err != nil {
		pool.Close()
		return nil, err
	}
	c := &conn{pool: pool, client: client, lease: spec.Lease, queues: map[program.Queue]string{}}
	for i, q := range spec.Queues {
		c.queues[q] = queueName(i)
	}
	return c, nil
}

type conn struct {
	pool   *pgxpool.Pool
	client *upstream.Client[pgx.Tx] // enqueues
	lease  time.Duration
	queues map[program.Queue]string

	mu      sync.Mutex
	workers []*worker
}

func (c *conn) queueOf(tenant, queue string) (string, error) {
	name, ok := c.queues[program.Queue{Tenant: tenant, Name: queue}]
	if !ok {
		return "", fmt.Errorf("queue %q of tenant %q is not one of the launch", queue, tenant)
	}
	return name, nil
}

func (c *conn) Producer(_ context.Context, tenant string) (driver.Producer, error) {
	return producer{c, tenant}, nil
}

// Close returns the jobs of workers, if the server is reachable.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, w := range c.workers {
		errs = append(errs, w.close())
	}
	c.pool.Close()
	return errors.Join(errs...)
}

type producer struct {
	conn   *conn
	tenant string
}

// answerMax is the maximum wait for the answer to a statement.
const answerMax = 30 * time.Second

// Enqueue implements driver.Producer.
func (p producer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerMax)
	defer cancel()
	inserts := make([]upstream.InsertManyParams, len(tasks))
	for i := range tasks {
		queue, err := p.conn.queueOf(p.tenant, tasks[i].Queue)
		if err != nil {
			peer.Fill(outcomes, err)
			return nil
		}
		inserts[i] = upstream.InsertManyParams{Args: job{tasks[i].Payload}, InsertOpts: &upstream.InsertOpts{Queue: queue}}
	}
	var err error
	if len(tasks) == 1 {
		_, err = p.conn.client.Insert(ctx, inserts[0].Args, inserts[0].InsertOpts)
	} else {
		_, err = p.conn.client.InsertManyFast(ctx, inserts)
	}
	peer.Fill(outcomes, postgres.OutcomeOf(err))
	return nil
}

// retryAtOnce is the retry policy of returned jobs.
type retryAtOnce struct{}

// NextRetry implements river.ClientRetryPolicy.
func (retryAtOnce) NextRetry(*rivertype.JobRow) time.Time { return time.Now() }
