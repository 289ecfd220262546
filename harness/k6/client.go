package k6

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/k6/options"
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
	o := c.instance.object(map[string]any{
		"produce":  c.produce,
		"claim":    c.claim,
		"complete": c.settle(complete, c.plainly),
		"fail":     c.settle(fail, c.plainly),
		"extend":   c.settle(extend, c.plainly),
		"release":  c.settle(release, c.plainly),
		"producer": c.producer,
		"worker":   c.worker,
		"task":     c.task,
		"result":   c.result,
		"close":    c.close,
		"admin":    admin{c}.object(),
	})
	return o
}

// usable returns an error if calls are not possible now.
func (c *queueClient) usable(call string) error {
	switch {
	case c.inInit():
		return &callError{call: call, code: codeInvalid, cause: errInit}
	case c.closed:
		return &callError{call: call, code: codeClosed, cause: errors.New("the client is closed; connect again")}
	}
	return nil
}

// connection returns the VU's connection among those of the process.
func (c *queueClient) connection(of connection) (*client.Client, error) {
	p, err := c.process.pool(of)
	if err != nil {
		return nil, err
	}
	return p.client(c.vu.State().VUID), nil
}

// api returns the client for plain calls.
func (c *queueClient) api() (queuepb.QueueServiceClient, error) {
	conn, err := c.connection(c.options.connection)
	if err != nil {
		return nil, err
	}
	return conn.API(), nil
}

// tenantOption is the only option of some calls.
type tenantOption struct{ tenant string }

var tenantTable = options.Table[tenantOption]{
	"tenant": func(t *tenantOption, v options.Value) (err error) { t.tenant, err = v.Text(); return err },
}

// produce implements the script's method: it enqueues with a plain call.
func (c *queueClient) produce(tasks, from sobek.Value) *sobek.Promise {
	const call = "produce"
	o := tenantOption{c.options.tenant}
	err := c.usable(call)
	if err == nil {
		err = tenantTable.Read(c.vu.Runtime(), call, from, &o)
	}
	if err != nil {
		return c.refused(err)
	}
	api, err := c.api()
	if err != nil {
		return c.refused(failed(call, err))
	}
	return c.instance.produce(call, o.tenant, &c.options, tasks, &c.sender, enqueuePlainly(api, o.tenant))
}

// producerOptions are the options of producer.
type producerOptions struct {
	tenant     string
	idempotent bool
}

var producerTable = options.Table[producerOptions]{
	"tenant":     func(p *producerOptions, v options.Value) (err error) { p.tenant, err = v.Text(); return err },
	"idempotent": func(p *producerOptions, v options.Value) (err error) { p.idempotent, err = v.Bool(); return err },
}

// producer implements the script's method: it returns a session, which opens at its first call.
func (c *queueClient) producer(from sobek.Value) *sobek.Object {
	const call = "producer"
	o := producerOptions{tenant: c.options.tenant}
	if err := producerTable.Read(c.vu.Runtime(), call, from, &o); err != nil {
		c.throw(err)
	}
	of := c.options.connection
	of.idempotent = o.idempotent
	if _, err := c.process.pool(of); err != nil {
		c.throw(failed(call, err))
	}
	var sender *load.Sender
	s := &session[*client.Producer]{}
	c.open[s] = true
	return c.instance.object(map[string]any{
		"produce": func(tasks sobek.Value) *sobek.Promise {
			const call = "producer.produce"
			if err := c.usable(call); err != nil {
				return c.refused(err)
			}
			conn, err := c.connection(of)
			if err != nil {
				return c.refused(failed(call, err))
			}
			dial := func() (*client.Producer, error) { return conn.Producer(c.process.live, o.tenant) }
			return c.instance.produce(call, o.tenant, &c.options, tasks, &sender, func(ctx context.Context, tasks []client.Task) (ids []string, errs []error, err error) {
				err = s.use(ctx, dial, func(p *client.Producer) (err error) {
					ids, errs, err = p.EnqueueBatch(ctx, tasks)
					return err
				})
				return ids, errs, err
			})
		},
		"close": func() *sobek.Promise { return c.end("producer.close", s) },
	})
}

// close implements the script's method: it ends the VU's sessions.
func (c *queueClient) close() *sobek.Promise {
	const call = "close"
	if c.inInit() {
		return c.refused(&callError{call: call, code: codeInvalid, cause: errInit})
	}
	c.closed = true
	return c.end(call, slices.Collect(maps.Keys(c.open))...)
}

// closeMax bounds the time for closing a session.
const closeMax = 5 * time.Second

// end closes sessions and returns a promise. A session that broke earlier is already closed.
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
