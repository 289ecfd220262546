package redis

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers/internal/peer"
)

var listSettings = []program.Setting{
	{Name: "enqueue", Value: "RPUSH of the whole batch", Because: "one command for all tasks of a queue"},
	{Name: "claim", Value: "LMOVE, BLMOVE if nothing is there, and a script of LPOP and RPUSH for batches", Because: "a task moves to the worker's processing list in one atomic step, so none is lost in between"},
	{Name: "complete", Value: "LREM of each task from the processing list, pipelined", Because: "only the worker whose list has the task can complete it, and the list is as short as the worker's slots"},
	{Name: "lease", Value: "none", Because: "a list has no timer: a worker takes back what its own list has after a broken connection, and returns it all when it closes"},
	{Name: "pipelining", Value: "go-redis AutoPipeline", Because: "commands of all goroutines of a connection share writes"},
}

// moveMany moves up to ARGV[1] tasks from a queue to a processing list.
var moveMany = goredis.NewScript(`
local tasks = redis.call('LPOP', KEYS[1], ARGV[1])
if tasks then redis.call('RPUSH', KEYS[2], unpack(tasks)) end
return tasks`)

// giveBack moves one task from a processing list to the front of its queue.
var giveBack = goredis.NewScript(`
if redis.call('LREM', KEYS[2], 1, ARGV[1]) == 1 then redis.call('LPUSH', KEYS[1], ARGV[1]) end
return 0`)

// scriptTasksMax is the maximum number of tasks in one call of moveMany, because Lua's unpack is
// limited to some thousands of values.
const scriptTasksMax = 1024

// pollPause is how long a claim from several queues waits at each of them, because BLMOVE can wait
// for only one list.
const pollPause = 10 * time.Millisecond

func listKey(tenant, queue string) string { return "{" + tenant + "/" + queue + "}" }

func openLists(client *goredis.Client, _ program.LaunchSpec) (driver.Conn, error) {
	pipeline, err := client.AsyncAutoPipeline()
	if err != nil {
		return nil, err
	}
	return &listConn{client: client, pipeline: pipeline}, nil
}

type listConn struct {
	client   *goredis.Client
	pipeline *goredis.AutoPipeliner

	mu      sync.Mutex
	workers []*listWorker
}

// workersMade numbers the workers of this process, for the names of their processing lists.
var workersMade atomic.Int64

func (c *listConn) Producer(_ context.Context, tenant string) (driver.Producer, error) {
	return listProducer{c, tenant}, nil
}

func (c *listConn) Worker(_ context.Context, tenant string, queues []string, _ int) (driver.Worker, error) {
	w := &listWorker{conn: c, held: map[*listed]struct{}{}}
	name := fmt.Sprintf("/processing/%d", workersMade.Add(1))
	for _, queue := range queues {
		w.queues = append(w.queues, listQueue{queue, listKey(tenant, queue), listKey(tenant, queue) + name})
	}
	w.tenant = tenant
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers = append(c.workers, w)
	return w, nil
}

// Close returns the tasks of workers to their queues, if the server is reachable.
func (c *listConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.workers {
		w.mu.Lock()
		clear(w.held)
		w.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), blockMax)
		_ = w.recover(ctx) // the server may have ended, with its tasks
		cancel()
	}
	return c.client.Close()
}

type listProducer struct {
	conn   *listConn
	tenant string
}

// Enqueue implements driver.Producer. It waits for the answers, because the client reads the
// payloads until then.
func (p listProducer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	ctx = context.WithoutCancel(ctx)
	return peer.Runs(tasks, peer.TaskQueue, func(queue string, first, end int) error {
		values := make([]any, 0, end-first)
		for i := first; i < end; i++ {
			values = append(values, tasks[i].Payload)
		}
		peer.Fill(outcomes[first:end], outcomeOf(p.conn.pipeline.RPush(ctx, listKey(p.tenant, queue), values...).Err()))
		return nil
	})
}

type listQueue struct{ name, ready, processing string }

// listed is the handle of a claimed task.
type listed struct {
	queue *listQueue
	value string
}

type listWorker struct {
	conn   *listConn
	tenant string
	queues []listQueue
	turn   atomic.Uint64

	// Claims and completions hold calls for reading. recover holds it for writing, because it must
	// know all tasks of the worker.
	calls sync.RWMutex
	// broken is true if a call ended without an answer, so the processing list may contain tasks
	// that the worker does not know.
	broken atomic.Bool

	mu   sync.Mutex
	held map[*listed]struct{}
}

// Claim implements driver.Worker.
func (w *listWorker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	for ctx.Err() == nil {
		if w.broken.Load() {
			if err := w.recover(ctx); err != nil {
				return 0, err
			}
		}
		n, err := w.claim(ctx, into)
		if err != nil {
			w.broken.Store(true)
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, context.Cause(ctx)
}

// claim takes available tasks, or waits for a task for some time.
func (w *listWorker) claim(ctx context.Context, into []driver.Delivery) (int, error) {
	w.calls.RLock()
	defer w.calls.RUnlock()
	from := w.turn.Add(1)
	for i := range w.queues {
		q := &w.queues[(from+uint64(i))%uint64(len(w.queues))]
		if values, err := w.take(ctx, q, len(into)); err != nil || len(values) > 0 {
			return w.deliver(q, values, into), err
		}
	}
	wait := blockMax
	if len(w.queues) > 1 {
		wait = pollPause
	}
	q := &w.queues[from%uint64(len(w.queues))]
	// The client's BLMove rounds the wait up to seconds.
	value, err := w.conn.client.Do(ctx, "BLMOVE", q.ready, q.processing, "LEFT", "RIGHT", wait.Seconds()).Text()
	if isNil(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return w.deliver(q, []string{value}, into), nil
}

func (w *listWorker) take(ctx context.Context, q *listQueue, n int) ([]string, error) {
	if n == 1 {
		value, err := w.conn.pipeline.LMove(ctx, q.ready, q.processing, "LEFT", "RIGHT").Result()
		if isNil(err) {
			return nil, nil
		}
		return []string{value}, err
	}
	values, err := moveMany.Run(ctx, w.conn.pipeline, []string{q.ready, q.processing}, min(n, scriptTasksMax)).StringSlice()
	if isNil(err) {
		return nil, nil
	}
	return values, err
}

func (w *listWorker) deliver(q *listQueue, values []string, into []driver.Delivery) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, value := range values {
		handle := &listed{q, value}
		w.held[handle] = struct{}{}
		into[i] = driver.Delivery{Tenant: w.tenant, Queue: q.name, Payload: []byte(value), Handle: handle}
	}
	return len(values)
}

// Complete implements driver.Worker.
func (w *listWorker) Complete(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	ctx = context.WithoutCancel(ctx)
	w.calls.RLock()
	defer w.calls.RUnlock()
	removals := make([]*goredis.IntCmd, len(deliveries))
	for i := range deliveries {
		handle, ok := deliveries[i].Handle.(*listed)
		if !ok {
			return peer.ErrNotClaimed
		}
		removals[i] = w.conn.pipeline.LRem(ctx, handle.queue.processing, 1, handle.value)
	}
	for i, removal := range removals {
		removed, err := removal.Result()
		outcomes[i] = outcomeOf(err)
		if err != nil {
			w.broken.Store(true)
		} else if removed == 0 {
			outcomes[i] = peer.ErrLeaseOver
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range deliveries {
		delete(w.held, deliveries[i].Handle.(*listed))
	}
	return nil
}

// recover returns to their queues the tasks in the processing lists that the worker does not know.
// A claim without an answer may have moved them there, or a completion without an answer may not
// have removed them.
func (w *listWorker) recover(ctx context.Context) error {
	w.calls.Lock()
	defer w.calls.Unlock()
	held := map[listed]int{}
	w.mu.Lock()
	for handle := range w.held {
		held[*handle]++
	}
	w.mu.Unlock()
	for i := range w.queues {
		q := &w.queues[i]
		values, err := w.conn.client.LRange(ctx, q.processing, 0, -1).Result()
		if err != nil {
			return err
		}
		for _, value := range values {
			if task := (listed{q, value}); held[task] > 0 {
				held[task]--
				continue
			}
			if err := giveBack.Run(ctx, w.conn.client, []string{q.ready, q.processing}, value).Err(); err != nil {
				return err
			}
		}
	}
	w.broken.Store(false)
	return nil
}
