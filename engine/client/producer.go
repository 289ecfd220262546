package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/internal/planted/plantedclient"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/wire"
)

// produceFramesMax limits the number of unanswered frames of a producer link. Later calls wait and
// share a frame, so a larger limit would make frames smaller. With a limit of four, new frames
// arrive at the server while an earlier one waits for the disk.
const produceFramesMax = 4

// Producer is a session that enqueues tasks over a stream. In a cluster it has a stream to each
// node that leads, and uses these streams in turn. It is safe for concurrent use.
//
// A task may not be stored because the server stopped, did not lead or could not be reached. The
// session then sends the task again, until the call's context ends or the time of WithRetryMax has
// passed. If the outcome of a try is unknown, the session sends the task again only if it has a
// Key: the server then stores the task once, within its window of keys. It does not send a task again
// whose Unique has a scope other than ForATime or a conflict other than ReturnFirst. WithIdempotency
// adds keys to tasks without a Key.
//
// Sequential calls keep their order in an ordered queue, despite retries: a call returns only after
// its tasks are stored. Concurrent calls may be stored in any order. So may the tasks of one batch,
// if only a part of the batch is repeated.
type Producer struct {
	links  *follower[*produceLink]
	client *Client
	tenant string

	keys   string        // prefix of keys that the session generates; "" if it generates no keys
	serial atomic.Uint64 // number of the last generated key
}

type produceLink = link[Task]

// Producer opens a session for one tenant ("" means "default"). The session ends when ctx ends.
// Producer waits for the server, or for a node that leads, for at most the time of WithRetryMax.
func (c *Client) Producer(ctx context.Context, tenant string) (*Producer, error) {
	p := &Producer{client: c, tenant: tenant, links: newFollower[*produceLink](ctx, c)}
	if c.keys {
		p.keys = rand.Text() + "-"
	}
	p.links.open = p.open
	if err := p.links.start(); err != nil {
		return nil, fmt.Errorf("open a producer session: %w", err)
	}
	return p, nil
}

func (p *Producer) open(ctx context.Context, to leader, _ []leader) (*produceLink, error) {
	l, stream, err := openLink[Task](ctx, p.client, to, func(ctx context.Context, at *peer) (grpc.BidiStreamingClient[queuepb.ProduceRequest, queuepb.ProduceResponse], error) {
		return at.api.Produce(ctx)
	})
	if err != nil {
		return nil, err
	}
	l.batcher = (&batcher[Task]{
		framesMax: produceFramesMax, encode: encodeTasks, send: l.send,
		begin: func(f *wire.Frame, number uint64) {
			if number == 1 { // the server reads the tenant only from the first frame
				f.Text(wire.ProduceRequestTenant, p.tenant)
			}
			f.Uint(wire.ProduceRequestFrame, number)
		},
	}).setUp()
	l.start(func() error {
		var in queuepb.ProduceResponse
		for {
			if err := stream.RecvMsg(&in); err != nil {
				return linkEnd(err)
			}
			for _, a := range in.GetAnswers() {
				l.batcher.resolve(a.GetFrame(), a.GetIds(), a.GetErrors())
			}
		}
	}, p.links.linkEnded)
	return l, nil
}

// Enqueue stores one task and returns the task's id once the server has acknowledged it. The error
// is an *Error if the server refused the task, and ErrUnknownOutcome if the session broke or ctx
// ended first. It is ErrUnavailable if the task was not stored, because no node that could store it
// was reached in time.
func (p *Producer) Enqueue(ctx context.Context, t Task) (string, error) {
	if p.keys != "" && t.Key == "" {
		t.Key = p.key()
	}
	l, ok := p.links.pick()
	if !ok {
		return p.enqueueOne(ctx, t, nil, nil)
	}
	c := l.batcher.single(t, t.bytes())
	defer l.batcher.keep(c)
	err := l.batcher.do(ctx, c)
	if err == nil && c.errs == nil && len(c.ids) == 1 && c.ids[0] != "" {
		return c.ids[0], nil
	}
	return p.enqueueOne(ctx, t, c, err)
}

// enqueueOne continues the enqueue of one task after a first try. c is nil if there was no first
// try.
func (p *Producer) enqueueOne(ctx context.Context, t Task, c *call[Task], err error) (string, error) {
	ids, errs, err := p.retry(ctx, []Task{t}, c, err)
	if err != nil {
		return "", err
	}
	if errs != nil {
		return "", errs[0]
	}
	return ids[0], nil
}

// EnqueueBatch stores up to 1,000 tasks, with up to 4 MiB in total, in one frame. If all tasks were
// accepted, errs is nil. Otherwise errs has one element for each task, which is nil if the task was
// accepted. err applies to all tasks: it is ErrInvalidArgument if they could not be sent, and
// otherwise the same error as that of Enqueue.
func (p *Producer) EnqueueBatch(ctx context.Context, tasks []Task) (ids []string, errs []error, err error) {
	if len(tasks) == 0 || len(tasks) > frameTasksMax {
		return nil, nil, fmt.Errorf("tasks: %w: a batch of %d: pass 1 to %d", ErrInvalidArgument, len(tasks), frameTasksMax)
	}
	if p.keys != "" {
		tasks = p.withKeys(tasks)
	}
	l, ok := p.links.pick()
	if !ok {
		return p.retry(ctx, tasks, nil, nil)
	}
	c := batchOf(l.batcher, tasks)
	defer l.batcher.keep(c)
	err = l.batcher.do(ctx, c)
	if err == nil && c.errs == nil && len(c.ids) == len(tasks) && !slices.Contains(c.ids, "") {
		return c.ids, nil, nil
	}
	return p.retry(ctx, tasks, c, err)
}

func batchOf(b *batcher[Task], tasks []Task) *call[Task] {
	c := b.call()
	c.items = tasks
	for i := range tasks {
		c.bytes += tasks[i].bytes()
	}
	return c
}

func (p *Producer) key() string { return p.keys + strconv.FormatUint(p.serial.Add(1), 36) }

// withKeys returns copies of the tasks, with a generated key in each task without a key.
func (p *Producer) withKeys(tasks []Task) []Task {
	out := make([]Task, len(tasks))
	for i, t := range tasks {
		if t.Key == "" {
			t.Key = p.key()
		}
		out[i] = t
	}
	return out
}

func encodeTasks(f *wire.Frame, c *call[Task]) error {
	var m queuepb.NewTask
	for i := range c.items {
		plantedclient.Task()
		c.items[i].fill(&m)
		if err := f.Message(wire.ProduceRequestTasks, &m); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for active calls and closes the session. If ctx ends first, Close ends the session
// immediately.
func (p *Producer) Close(ctx context.Context) error {
	return p.links.close(ctx)
}
