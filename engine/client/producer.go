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
	MaxAttempts uint32        // 0: the server's default
	Lease       time.Duration // of a claim that names none; 0: the server's default
}

// fill writes the task into a message, all of whose fields it sets.
func (t *Task) fill(m *queuepb.NewTask) {
	m.Queue, m.Priority, m.Payload, m.DelayMs = sendable(t.Queue), t.Priority, t.Payload, uint64(t.Delay.Milliseconds())
	m.MaxAttempts, m.LeaseMs = t.MaxAttempts, uint64(t.Lease.Milliseconds())
}

// sendable replaces what is not UTF-8: a message with it can't be sent, and the attempt would end the
// session for everybody. The server refuses a queue's name with the replacement in it.
func sendable(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// bytes is about how large the task is as a message.
func (t *Task) bytes() int { return len(t.Payload) + len(t.Queue) }

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
	p.batcher = &batcher[Task]{
		framesMax: produceFramesMax, wake: make(chan struct{}, 1), encode: encodeTasks,
		begin: func(f *wire.Frame, number uint64) {
			if number == 1 { // the server reads it from the first frame only
				f.Text(wire.ProduceRequestTenant, tenant)
			}
			f.Uint(wire.ProduceRequestFrame, number)
		},
		send: func(f *wire.Frame) error { return stream.SendMsg(f) },
	}
	go p.sendAll()
	go p.receive()
	return p, nil
}

// Enqueue stores one task and returns its id once the server acknowledged it. The error is an *Error
// if the server refused the task, and ErrUnknownOutcome if the session broke or ctx ended first.
func (p *Producer) Enqueue(ctx context.Context, t Task) (string, error) {
	c := p.batcher.single(t, t.bytes())
	if err := p.batcher.do(ctx, c); err != nil {
		return "", err
	}
	defer p.batcher.keep(c)
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
	if err := p.batcher.do(ctx, c); err != nil {
		return nil, nil, err
	}
	defer p.batcher.keep(c)
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
