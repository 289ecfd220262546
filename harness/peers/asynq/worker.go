package asynq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	upstream "github.com/hibiken/asynq"
	goredis "github.com/redis/go-redis/v9"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/peers/internal/peer"
	"github.com/pronybench/prony/harness/peers/redis"
)

const (
	// confirmMax is the maximum wait for Redis's answer to the command that ends a task.
	confirmMax = 10 * time.Second
	// shutdownMax is how long a closing server waits for its handlers, which end immediately.
	shutdownMax = time.Second
)

// worker is an asynq.Server. Asynq calls process for each fetched task; process passes the task to
// Claim and waits for Complete.
type worker struct {
	tenant  string
	queues  map[string]string // by Asynq's name
	redis   *goredis.Client
	server  *upstream.Server
	claimed chan *working
	over    chan struct{}

	mu sync.Mutex
	// ends contains a channel for each task that is being completed, by the task's id. The channel
	// receives Redis's answer and has a buffer of one.
	ends map[string]chan error
}

// working is the handle of a claimed task, whose handler waits.
type working struct {
	id, queue string
	payload   []byte
	done      chan struct{} // closed by Complete
	once      sync.Once
}

func (c *conn) Worker(_ context.Context, tenant string, queues []string, slots int) (driver.Worker, error) {
	slots = max(1, slots)
	w := &worker{
		tenant: tenant, queues: map[string]string{}, redis: redis.Dial(c.address),
		claimed: make(chan *working, slots), over: make(chan struct{}), ends: map[string]chan error{},
	}
	weights := map[string]int{}
	for _, queue := range queues {
		w.queues[queueName(tenant, queue)] = queue
		weights[queueName(tenant, queue)] = 1
	}
	w.redis.AddHook(watch{w})
	w.server = upstream.NewServerFromRedisClient(w.redis, upstream.Config{
		Concurrency: slots, Queues: weights, TaskCheckInterval: checkPause, ShutdownTimeout: shutdownMax, LogLevel: upstream.FatalLevel,
		RetryDelayFunc: func(int, error, *upstream.Task) time.Duration { return 0 },
		IsFailure:      func(error) bool { return false },
	})
	if err := w.server.Start(upstream.HandlerFunc(w.process)); err != nil {
		return nil, errors.Join(fmt.Errorf("start an Asynq server: %w", err), w.redis.Close())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers = append(c.workers, w)
	return w, nil
}

var errGivenBack = errors.New("the worker is closed")

func (w *worker) process(ctx context.Context, task *upstream.Task) error {
	id, _ := upstream.GetTaskID(ctx)
	queue, _ := upstream.GetQueueName(ctx)
	c := &working{id: id, queue: w.queues[queue], payload: task.Payload(), done: make(chan struct{})}
	w.claimed <- c // never blocks: the buffer has the size of Concurrency
	select {
	case <-c.done:
		return nil
	case <-w.over:
		return errGivenBack
	}
}

func (w *worker) close() error {
	close(w.over)
	w.server.Shutdown()
	return w.redis.Close()
}

// Claim implements driver.Worker.
func (w *worker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	return peer.Claim(ctx, w.claimed, w.over, into, w.delivery)
}

func (w *worker) delivery(c *working) driver.Delivery {
	return driver.Delivery{Tenant: w.tenant, Queue: c.queue, Payload: c.payload, Handle: c}
}

// Complete implements driver.Worker.
func (w *worker) Complete(_ context.Context, deliveries []driver.Delivery, outcomes []error) error {
	ends := make([]chan error, len(deliveries))
	for i := range deliveries {
		c, ok := deliveries[i].Handle.(*working)
		if !ok {
			return peer.ErrNotClaimed
		}
		outcomes[i] = peer.ErrLeaseOver // if it is already completed
		c.once.Do(func() {
			ends[i] = make(chan error, 1)
			w.mu.Lock()
			w.ends[c.id] = ends[i]
			w.mu.Unlock()
			close(c.done)
		})
	}
	timer := time.NewTimer(confirmMax)
	defer timer.Stop()
	late := false
	for i, end := range ends {
		if end == nil {
			continue
		}
		if !late {
			select {
			case outcomes[i] = <-end:
				continue
			case <-timer.C:
				late = true
			}
		}
		// Asynq does not end a task with an expired lease, and does not report this.
		outcomes[i] = peer.Unknown(fmt.Errorf("no answer from Redis to the end of the task within %s", confirmMax))
		w.mu.Lock()
		delete(w.ends, deliveries[i].Handle.(*working).id)
		w.mu.Unlock()
	}
	return nil
}

// ended passes Redis's answer to the end of a task to Complete.
func (w *worker) ended(id string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	end, waits := w.ends[id]
	if !waits {
		return
	}
	delete(w.ends, id)
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "NOT FOUND"):
		err = fmt.Errorf("%w: %w", peer.ErrLeaseOver, err)
	default:
		err = peer.Unknown(err) // Asynq retries later
	}
	end <- err
}

// watch is a hook of the Redis client that sees the answers to the script that ends a task: the
// script with the five keys active, lease, t:ID, processed:DATE and processed, whose first argument
// is the id of the task.
type watch struct{ worker *worker }

// DialHook implements redis.Hook.
func (watch) DialHook(next goredis.DialHook) goredis.DialHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (watch) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// ProcessHook implements redis.Hook.
func (h watch) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, command goredis.Cmder) error {
		err := next(ctx, command)
		// go-redis sends the script itself after NOSCRIPT.
		if id, ends := endOf(command.Args()); ends && !goredis.HasErrorPrefix(err, "NOSCRIPT") {
			h.worker.ended(id, err)
		}
		return err
	}
}

func endOf(args []any) (id string, ends bool) {
	const keys, first = 5, 3 // the command, the script and the number of keys come before the keys
	if len(args) != first+keys+3 || fmt.Sprint(args[2]) != fmt.Sprint(keys) {
		return "", false
	}
	active, _ := args[first].(string)
	processed, _ := args[first+keys-1].(string)
	id, ok := args[first+keys].(string)
	return id, ok && strings.HasSuffix(active, ":active") && strings.HasSuffix(processed, ":processed")
}
