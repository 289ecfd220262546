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
)

// Task is a task to enqueue.
type Task struct {
	Queue       string
	Priority    uint32 // 0 to 9; 9 is the most urgent
	Payload     []byte // must not change until the call has returned, nor after it returned ErrUnknownOutcome
	Delay       time.Duration
	MaxAttempts uint32        // 0: the server's default
	Lease       time.Duration // of a claim that names none; 0: the server's default
}

func (t *Task) message() *queuepb.NewTask {
	return &queuepb.NewTask{
		Queue: sendable(t.Queue), Priority: t.Priority, Payload: t.Payload, DelayMs: uint64(t.Delay.Milliseconds()),
		MaxAttempts: t.MaxAttempts, LeaseMs: uint64(t.Lease.Milliseconds()),
	}
}

// sendable replaces what is not UTF-8: a message with it can't be sent, and the attempt would end the
// session for everybody. The server refuses a queue's name with the replacement in it.
func sendable(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// bytes is about how large the task is as a message.
func (t *Task) bytes() int { return len(t.Payload) + len(t.Queue) }

// Producer is a session that enqueues over one stream. It is safe for concurrent use.
type Producer struct {
	stream  grpc.BidiStreamingClient[queuepb.ProduceRequest, queuepb.ProduceResponse]
	cancel  context.CancelFunc
	batcher *batcher[*queuepb.NewTask]
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
	p.batcher = newBatcher(func(frame uint64, tasks []*queuepb.NewTask) error {
		return stream.Send(&queuepb.ProduceRequest{Tenant: tenant, Frame: frame, Tasks: tasks})
	})
	go p.sendAll()
	go p.receive()
	return p, nil
}

// Enqueue stores one task and returns its id once the server acknowledged it. The error is an *Error
// if the server refused the task, and ErrUnknownOutcome if the session broke or ctx ended first.
func (p *Producer) Enqueue(ctx context.Context, t Task) (string, error) {
	ids, errs, err := p.batcher.do(ctx, []*queuepb.NewTask{t.message()}, t.bytes())
	if err := first(errs, err); err != nil {
		return "", err
	}
	return ids[0], nil
}

// EnqueueBatch stores up to 1,000 tasks, of 4 MiB together, in one frame. errs is nil if all were accepted; otherwise it has an
// element for each task, nil where accepted. err is about all of them: ErrInvalidArgument if they could not be
// sent, otherwise as for Enqueue.
func (p *Producer) EnqueueBatch(ctx context.Context, tasks []Task) (ids []string, errs []error, err error) {
	if len(tasks) == 0 || len(tasks) > frameTasksMax {
		return nil, nil, fmt.Errorf("tasks: %w: a batch of %d: pass 1 to %d", ErrInvalidArgument, len(tasks), frameTasksMax)
	}
	items, bytes := make([]*queuepb.NewTask, len(tasks)), 0
	for i := range tasks {
		items[i] = tasks[i].message()
		bytes += tasks[i].bytes()
	}
	return p.batcher.do(ctx, items, bytes)
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
	for {
		in, err := p.stream.Recv()
		if err != nil {
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
