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

// produceFramesMax bounds the unanswered frames of a producer link. Later calls wait and share a
// frame, so a larger bound makes frames smaller. With four, new frames arrive at the server while
// an earlier one waits for the disk.
const produceFramesMax = 4

// Producer is a session that enqueues over a stream; in a cluster, over a stream to each node that
// leads, used in turn. It is safe for concurrent use.
//
// A task that was not stored because the server stopped, did not lead or could not be reached is
// sent again until the call's context or the time of WithRetryMax ends. A task with a Key is also
// sent again if the outcome of a try is unknown: it is stored once, within the server's window of
// keys. A task without a Key is not: see WithIdempotency.
//
// Sequential calls keep their order in an ordered queue, despite retries: a call returns only when
// its tasks are stored. Concurrent calls, and the tasks of one batch of which a part is repeated,
// may be stored in any order.
type Producer struct {
	links  *follower[*produceLink]
	client *Client
	tenant string

	keys   string        // the prefix of keys that the session generates; "" generates none
	serial atomic.Uint64 // of the last generated key
}

type produceLink = link[Task]

// Producer opens a session for one tenant ("" means "default"). ctx bounds the session's life.
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
			if number == 1 { // the server reads it from the first frame only
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

// Enqueue stores one task and returns its id once the server has acknowledged it. The error is an
// *Error if the server refused the task, ErrUnknownOutcome if the session broke or ctx ended first,
// and ErrUnavailable if the task was not stored because no node that stores it could be reached in
// time.
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

// enqueueOne continues after a first try; c is nil without a first try.
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

// EnqueueBatch stores up to 1,000 tasks, with up to 4 MiB in total, in one frame. errs is nil if
// all were accepted; otherwise it has an element for each task, nil if accepted. err concerns all
// tasks: ErrInvalidArgument if they could not be sent, otherwise as for Enqueue.
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

// key returns a unique key.
func (p *Producer) key() string { return p.keys + strconv.FormatUint(p.serial.Add(1), 36) }

// withKeys returns copies of the tasks in which each has a key.
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

// encodeTasks adds a call's tasks to a frame.
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

// Close waits for active calls and closes the session. If ctx ends first, Close cuts the session.
func (p *Producer) Close(ctx context.Context) error {
	return p.links.close(ctx)
}
