package k6

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/harness/load"
)

// queueClient is a script's client. Its methods run on the VU's event loop.
type queueClient struct {
	*instance
	options connectOptions
	closed  bool
	open    map[closable]bool // sessions that are not closed
	sender  *load.Sender
	settler *load.Settler
}

func newClient(i *instance, o connectOptions) *queueClient {
	return &queueClient{instance: i, options: o, open: map[closable]bool{}}
}

// object returns the script's object of the client.
func (c *queueClient) object() *sobek.Object {
	of := map[string]any{
		"produce":  c.produce,
		"claim":    c.claim,
		"producer": c.producer,
		"worker":   c.worker,
		"task":     c.task,
		"result":   c.result,
		"close":    c.close,
		"admin":    c.admin(),
	}
	for _, k := range kinds {
		of[string(k)] = c.settle(k, string(k), c, &c.settler, plainly)
	}
	return c.instance.object(of)
}

// connection returns the VU's connection among those of the process.
func (c *queueClient) connection(of connection) (*client.Client, error) {
	p, err := c.process.pool(of)
	if err != nil {
		return nil, err
	}
	return p.client(c.vu.State().VUID), nil
}

// produce implements the script's method: it enqueues with a plain call.
func (c *queueClient) produce(tasks, from sobek.Value) *sobek.Promise {
	const call = "produce"
	return c.call(call, produceTable, from, callOptions{}, func(o *callOptions) (work, error) {
		conn, err := c.connection(c.options.connection)
		if err != nil {
			return nil, err
		}
		return c.enqueuing(call, o.tenant, tasks, &c.sender, enqueuePlainly(conn.API(), o.tenant))
	})
}

// producer implements the script's method: it returns a session, which opens at its first call.
func (c *queueClient) producer(from sobek.Value) *sobek.Object {
	const call = "producer.produce"
	o := callOptions{tenant: c.options.tenant}
	if err := producerTable.Read(c.vu.Runtime(), "producer", from, &o); err != nil {
		c.throw(err)
	}
	of := c.options.connection
	of.idempotent = o.idempotent
	var sender *load.Sender
	s := &session[*client.Producer]{dial: func(conn *client.Client) (*client.Producer, error) { return conn.Producer(c.process.live, o.tenant) }}
	c.open[s] = true
	return c.instance.object(map[string]any{
		"produce": func(tasks sobek.Value) *sobek.Promise {
			return c.call(call, nil, nil, o, func(o *callOptions) (work, error) {
				conn, err := c.connection(of)
				if err != nil {
					return nil, err
				}
				return c.enqueuing(call, o.tenant, tasks, &sender, func(ctx context.Context, tasks []client.Task) (ids []string, errs []error, err error) {
					err = s.use(ctx, conn, func(p *client.Producer) (err error) {
						ids, errs, err = p.EnqueueBatch(ctx, tasks)
						return err
					})
					return ids, errs, err
				})
			})
		},
		"close": func() *sobek.Promise { return c.end("producer.close", s) },
	})
}

// close implements the script's method: it ends the VU's sessions.
func (c *queueClient) close() *sobek.Promise {
	const call = "close"
	if c.inInit() {
		return c.refused(mistake(call, errInit))
	}
	c.closed = true
	return c.end(call, slices.Collect(maps.Keys(c.open))...)
}

// closeMax bounds the time for closing a session.
const closeMax = 5 * time.Second

// end closes sessions and returns a promise.
func (c *queueClient) end(call string, sessions ...closable) *sobek.Promise {
	for _, s := range sessions {
		delete(c.open, s)
	}
	return c.later(call, 0, func(ctx context.Context) (func() any, error) {
		ctx, cancel := context.WithTimeout(ctx, closeMax)
		defer cancel()
		var errs []error
		for _, s := range sessions {
			errs = append(errs, s.Close(ctx))
		}
		return nil, errors.Join(errs...)
	})
}
