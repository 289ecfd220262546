package postgres

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers/internal/peer"
)

const (
	// pollPause is how long a worker waits between two looks at an empty queue.
	pollPause = 5 * time.Millisecond
	// answerMax is the maximum wait for the answer to a statement.
	answerMax = 30 * time.Second
)

const (
	insert = `INSERT INTO tasks (queue, payload) SELECT $1, unnest($2::bytea[])`
	// The planner must not evaluate the limited part twice, because that would lease more tasks
	// than the limit.
	claim = `WITH next AS MATERIALIZED (SELECT queue, id FROM tasks WHERE queue = $1 AND until < now() ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)
		UPDATE tasks SET until = now() + $3::interval, attempt = tasks.attempt + 1 FROM next
		WHERE tasks.queue = next.queue AND tasks.id = next.id RETURNING tasks.id, tasks.attempt, tasks.payload`
	remove = `DELETE FROM tasks USING unnest($2::bigint[], $3::integer[]) AS done (id, attempt)
		WHERE tasks.queue = $1 AND tasks.id = done.id AND tasks.attempt = done.attempt RETURNING tasks.id`
)

type conn struct {
	pool   *pgxpool.Pool
	lease  time.Duration
	queues map[program.Queue]int
}

func (c *conn) queueOf(tenant, queue string) (int, error) {
	number, ok := c.queues[program.Queue{Tenant: tenant, Name: queue}]
	if !ok {
		return 0, fmt.Errorf("queue %q of tenant %q is not one of the launch", queue, tenant)
	}
	return number, nil
}

func (c *conn) Producer(_ context.Context, tenant string) (driver.Producer, error) {
	return producer{c, tenant}, nil
}

func (c *conn) Worker(_ context.Context, tenant string, queues []string, _ int) (driver.Worker, error) {
	w := &worker{conn: c, tenant: tenant, queues: queues, line: make(chan struct{}, 1)}
	for _, queue := range queues {
		number, err := c.queueOf(tenant, queue)
		if err != nil {
			return nil, err
		}
		w.numbers = append(w.numbers, number)
	}
	return w, nil
}

func (c *conn) Close() error {
	c.pool.Close()
	return nil
}

type producer struct {
	conn   *conn
	tenant string
}

// Enqueue implements driver.Producer. The client has written the payloads when a statement returns.
func (p producer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerMax)
	defer cancel()
	return peer.Runs(tasks, peer.TaskQueue, func(queue string, first, end int) error {
		number, err := p.conn.queueOf(p.tenant, queue)
		if err != nil {
			peer.Fill(outcomes[first:end], err)
			return nil
		}
		payloads := make([][]byte, 0, end-first)
		for i := first; i < end; i++ {
			payloads = append(payloads, tasks[i].Payload)
		}
		_, err = p.conn.pool.Exec(ctx, insert, number, payloads)
		peer.Fill(outcomes[first:end], OutcomeOf(err))
		return nil
	})
}

// leased is the handle of a claimed task. The attempt is the fencing token.
type leased struct {
	queue   int
	id      int64
	attempt int32
}

type worker struct {
	conn    *conn
	tenant  string
	queues  []string
	numbers []int
	turn    atomic.Uint64
	empty   atomic.Bool   // the last claim found no task
	line    chan struct{} // contains an element while a goroutine polls
}

// Claim implements driver.Worker. If there are no tasks, one goroutine of the worker polls for all.
func (w *worker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	if !w.empty.Load() {
		if n, err := w.claim(ctx, into); n > 0 || err != nil {
			return n, err
		}
	}
	select {
	case w.line <- struct{}{}:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	defer func() { <-w.line }()
	for {
		if n, err := w.claim(ctx, into); n > 0 || err != nil {
			return n, err
		}
		select {
		case <-time.After(pollPause):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// claim takes available tasks from the queues. It ignores the cancellation of ctx, because tasks
// that the server has already leased would otherwise be unavailable until their lease ends.
func (w *worker) claim(ctx context.Context, into []driver.Delivery) (int, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerMax)
	defer cancel()
	from := w.turn.Add(1)
	for i := range w.numbers {
		at := (from + uint64(i)) % uint64(len(w.numbers))
		n, err := w.claimFrom(ctx, int(at), into)
		if n > 0 || err != nil {
			w.empty.Store(false)
			return n, err
		}
	}
	w.empty.Store(true)
	return 0, nil
}

func (w *worker) claimFrom(ctx context.Context, at int, into []driver.Delivery) (int, error) {
	rows, err := w.conn.pool.Query(ctx, claim, w.numbers[at], len(into), w.conn.lease)
	if err != nil {
		return 0, err
	}
	n := 0
	var handle leased
	var payload []byte
	_, err = pgx.ForEachRow(rows, []any{&handle.id, &handle.attempt, &payload}, func() error {
		handle.queue = w.numbers[at]
		into[n] = driver.Delivery{
			Tenant: w.tenant, Queue: w.queues[at], Payload: payload, Handle: handle, Attempt: uint32(handle.attempt),
		}
		payload = nil
		n++
		return nil
	})
	if err != nil {
		// the transaction may have leased the tasks; they are redelivered after the lease
		return 0, err
	}
	return n, nil
}

// Complete implements driver.Worker.
func (w *worker) Complete(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerMax)
	defer cancel()
	for i := range deliveries {
		if _, ok := deliveries[i].Handle.(leased); !ok {
			return peer.ErrNotClaimed
		}
	}
	queueOf := func(d *driver.Delivery) string { return d.Queue }
	return peer.Runs(deliveries, queueOf, func(_ string, first, end int) error {
		w.completeRun(ctx, deliveries[first:end], outcomes[first:end])
		return nil
	})
}

func (w *worker) completeRun(ctx context.Context, deliveries []driver.Delivery, outcomes []error) {
	ids, attempts := make([]int64, len(deliveries)), make([]int32, len(deliveries))
	for i := range deliveries {
		handle := deliveries[i].Handle.(leased)
		ids[i], attempts[i] = handle.id, handle.attempt
	}
	rows, err := w.conn.pool.Query(ctx, remove, deliveries[0].Handle.(leased).queue, ids, attempts)
	var removed []int64
	if err == nil {
		removed, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	if err != nil {
		peer.Fill(outcomes, OutcomeOf(err))
		return
	}
	gone := map[int64]bool{}
	for _, id := range removed {
		gone[id] = true
	}
	for i, id := range ids {
		outcomes[i] = nil
		if !gone[id] {
			outcomes[i] = peer.ErrLeaseOver
		}
	}
}
