package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/peers/internal/peer"
)

const (
	dialMax   = 5 * time.Second
	heartbeat = 10 * time.Second
	// confirmMax is the maximum wait for the confirm of a publish.
	confirmMax = 30 * time.Second
)

func dial(address string) (*amqp.Connection, error) {
	return amqp.DialConfig("amqp://guest:guest@"+address+"/", amqp.Config{
		Heartbeat: heartbeat, Dial: amqp.DefaultDial(dialMax), Properties: amqp.NewConnectionProperties(),
	})
}

// conn opens a connection to the server for each producer and each worker, and replaces a broken
// one.
type conn struct {
	mode uint8
	node func(attempt uint64) string

	attempts atomic.Uint64
	mu       sync.Mutex
	sessions []interface{ close() error }
}

func (c *conn) open() (*amqp.Connection, *amqp.Channel, error) {
	connection, err := dial(c.node(c.attempts.Add(1)))
	if err != nil {
		return nil, nil, err
	}
	ch, err := connection.Channel()
	if err != nil {
		return nil, nil, errors.Join(err, connection.Close())
	}
	return connection, ch, nil
}

func (c *conn) keep(session interface{ close() error }) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions = append(c.sessions, session)
}

// Close ends all connections. The server redelivers the tasks of their workers.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, session := range c.sessions {
		errs = append(errs, session.close())
	}
	return errors.Join(errs...)
}

func closeConnection(connection *amqp.Connection) error {
	err := connection.Close()
	var network net.Error
	if errors.Is(err, amqp.ErrClosed) || errors.As(err, &network) {
		return nil
	}
	return err
}

func (c *conn) Producer(_ context.Context, tenant string) (driver.Producer, error) {
	p := &producer{conn: c, tenant: tenant}
	c.keep(p)
	return p, nil
}

type producer struct {
	conn   *conn
	tenant string

	mu         sync.Mutex
	connection *amqp.Connection
	ch         *amqp.Channel
}

// use returns the channel, or a new one if it is broken.
func (p *producer) use() (*amqp.Channel, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ch != nil && !p.ch.IsClosed() {
		return p.ch, nil
	}
	if p.connection != nil {
		_ = closeConnection(p.connection) // it is broken
	}
	connection, ch, err := p.conn.open()
	if err != nil {
		return nil, err
	}
	if err := ch.Confirm(false); err != nil {
		return nil, errors.Join(err, closeConnection(connection))
	}
	p.connection, p.ch = connection, ch
	return ch, nil
}

func (p *producer) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.connection == nil {
		return nil
	}
	return closeConnection(p.connection)
}

var errNotConfirmed = errors.New("the server did not confirm the publish")

// Enqueue implements driver.Producer. The client has written the payloads when a publish returns.
func (p *producer) Enqueue(_ context.Context, tasks []driver.Task, outcomes []error) error {
	ch, err := p.use()
	if err != nil {
		peer.Fill(outcomes, err) // nothing was sent
		return nil
	}
	confirms := make([]*amqp.DeferredConfirmation, len(tasks))
	for i := range tasks {
		confirms[i], err = ch.PublishWithDeferredConfirm("", queueName(p.tenant, tasks[i].Queue), false, false,
			amqp.Publishing{DeliveryMode: p.conn.mode, Body: tasks[i].Payload})
		outcomes[i] = nil
		if err != nil {
			outcomes[i] = peer.Unknown(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), confirmMax)
	defer cancel()
	for i, confirm := range confirms {
		if outcomes[i] != nil {
			continue
		}
		// The client reports a broken connection as a negative confirm.
		if confirmed, err := confirm.WaitContext(ctx); err != nil || !confirmed {
			outcomes[i] = peer.Unknown(errors.Join(errNotConfirmed, err))
		}
	}
	return nil
}

// claimed is a message of one life of a worker's channel.
type claimed struct {
	queue   string
	message amqp.Delivery
	life    *life
}

func (c *conn) Worker(_ context.Context, tenant string, queues []string, slots int) (driver.Worker, error) {
	w := &worker{conn: c, tenant: tenant, queues: queues, slots: max(1, slots)}
	if _, err := w.use(); err != nil {
		return nil, fmt.Errorf("claim from queues %q: %w", queues, err)
	}
	c.keep(w)
	return w, nil
}
