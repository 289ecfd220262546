package redis

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers/internal/peer"
)

var streamSettings = []program.Setting{
	{Name: "enqueue", Value: "XADD of each task, pipelined", Because: "XADD adds one entry"},
	{Name: "claim", Value: "XREADGROUP with COUNT, which blocks if nothing is there", Because: "one command for a batch"},
	{Name: "complete", Value: "XACK of the whole batch and XDEL, pipelined", Because: "XACK ends the delivery, and XDEL frees the entry"},
	{Name: "lease", Value: "XAUTOCLAIM of entries that are idle for the lease", Because: "a worker takes over entries of another worker or of a broken connection"},
	{Name: "pipelining", Value: "go-redis AutoPipeline", Because: "commands of all goroutines of a connection share writes"},
}

const (
	group = "workers"
	field = "p" // field of an entry with the payload
	// reclaimTasksMax is the maximum number of entries that one XAUTOCLAIM takes over.
	reclaimTasksMax = 256
	// reclaimEveryMin is the minimum interval between two looks for idle entries.
	reclaimEveryMin = 500 * time.Millisecond
)

func streamKey(tenant, queue string) string { return "stream:{" + tenant + "/" + queue + "}" }

func makeGroups(ctx context.Context, client *goredis.Client, spec program.LaunchSpec) error {
	for _, q := range spec.Queues {
		err := client.XGroupCreateMkStream(ctx, streamKey(q.Tenant, q.Name), group, "0").Err()
		if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
			return fmt.Errorf("make the stream of queue %q of tenant %q: %w", q.Name, q.Tenant, err)
		}
	}
	return nil
}

func openStreams(client *goredis.Client, spec program.LaunchSpec) (driver.Conn, error) {
	pipeline, err := client.AsyncAutoPipeline()
	if err != nil {
		return nil, err
	}
	return &streamConn{client: client, pipeline: pipeline, lease: spec.Lease}, nil
}

type streamConn struct {
	client   *goredis.Client
	pipeline *goredis.AutoPipeliner
	lease    time.Duration
}

func (c *streamConn) Producer(_ context.Context, tenant string) (driver.Producer, error) {
	return streamProducer{c, tenant}, nil
}

func (c *streamConn) Worker(_ context.Context, tenant string, queues []string, _ int) (driver.Worker, error) {
	w := &streamWorker{conn: c, tenant: tenant, consumer: fmt.Sprint("worker-", workersMade.Add(1)), queues: map[string]string{}}
	for _, queue := range queues {
		w.queues[streamKey(tenant, queue)] = queue
		w.keys = append(w.keys, streamKey(tenant, queue))
	}
	return w, nil
}

func (c *streamConn) Close() error { return c.client.Close() }

type streamProducer struct {
	conn   *streamConn
	tenant string
}

// Enqueue implements driver.Producer. It waits for the answers, because the client reads the
// payloads until then.
func (p streamProducer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	ctx = context.WithoutCancel(ctx)
	added := make([]*goredis.StringCmd, len(tasks))
	for i := range tasks {
		added[i] = p.conn.pipeline.XAdd(ctx, &goredis.XAddArgs{Stream: streamKey(p.tenant, tasks[i].Queue), Values: []any{field, tasks[i].Payload}})
	}
	for i := range tasks {
		outcomes[i] = outcomeOf(added[i].Err())
	}
	return nil
}

// streamed is the handle of a claimed task.
type streamed struct{ key, id string }

type streamWorker struct {
	conn     *streamConn
	tenant   string
	consumer string
	keys     []string
	queues   map[string]string // by key
	turn     atomic.Uint64

	mu        sync.Mutex
	reclaimed time.Time         // when the worker last looked for idle entries
	spare     []driver.Delivery // claimed and not delivered yet
}

// Claim implements driver.Worker.
func (w *streamWorker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	for ctx.Err() == nil {
		if n := w.takeSpare(into); n > 0 {
			return n, nil
		}
		if err := w.reclaim(ctx); err != nil {
			return 0, err
		}
		from := w.turn.Add(1)
		for i := range w.keys {
			key := w.keys[(from+uint64(i))%uint64(len(w.keys))]
			if n, err := w.read(ctx, w.conn.pipeline, []string{key}, -1, into); n > 0 || err != nil {
				return n, err
			}
		}
		if n, err := w.read(ctx, w.conn.client, w.keys, blockMax, into); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, context.Cause(ctx)
}

// read claims entries of streams. If block is -1, it does not wait.
func (w *streamWorker) read(ctx context.Context, by goredis.StreamCmdable, keys []string, block time.Duration, into []driver.Delivery) (int, error) {
	streams := append([]string(nil), keys...)
	for range keys {
		streams = append(streams, ">")
	}
	found, err := by.XReadGroup(ctx, &goredis.XReadGroupArgs{
		Group: group, Consumer: w.consumer, Streams: streams, Count: int64(len(into)), Block: block,
	}).Result()
	if isNil(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n := 0
	for _, stream := range found {
		for _, message := range stream.Messages {
			n += w.deliver(stream.Stream, message, into[n:])
		}
	}
	return n, nil
}

// deliver delivers an entry, or stores it for a later claim if into is full. into may be full
// because COUNT limits the entries of each stream separately.
func (w *streamWorker) deliver(key string, message goredis.XMessage, into []driver.Delivery) int {
	payload, _ := message.Values[field].(string)
	d := driver.Delivery{Tenant: w.tenant, Queue: w.queues[key], Payload: []byte(payload), Handle: streamed{key, message.ID}}
	if len(into) > 0 {
		into[0] = d
		return 1
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spare = append(w.spare, d)
	return 0
}

func (w *streamWorker) takeSpare(into []driver.Delivery) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := copy(into, w.spare)
	w.spare = w.spare[n:]
	return n
}

func (w *streamWorker) reclaim(ctx context.Context) error {
	w.mu.Lock()
	due := time.Since(w.reclaimed) >= max(reclaimEveryMin, w.conn.lease/4)
	if due {
		w.reclaimed = time.Now()
	}
	w.mu.Unlock()
	if !due {
		return nil
	}
	for _, key := range w.keys {
		messages, _, err := w.conn.pipeline.XAutoClaim(ctx, &goredis.XAutoClaimArgs{
			Stream: key, Group: group, Consumer: w.consumer, MinIdle: w.conn.lease, Start: "0", Count: reclaimTasksMax,
		}).Result()
		if err != nil && !isNil(err) {
			return err
		}
		for _, message := range messages {
			w.deliver(key, message, nil)
		}
	}
	return nil
}

// Complete implements driver.Worker. XACK returns the number of tasks that it ended. If some tasks
// of a batch had already been ended, the outcome of the whole batch is unknown.
func (w *streamWorker) Complete(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	ctx = context.WithoutCancel(ctx)
	keyOf := func(d *driver.Delivery) string {
		handle, _ := d.Handle.(streamed)
		return handle.key
	}
	return peer.Runs(deliveries, keyOf, func(key string, first, end int) error {
		if key == "" {
			return peer.ErrNotClaimed
		}
		ids := make([]string, 0, end-first)
		for i := first; i < end; i++ {
			ids = append(ids, deliveries[i].Handle.(streamed).id)
		}
		acknowledged := w.conn.pipeline.XAck(ctx, key, group, ids...)
		deleted := w.conn.pipeline.XDel(ctx, key, ids...)
		ended, err := acknowledged.Result()
		var outcome error
		switch {
		case err != nil:
			outcome = outcomeOf(err)
		case ended == 0:
			outcome = peer.ErrLeaseOver
		case int(ended) < len(ids):
			outcome = peer.Unknown(fmt.Errorf("%d of %d tasks had already been ended", len(ids)-int(ended), len(ids)))
		default:
			// An entry that is acknowledged but not deleted is not redelivered.
			outcome = outcomeOf(deleted.Err())
		}
		peer.Fill(outcomes[first:end], outcome)
		return nil
	})
}
