// Package asynq measures Asynq, a task queue on Redis.
package asynq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	upstream "github.com/hibiken/asynq"
	goredis "github.com/redis/go-redis/v9"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers/internal/peer"
	"github.com/pronybench/prony/harness/peers/redis"
)

// checkPause is how long an idle Asynq server waits between two looks for tasks.
const checkPause = 5 * time.Millisecond

// kind is the type of all tasks.
const kind = "task"

// Target returns the target asynq.
func Target() program.Target { return target{} }

type target struct{}

// Describe implements program.Target.
func (target) Describe(ctx context.Context) program.Description {
	d := redis.Lists().Describe(ctx)
	d.Name, d.Product = "asynq", "Asynq on Redis"
	d.Client = peer.Module("github.com/hibiken/asynq") + ", " + d.Client
	d.Settings = append(redis.ServerSettings(),
		program.Setting{Name: "enqueue", Value: "Enqueue of each task, all of a batch concurrently", Because: "Asynq has no call for several tasks"},
		program.Setting{Name: "claim", Value: "an asynq.Server with Concurrency = the worker's slots", Because: "Asynq itself fetches tasks for its handlers, one after the other"},
		program.Setting{Name: "TaskCheckInterval", Value: checkPause.String(), Because: "by default, a server with empty queues sleeps for 1 s"},
		program.Setting{Name: "complete", Value: "the handler returns, and the driver waits for Redis's answer to Asynq's script that ends the task", Because: "Asynq does not notify the handler of the end of the task, so a hook of its Redis client watches for it"},
		program.Setting{Name: "lease", Value: "Asynq's lease of 30 s, which it extends while the handler runs; it looks for expired leases every minute", Because: "the lease is not configurable. A task that was active at a kill -9 is redelivered after up to 90 s"},
	)
	d.Claim = "Asynq's README: \"guaranteed at least one execution of a task\", and \"low latency to add a task since writes are fast in Redis\"."
	return d
}

// Launch implements program.Target.
func (target) Launch(ctx context.Context, spec program.LaunchSpec) (program.Server, error) {
	processes, address, err := redis.Start(ctx, "asynq", spec)
	if err != nil {
		return nil, err
	}
	s := &peer.Server{Processes: processes}
	s.Prepare = func(context.Context) error { return nil } // queues are created on first use
	s.Open = func(context.Context) (driver.Conn, error) {
		client := redis.Dial(address)
		return &conn{address: address, redis: client, client: upstream.NewClientFromRedisClient(client)}, nil
	}
	return s.Begin(ctx)
}

func queueName(tenant, queue string) string { return tenant + "/" + queue }

type conn struct {
	address string
	redis   *goredis.Client
	client  *upstream.Client

	mu      sync.Mutex
	workers []*worker
}

func (c *conn) Producer(_ context.Context, tenant string) (driver.Producer, error) {
	return producer{c, tenant}, nil
}

// Close ends the Asynq servers, which return their tasks.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, w := range c.workers {
		errs = append(errs, w.close())
	}
	return errors.Join(append(errs, c.redis.Close())...)
}

type producer struct {
	conn   *conn
	tenant string
}

// Enqueue implements driver.Producer.
func (p producer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	ctx = context.WithoutCancel(ctx)
	var calls sync.WaitGroup
	for i := range tasks {
		calls.Go(func() {
			_, err := p.conn.client.EnqueueContext(ctx, upstream.NewTask(kind, tasks[i].Payload), upstream.Queue(queueName(p.tenant, tasks[i].Queue)))
			outcomes[i] = outcomeOf(err)
		})
	}
	calls.Wait()
	return nil
}

// outcomeOf returns the outcome of an enqueue. Asynq hides the kind of most errors, so most
// outcomes are unknown.
func outcomeOf(err error) error {
	if err == nil || errors.Is(err, upstream.ErrTaskIDConflict) || errors.Is(err, upstream.ErrDuplicateTask) {
		return err
	}
	return peer.Unknown(fmt.Errorf("enqueue: %w", err))
}
