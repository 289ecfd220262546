package rabbitmq

import (
	"context"
	"errors"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/peers/internal/peer"
)

type worker struct {
	conn   *conn
	tenant string
	queues []string
	slots  int

	mu      sync.Mutex
	present *life
	closed  bool
}

// life is a worker's channel from its opening to its end. The server requeues the tasks of an ended
// channel, so a task belongs to the life in which it was claimed.
type life struct {
	connection *amqp.Connection
	ch         *amqp.Channel
	claimed    chan claimed  // prefetched messages
	over       chan struct{} // closed when the channel ended
	pumps      sync.WaitGroup

	mu     sync.Mutex          // held while acknowledgements are sent
	below  uint64              // all deliveries up to this tag are acknowledged; tags count from 1
	above  map[uint64]struct{} // acknowledged deliveries with a higher tag
	asked  *confirmation       // answered by the next confirmation; nil if no caller waits
	asking bool                // a goroutine asks for confirmations
}

// confirmation lets callers wait until the server has handled their acknowledgements.
type confirmation struct {
	queues map[string]struct{}
	done   chan struct{} // closed when err is set
	err    error
}

// use returns the worker's current life, or starts a new one.
func (w *worker) use() (*life, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, amqp.ErrClosed
	}
	if w.present != nil {
		if !w.present.ch.IsClosed() {
			return w.present, nil
		}
		w.present.end()
		w.present = nil
	}
	l, err := w.begin()
	if err != nil {
		return nil, err
	}
	w.present = l
	return l, nil
}

func (w *worker) begin() (*life, error) {
	connection, ch, err := w.conn.open()
	if err != nil {
		return nil, err
	}
	l := &life{
		connection: connection, ch: ch, claimed: make(chan claimed, w.slots*len(w.queues)), over: make(chan struct{}), above: map[uint64]struct{}{},
	}
	ended := ch.NotifyClose(make(chan *amqp.Error, 1))
	go func() {
		for range ended { // the client closes it at the end of the channel
			continue
		}
		close(l.over)
	}()
	if err := ch.Qos(w.slots, 0, false); err != nil {
		return nil, errors.Join(err, closeConnection(connection))
	}
	for _, queue := range w.queues {
		messages, err := ch.Consume(queueName(w.tenant, queue), "", false, false, false, false, nil)
		if err != nil {
			return nil, errors.Join(err, closeConnection(connection))
		}
		l.pumps.Go(func() {
			for message := range messages {
				// Never blocks: the buffer has the size of the prefetch.
				l.claimed <- claimed{queue, message, l}
			}
		})
	}
	return l, nil
}

func (l *life) end() {
	_ = closeConnection(l.connection) // the server always requeues its tasks
	l.pumps.Wait()
}

func (w *worker) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.present != nil {
		w.present.end()
	}
	return nil
}

// Claim implements driver.Worker.
func (w *worker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	l, err := w.use()
	if err != nil {
		return 0, err
	}
	select {
	case c := <-l.claimed:
		into[0] = c.delivery(w.tenant)
	case <-l.over:
		return 0, amqp.ErrClosed
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	for n := 1; n < len(into); n++ {
		select {
		case c := <-l.claimed:
			into[n] = c.delivery(w.tenant)
		default:
			return n, nil
		}
	}
	return len(into), nil
}

func (c claimed) delivery(tenant string) driver.Delivery {
	return driver.Delivery{Tenant: tenant, Queue: c.queue, Payload: c.message.Body, Handle: c}
}

// Complete implements driver.Worker.
func (w *worker) Complete(_ context.Context, deliveries []driver.Delivery, outcomes []error) error {
	for i := range deliveries {
		if _, ok := deliveries[i].Handle.(claimed); !ok {
			return peer.ErrNotClaimed
		}
	}
	// The deliveries of one claim belong to one life. A batch may contain deliveries of several
	// lives, which are acknowledged separately.
	for first := 0; first < len(deliveries); {
		l := deliveries[first].Handle.(claimed).life
		end := first + 1
		for end < len(deliveries) && deliveries[end].Handle.(claimed).life == l {
			end++
		}
		l.complete(deliveries[first:end], outcomes[first:end])
		first = end
	}
	return nil
}

// complete acknowledges deliveries of one life, and waits until the server has handled the
// acknowledgements.
func (l *life) complete(deliveries []driver.Delivery, outcomes []error) {
	queues := map[string]struct{}{}
	l.mu.Lock()
	for i := range deliveries {
		c := deliveries[i].Handle.(claimed)
		outcomes[i] = nil
		if l.acknowledged(c.message.DeliveryTag) || l.ch.IsClosed() {
			// The server has requeued the tasks of the ended channel.
			outcomes[i] = peer.ErrLeaseOver
			continue
		}
		queues[queueName(deliveries[i].Tenant, c.queue)] = struct{}{}
	}
	err := l.acknowledge(deliveries, outcomes)
	var confirmed *confirmation
	if err == nil && len(queues) > 0 {
		confirmed = l.ask(queues)
	}
	l.mu.Unlock()
	if confirmed != nil {
		<-confirmed.done
		err = confirmed.err
	}
	for i := range outcomes {
		if outcomes[i] == nil && err != nil {
			outcomes[i] = peer.Unknown(err)
		}
	}
}

// acknowledged reports whether a delivery was acknowledged. The caller must hold mu.
func (l *life) acknowledged(tag uint64) bool {
	_, above := l.above[tag]
	return above || tag <= l.below
}

// acknowledge acknowledges the deliveries whose outcome is nil. It sends a single acknowledgement
// if these are all unacknowledged deliveries up to the last of them. The caller must hold mu.
func (l *life) acknowledge(deliveries []driver.Delivery, outcomes []error) error {
	var last uint64
	var tags []uint64
	for i := range deliveries {
		if outcomes[i] == nil {
			tag := deliveries[i].Handle.(claimed).message.DeliveryTag
			tags, last = append(tags, tag), max(last, tag)
			l.above[tag] = struct{}{}
		}
	}
	count := uint64(0) // number of acknowledged deliveries up to last, including these
	for tag := range l.above {
		if tag <= last {
			count++
		}
	}
	all := count == last-min(last, l.below)
	for l.acknowledged(l.below + 1) {
		l.below++
		delete(l.above, l.below)
	}
	if len(tags) > 1 && all {
		return l.ch.Ack(last, true)
	}
	for _, tag := range tags {
		if err := l.ch.Ack(tag, false); err != nil {
			return err
		}
	}
	return nil
}

// ask returns a confirmation whose done is closed when the server has handled all acknowledgements
// sent so far, or when this cannot be confirmed. The caller must hold mu.
func (l *life) ask(queues map[string]struct{}) *confirmation {
	if l.asked == nil {
		l.asked = &confirmation{queues: map[string]struct{}{}, done: make(chan struct{})}
	}
	for queue := range queues {
		l.asked.queues[queue] = struct{}{}
	}
	if !l.asking {
		l.asking = true
		go l.confirm()
	}
	return l.asked
}

// confirm makes confirming calls one after the other, until no completion waits for a confirmation.
func (l *life) confirm() {
	for {
		l.mu.Lock()
		next := l.asked
		l.asked = nil
		l.asking = next != nil
		l.mu.Unlock()
		if next == nil {
			return
		}
		for queue := range next.queues {
			// The queue answers after it has handled everything that the channel sent to it before.
			if _, err := l.ch.QueueDeclarePassive(queue, true, false, false, false, nil); err != nil {
				next.err = err
				break
			}
		}
		close(next.done)
	}
}
