package generator

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

// These constants determine the sequence of operations. If one of them changes, the counters are no
// longer comparable with earlier ones.
const (
	workTenants  = 2
	workQueues   = 4  // per tenant, for the streams; unary calls use a separate queue
	workBatchMax = 64 // maximum number of tasks in one request
	// workSlots is far above workBatchMax, so that the client sends credits only together with
	// settlements and never in separate frames.
	workSlots      = 1_024
	workPayloadMax = 512 // in bytes
	workLease      = 10 * time.Minute
	// workKept is the number of steps at the start that use idempotency keys and results. The
	// server stores both in buckets by wall-clock time, so the number of store operations depends
	// on when a bucket starts. These steps take only a few milliseconds.
	workKept = 24
	// workDelay is the delay of delayed and retried tasks. The commit that delays a task must be on
	// disk before the task becomes ready. Otherwise the commit that delivers the task might share
	// its fsync, and the number of fsyncs would depend on the speed of the disk. There are few such
	// steps, because the fixed work waits for the delay in each of them.
	workDelay = 25 * time.Millisecond
)

// workMax bounds the time of the fixed work. workCloseMax bounds the time to close its sessions.
const (
	workMax      = 3 * time.Minute
	workCloseMax = 10 * time.Second
)

// fixedWork is a sequence of operations that a seed determines. Only one request is in flight at
// any time, so the work that the server does depends only on the seed. fixedWork uses only those
// parts of engine/client that older trees have too, because the generator is also built with their
// clients.
type fixedWork struct {
	api     queuepb.QueueServiceClient
	draw    *rand.Rand
	tenants [workTenants]workTenant
	serial  uint64 // serial number of the task that was enqueued last
	done    uint64 // number of acknowledged completions

	tasks   []client.Task   // tasks of the current batch
	claimed []*queuepb.Task // claimed tasks of the current batch
}

type workTenant struct {
	name     string
	producer *client.Producer
	worker   *client.Worker
}

// doWork does the fixed work for a seed until at least the given number of tasks is completed. It
// returns the number of completions, which is the same each time. The queues of the tenants work-0
// and work-1 must be empty, and the server must have no other load.
func doWork(ctx context.Context, c *client.Client, seed, cycles uint64) (done uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, workMax)
	defer cancel()
	w := &fixedWork{api: c.API(), draw: rand.New(rand.NewPCG(seed, 0))}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	for i := range w.tenants {
		if err := w.tenants[i].open(ctx, c, i); err != nil {
			return 0, err
		}
	}
	for step := 0; w.done < cycles; step++ {
		if err := w.step(ctx, step); err != nil {
			return w.done, fmt.Errorf("step %d of seed %d: %w", step, seed, err)
		}
	}
	return w.done, nil
}

func (t *workTenant) open(ctx context.Context, c *client.Client, i int) (err error) {
	t.name = fmt.Sprintf("work-%d", i)
	if t.producer, err = c.Producer(ctx, t.name); err != nil {
		return err
	}
	var queues []string
	for q := range workQueues {
		queues = append(queues, streamQueue(q))
	}
	t.worker, err = c.Worker(ctx, client.WorkerConfig{Tenant: t.name, Queues: queues, Slots: workSlots, Lease: workLease})
	return err
}

func streamQueue(i int) string { return fmt.Sprintf("stream-%d", i) }

const unaryQueue = "unary"

func (w *fixedWork) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workCloseMax)
	defer cancel()
	var errs []error
	for _, t := range w.tenants {
		if t.producer != nil {
			errs = append(errs, t.producer.Close(ctx))
		}
		if t.worker != nil {
			errs = append(errs, t.worker.Close(ctx))
		}
	}
	return errors.Join(errs...)
}

func (w *fixedWork) step(ctx context.Context, step int) error {
	t := &w.tenants[w.draw.IntN(workTenants)]
	if step < workKept {
		return w.kept(ctx, t)
	}
	n := 1 + w.draw.IntN(workBatchMax)
	if w.draw.IntN(3) == 0 {
		n = 1 + w.draw.IntN(4)
	}
	switch kind := w.draw.IntN(100); {
	case kind < 20:
		return w.unary(ctx, t, n)
	case kind < 24:
		return w.failed(ctx, t, n)
	case kind < 28:
		return w.returned(ctx, t, n, func(task *queuepb.Task) error { return t.worker.Release(ctx, task, 0) })
	case kind < 29:
		return w.returned(ctx, t, n, func(task *queuepb.Task) error { return t.worker.Fail(ctx, task, "a fixed reason", workDelay) })
	case kind < 30:
		return w.delayed(ctx, t)
	default:
		w.fill(n)
		return w.cycle(ctx, t)
	}
}

// fill creates a batch of n tasks for the streams. One in four batches contains tasks for several
// queues.
func (w *fixedWork) fill(n int) {
	w.tasks = w.tasks[:0]
	queue, mixed := w.draw.IntN(workQueues), w.draw.IntN(4) == 0
	for range n {
		if mixed {
			queue = w.draw.IntN(workQueues)
		}
		w.tasks = append(w.tasks, client.Task{Queue: streamQueue(queue), Priority: uint32(w.draw.IntN(10)), Payload: w.payload()})
	}
}

// payload returns a payload that starts with the serial number of a new task.
func (w *fixedWork) payload() []byte {
	w.serial++
	b := make([]byte, 8+w.draw.IntN(workPayloadMax-8))
	binary.BigEndian.PutUint64(b, w.serial)
	return b
}

// check returns an error unless the claimed tasks are exactly the last n tasks that were enqueued,
// each of them once.
func (w *fixedWork) check(n int) error {
	if len(w.claimed) != n {
		return fmt.Errorf("%d of %d tasks were delivered", len(w.claimed), n)
	}
	seen := make([]bool, n)
	first := w.serial - uint64(n) + 1
	for _, t := range w.claimed {
		p := t.GetPayload()
		if len(p) < 8 {
			return fmt.Errorf("queue %q delivered a payload of %d bytes", t.GetQueue(), len(p))
		}
		serial := binary.BigEndian.Uint64(p)
		if serial < first || serial > w.serial || seen[serial-first] {
			return fmt.Errorf("queue %q delivered task %d, which was delivered before or belongs to another batch", t.GetQueue(), serial)
		}
		seen[serial-first] = true
	}
	return nil
}

func (w *fixedWork) enqueue(ctx context.Context, t *workTenant) error {
	_, errs, err := t.producer.EnqueueBatch(ctx, w.tasks)
	if err = cmp.Or(append(errs, err)...); err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	return nil
}

func (w *fixedWork) receive(ctx context.Context, t *workTenant) error {
	w.claimed = w.claimed[:0]
	for range w.tasks {
		task, err := t.worker.Receive(ctx)
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		w.claimed = append(w.claimed, task)
	}
	return w.check(len(w.tasks))
}

func (w *fixedWork) begin(ctx context.Context, t *workTenant) error {
	if err := w.enqueue(ctx, t); err != nil {
		return err
	}
	return w.receive(ctx, t)
}

func (w *fixedWork) complete(ctx context.Context, t *workTenant) error {
	errs, err := t.worker.CompleteBatch(ctx, w.claimed)
	if err = cmp.Or(append(errs, err)...); err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	w.done += uint64(len(w.claimed))
	return nil
}

func (w *fixedWork) cycle(ctx context.Context, t *workTenant) error {
	if err := w.begin(ctx, t); err != nil {
		return err
	}
	return w.complete(ctx, t)
}

// failed makes the only attempt of one task fail, so that the task is dead. It completes the other
// tasks of the batch.
func (w *fixedWork) failed(ctx context.Context, t *workTenant, n int) error {
	w.fill(n)
	for i := range w.tasks {
		w.tasks[i].MaxAttempts = 1
	}
	if err := w.begin(ctx, t); err != nil {
		return err
	}
	if err := t.worker.Fail(ctx, w.claimed[n-1], "a fixed reason", 0); err != nil {
		return fmt.Errorf("fail: %w", err)
	}
	if w.claimed = w.claimed[:n-1]; n == 1 {
		return nil
	}
	return w.complete(ctx, t)
}

// returned returns one task of a batch, receives it again, and completes the batch.
func (w *fixedWork) returned(ctx context.Context, t *workTenant, n int, giveBack func(*queuepb.Task) error) error {
	w.fill(n)
	if err := w.begin(ctx, t); err != nil {
		return err
	}
	if err := giveBack(w.claimed[n-1]); err != nil {
		return fmt.Errorf("return a task: %w", err)
	}
	again, err := t.worker.Receive(ctx)
	if err != nil {
		return fmt.Errorf("receive a task again: %w", err)
	}
	w.claimed[n-1] = again
	if err := w.check(n); err != nil {
		return err
	}
	return w.complete(ctx, t)
}

// delayed enqueues a few tasks with a delay, and receives and completes them. All of them become
// ready at the same time, while no request is in flight.
func (w *fixedWork) delayed(ctx context.Context, t *workTenant) error {
	w.fill(1 + w.draw.IntN(4))
	for i := range w.tasks {
		w.tasks[i].Delay = workDelay
	}
	return w.cycle(ctx, t)
}

// kept enqueues a task with an idempotency key twice, and completes it with a result.
func (w *fixedWork) kept(ctx context.Context, t *workTenant) error {
	w.fill(1)
	w.tasks[0].Key, w.tasks[0].ResultRetention = fmt.Sprintf("key-%x", w.draw.Uint64()), time.Hour
	if err := w.enqueue(ctx, t); err != nil {
		return err
	}
	if err := w.begin(ctx, t); err != nil {
		return err
	}
	if err := t.worker.CompleteWith(ctx, w.claimed[0], []byte("a fixed result")); err != nil {
		return fmt.Errorf("complete with a result: %w", err)
	}
	w.done++
	return nil
}

func (w *fixedWork) unary(ctx context.Context, t *workTenant, n int) error {
	in := &queuepb.EnqueueRequest{Tenant: t.name}
	for range n {
		in.Tasks = append(in.Tasks, &queuepb.NewTask{Queue: unaryQueue, Payload: w.payload()})
	}
	out, err := w.api.Enqueue(ctx, in)
	if err = errors.Join(err, firstError(out.GetResults())); err != nil {
		return fmt.Errorf("call Enqueue: %w", err)
	}
	for w.claimed = w.claimed[:0]; len(w.claimed) < n; {
		out, err := w.api.Claim(ctx, &queuepb.ClaimRequest{
			Tenant: t.name, Queues: []string{unaryQueue}, MaxTasks: uint32(n - len(w.claimed)), LeaseMs: uint64(workLease.Milliseconds()),
		})
		if err != nil {
			return fmt.Errorf("call Claim: %w", err)
		}
		if len(out.GetTasks()) == 0 {
			return fmt.Errorf("call Claim: the queue has %d of %d tasks", len(w.claimed), n)
		}
		w.claimed = append(w.claimed, out.GetTasks()...)
	}
	if err := w.check(n); err != nil {
		return err
	}
	settle := &queuepb.CompleteRequest{Tenant: t.name}
	for _, t := range w.claimed {
		settle.Completions = append(settle.Completions, &queuepb.Completion{Id: t.GetId(), Token: t.GetToken()})
	}
	settled, err := w.api.Complete(ctx, settle)
	if err = errors.Join(err, firstError(settled.GetResults())); err != nil {
		return fmt.Errorf("call Complete: %w", err)
	}
	w.done += uint64(n)
	return nil
}

func firstError[R interface{ GetError() *queuepb.ItemError }](results []R) error {
	for _, r := range results {
		if e := r.GetError(); e != nil {
			return fmt.Errorf("%v: %s", e.GetCode(), e.GetMessage())
		}
	}
	return nil
}
