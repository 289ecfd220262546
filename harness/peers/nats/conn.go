package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers/internal/peer"
)

// retryPause is how long a worker waits after an error of the message iterator.
const retryPause = 20 * time.Millisecond

type conn struct {
	nc     *natsgo.Conn
	js     jetstream.JetStream
	queues map[program.Queue]int

	mu      sync.Mutex
	workers []*worker
}

func open(addresses []string, spec program.LaunchSpec) (driver.Conn, error) {
	nc, err := connect(addresses)
	if err != nil {
		return nil, fmt.Errorf("connect to %v: %w", addresses, err)
	}
	js, err := jetstream.New(nc,
		jetstream.WithPublishAsyncMaxPending(publishesMax), jetstream.WithPublishAsyncTimeout(answerMax))
	if err != nil {
		nc.Close()
		return nil, err
	}
	c := &conn{nc: nc, js: js, queues: map[program.Queue]int{}}
	for i, q := range spec.Queues {
		c.queues[q] = i
	}
	return c, nil
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

// Close returns prefetched messages and closes the connection.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.workers {
		w.close()
	}
	err := c.nc.Flush()
	c.nc.Close()
	if errors.Is(err, natsgo.ErrConnectionClosed) || errors.Is(err, natsgo.ErrConnectionReconnecting) {
		return nil
	}
	return err
}

type producer struct {
	conn   *conn
	tenant string
}

// Enqueue implements driver.Producer. The client copies payloads before PublishAsync returns.
func (p producer) Enqueue(_ context.Context, tasks []driver.Task, outcomes []error) error {
	answers := make([]jetstream.PubAckFuture, len(tasks))
	for i := range tasks {
		number, err := p.conn.queueOf(p.tenant, tasks[i].Queue)
		if err == nil {
			answers[i], err = p.conn.js.PublishAsync(subjectOf(number), tasks[i].Payload, jetstream.WithStallWait(publishStall))
		}
		outcomes[i] = outcomeOf(err)
	}
	for i, answer := range answers {
		if outcomes[i] != nil {
			continue
		}
		select { // one of the two arrives within answerMax
		case <-answer.Ok():
		case err := <-answer.Err():
			outcomes[i] = outcomeOf(err)
		}
	}
	return nil
}

func (c *conn) Worker(ctx context.Context, tenant string, queues []string, slots int) (driver.Worker, error) {
	slots = max(1, slots)
	w := &worker{tenant: tenant, claimed: make(chan claimed, slots), over: make(chan struct{})}
	for _, queue := range queues {
		number, err := c.queueOf(tenant, queue)
		if err != nil {
			w.close()
			return nil, err
		}
		from, err := c.js.Consumer(ctx, streamOf(number), consumer)
		if err != nil {
			w.close()
			return nil, fmt.Errorf("find the consumer of queue %q: %w", queue, err)
		}
		messages, err := from.Messages(jetstream.PullMaxMessages(slots))
		if err != nil {
			w.close()
			return nil, fmt.Errorf("claim from queue %q: %w", queue, err)
		}
		w.iterators = append(w.iterators, messages)
		w.pumps.Go(func() { w.pump(queue, messages) })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers = append(c.workers, w)
	return w, nil
}

// claimed is a message of a queue.
type claimed struct {
	queue   string
	message jetstream.Msg
}

type worker struct {
	tenant    string
	claimed   chan claimed // prefetched messages
	over      chan struct{}
	iterators []jetstream.MessagesContext
	pumps     sync.WaitGroup
}

// pump forwards the messages of a queue until the worker closes. The client recovers from broken
// connections and other errors by itself.
func (w *worker) pump(queue string, messages jetstream.MessagesContext) {
	for {
		message, err := messages.Next()
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return
		}
		if err != nil {
			time.Sleep(retryPause)
			continue
		}
		select {
		case w.claimed <- claimed{queue, message}:
		case <-w.over:
			_ = message.Nak() // otherwise it is redelivered after the lease
		}
	}
}

func (w *worker) close() {
	close(w.over)
	for _, messages := range w.iterators {
		messages.Stop()
	}
	w.pumps.Wait()
	for {
		select {
		case c := <-w.claimed:
			_ = c.message.Nak() // otherwise it is redelivered after the lease
		default:
			return
		}
	}
}

// Claim implements driver.Worker.
func (w *worker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	return peer.Claim(ctx, w.claimed, w.over, into, w.delivery)
}

func (w *worker) delivery(c claimed) driver.Delivery {
	d := driver.Delivery{Tenant: w.tenant, Queue: c.queue, Payload: c.message.Data(), Handle: c.message}
	if about, err := c.message.Metadata(); err == nil {
		d.Attempt = uint32(about.NumDelivered)
	}
	return d
}

// Complete implements driver.Worker.
func (w *worker) Complete(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerMax)
	defer cancel()
	for i := range deliveries {
		if _, ok := deliveries[i].Handle.(jetstream.Msg); !ok {
			return peer.ErrNotClaimed
		}
	}
	var calls sync.WaitGroup
	for i := range deliveries {
		calls.Go(func() { outcomes[i] = outcomeOf(deliveries[i].Handle.(jetstream.Msg).DoubleAck(ctx)) })
	}
	calls.Wait()
	return nil
}
