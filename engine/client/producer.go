package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/wire"
)

// Task is a task to enqueue.
type Task struct {
	Queue       string
	Priority    uint32 // 0 to 9; 9 is the most urgent
	Payload     []byte // must not change until the call has returned
	Delay       time.Duration
	NotBefore   time.Time     // when the task becomes ready, not together with Delay; zero: at once
	MaxAttempts uint32        // 0, here and below: the queue's policy, or the server's default
	Lease       time.Duration // of a claim that names none
	TTL         time.Duration // how long after its enqueue the task is worth doing
	Backoff     Backoff       // before further attempts
	// ResultRetention is how long after its completion the task's result is kept for AwaitResult.
	ResultRetention time.Duration
	// Key is an idempotency key, at most 128 bytes: a second task with the same key in the same queue, within the
	// server's window, is not stored, and the first one's id is returned.
	Key string
}

// Backoff says how long a task waits after a failed attempt. Zero fields mean the queue's policy, or the server's
// default.
type Backoff struct {
	Initial           time.Duration // after the first attempt
	Max               time.Duration
	MultiplierPercent uint32 // of the wait with each further attempt, 100 to 1,000
	JitterPercent     uint32 // up to how much of the wait is taken off at random, 1 to 100
}

// fill writes the task into a message, all of whose fields it sets.
func (t *Task) fill(m *queuepb.NewTask) {
	m.Queue, m.Priority, m.Payload, m.DelayMs = sendable(t.Queue), t.Priority, t.Payload, uint64(t.Delay.Milliseconds())
	m.MaxAttempts, m.LeaseMs = t.MaxAttempts, uint64(t.Lease.Milliseconds())
	m.TtlMs, m.ResultRetentionMs = uint64(t.TTL.Milliseconds()), uint64(t.ResultRetention.Milliseconds())
	m.IdempotencyKey = sendable(t.Key)
	m.NotBeforeMs, m.Backoff = 0, nil
	if !t.NotBefore.IsZero() {
		m.NotBeforeMs = t.NotBefore.UnixMilli()
	}
	if b := t.Backoff; b != (Backoff{}) {
		m.Backoff = &queuepb.Backoff{
			InitialMs: uint64(b.Initial.Milliseconds()), MaxMs: uint64(b.Max.Milliseconds()),
			MultiplierPercent: b.MultiplierPercent, JitterPercent: b.JitterPercent,
		}
	}
}

// sendable replaces what is not UTF-8: a message with it can't be sent, and the attempt would end the
// session for everybody. The server refuses a queue's name with the replacement in it.
func sendable(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// bytes is about how large the task is as a message.
func (t *Task) bytes() int { return len(t.Payload) + len(t.Queue) + len(t.Key) }

// produceFramesMax is how many frames of a producer session are on their way at once. What is called meanwhile
// waits and goes out together; more frames would be smaller ones.
const produceFramesMax = 2

// Producer is a session that enqueues over one stream. It is safe for concurrent use.
type Producer struct {
	stream  grpc.BidiStreamingClient[queuepb.ProduceRequest, queuepb.ProduceResponse]
	cancel  context.CancelFunc
	batcher *batcher[Task]
	ended   chan struct{}
}

// Producer opens a session for one tenant ("" means "default"). ctx bounds the session's life.
func (c *Client) Producer(ctx context.Context, tenant string) (*Producer, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.api.Produce(ctx)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("open a producer session: %w", err)
	}
	p := &Producer{stream: stream, cancel: cancel, ended: make(chan struct{})}
	p.batcher = (&batcher[Task]{
		framesMax: produceFramesMax, encode: encodeTasks,
		begin: func(f *wire.Frame, number uint64) {
			if number == 1 { // the server reads it from the first frame only
				f.Text(wire.ProduceRequestTenant, tenant)
			}
			f.Uint(wire.ProduceRequestFrame, number)
		},
		send: func(f *wire.Frame) error { return stream.SendMsg(f) },
	}).setUp()
	go p.sendAll()
	go p.receive()
	return p, nil
}

// Enqueue stores one task and returns its id once the server acknowledged it. The error is an *Error
// if the server refused the task, and ErrUnknownOutcome if the session broke or ctx ended first.
func (p *Producer) Enqueue(ctx context.Context, t Task) (string, error) {
	c := p.batcher.single(t, t.bytes())
	defer p.batcher.keep(c)
	if err := p.batcher.do(ctx, c); err != nil {
		return "", err
	}
	if c.errs != nil {
		return "", c.errs[0]
	}
	return c.ids[0], nil
}

// EnqueueBatch stores up to 1,000 tasks, of 4 MiB together, in one frame. errs is nil if all were accepted; otherwise it has an
// element for each task, nil where accepted. err is about all of them: ErrInvalidArgument if they could not be
// sent, otherwise as for Enqueue.
func (p *Producer) EnqueueBatch(ctx context.Context, tasks []Task) (ids []string, errs []error, err error) {
	if len(tasks) == 0 || len(tasks) > frameTasksMax {
		return nil, nil, fmt.Errorf("tasks: %w: a batch of %d: pass 1 to %d", ErrInvalidArgument, len(tasks), frameTasksMax)
	}
	c := p.batcher.call()
	c.items = tasks
	for i := range tasks {
		c.bytes += tasks[i].bytes()
	}
	defer p.batcher.keep(c)
	if err := p.batcher.do(ctx, c); err != nil {
		return nil, nil, err
	}
	return c.ids, c.errs, nil
}

// encodeTasks adds a call's tasks to a frame.
func encodeTasks(f *wire.Frame, c *call[Task]) error {
	var m queuepb.NewTask
	for i := range c.items {
		c.items[i].fill(&m)
		if err := f.Message(wire.ProduceRequestTasks, &m); err != nil {
			return err
		}
	}
	return nil
}

func (p *Producer) sendAll() {
	err := p.batcher.run()
	if err == nil {
		err = p.stream.CloseSend()
	}
	if err != nil {
		p.batcher.fail(unknownOutcome(err))
		p.cancel()
	}
}

func (p *Producer) receive() {
	defer close(p.ended)
	defer p.cancel()
	var in queuepb.ProduceResponse
	for {
		if err := p.stream.RecvMsg(&in); err != nil {
			p.batcher.fail(endOfSession(err))
			return
		}
		for _, a := range in.GetAnswers() {
			p.batcher.resolve(a.GetFrame(), a.GetIds(), a.GetErrors())
		}
	}
}

func endOfSession(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrClosed
	}
	return unknownOutcome(err)
}

// Close lets the calls under way end and closes the session. When ctx ends first, it cuts the session.
func (p *Producer) Close(ctx context.Context) error {
	p.batcher.close()
	return waitEnded(ctx, p.ended, p.cancel)
}

func waitEnded(ctx context.Context, ended <-chan struct{}, cancel context.CancelFunc) error {
	defer cancel()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		cancel()
		<-ended
		return fmt.Errorf("close the session: %w", ctx.Err())
	}
}
