package program

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pronybench/prony/harness/driver"
)

// open opens a session. It returns the session's number, and whether the session can fail tasks.
func (c *conn) open(ctx context.Context, k kind, o opening) (session uint32, canFail bool, err error) {
	for _, name := range append([]string{o.tenant}, o.queues...) {
		if len(name) > nameBytesMax {
			return 0, false, fmt.Errorf("a name of %d bytes; a name has at most %d", len(name), nameBytesMax)
		}
	}
	c.mu.Lock()
	full := c.sessions == sessionsMax
	if !full {
		c.sessions++
		o.session = c.sessions
	}
	c.mu.Unlock()
	if full {
		return 0, false, fmt.Errorf("a connection to a driver program has at most %d producers and workers: raise workload.connections", sessionsMax)
	}
	of := newCall()
	if err := c.do(ctx, k, of, func(b []byte) ([]byte, error) { return o.append(b, k), nil }); err != nil {
		return 0, false, err
	}
	canFail = of.canFail
	of.put()
	return o.session, canFail, nil
}

// Producer implements driver.Conn.
func (c *conn) Producer(ctx context.Context, tenant string) (driver.Producer, error) {
	session, _, err := c.open(ctx, kindOpenProducer, opening{tenant: tenant})
	if err != nil {
		return nil, err
	}
	return &producer{conn: c, session: session, tenant: tenant}, nil
}

// Worker implements driver.Conn.
func (c *conn) Worker(ctx context.Context, tenant string, queues []string, slots int) (driver.Worker, error) {
	session, canFail, err := c.open(ctx, kindOpenWorker, opening{tenant: tenant, slots: slots, queues: queues})
	if err != nil {
		return nil, err
	}
	w := &worker{conn: c, session: session, tenant: tenant, names: names{}}
	if canFail {
		return failer{w}, nil
	}
	return w, nil
}

type producer struct {
	conn    *conn
	session uint32
	tenant  string
}

// Enqueue implements driver.Producer. If a task uses a feature that the protocol does not support,
// Enqueue returns an error without sending anything.
func (p *producer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	return p.conn.settle(ctx, kindEnqueue, len(tasks), outcomes, func(b []byte) ([]byte, error) {
		for i := range tasks {
			if err := p.check(&tasks[i]); err != nil {
				return b, err
			}
		}
		return appendTasks(b, p.session, tasks), nil
	})
}

func (p *producer) check(t *driver.Task) error {
	switch {
	case t.Tenant != p.tenant:
		return fmt.Errorf("a task of tenant %q on a session of tenant %q", t.Tenant, p.tenant)
	case len(t.Queue) > nameBytesMax:
		return fmt.Errorf("a queue's name of %d bytes; a name has at most %d", len(t.Queue), nameBytesMax)
	case t.Priority != 0 || t.MaxAttempts != 0 || t.Backoff != 0 || t.Key != "" || t.ResultRetention != 0 || t.Delay != 0:
		return errors.New("a task with a priority, attempts, a key, a result or a delay, which driver programs do not support")
	}
	return nil
}

// settle makes a call for n tasks and stores the outcomes that its answer contains. After settle
// has returned, nothing writes to outcomes.
func (c *conn) settle(ctx context.Context, k kind, n int, outcomes []error, body func([]byte) ([]byte, error)) error {
	if n == 0 {
		return nil
	}
	if n > tasksMax {
		return fmt.Errorf("%d tasks in a call; a driver program accepts at most %d", n, tasksMax)
	}
	// An answer that arrives later must not be written to the caller's memory. Therefore an
	// abandoned call is not returned to the pool.
	of := newCall()
	of.outcomes = outcomes[:n]
	if err := c.do(ctx, k, of, body); err != nil {
		return err
	}
	of.put()
	return nil
}

// worker is a session that claims tasks. Only the reading goroutine uses names.
type worker struct {
	conn    *conn
	session uint32
	tenant  string
	names   names
}

// Claim implements driver.Worker.
func (w *worker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	if len(into) == 0 {
		return 0, nil
	}
	of := newCall()
	of.worker, of.into = w, into[:min(len(into), tasksMax)]
	if err := w.conn.do(ctx, kindClaim, of, func(b []byte) ([]byte, error) {
		b = binary.BigEndian.AppendUint32(b, w.session)
		return binary.BigEndian.AppendUint32(b, uint32(len(of.into))), nil
	}); err != nil {
		return 0, err
	}
	n := of.n
	of.put()
	return n, nil
}

// Complete implements driver.Worker.
func (w *worker) Complete(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	for i := range deliveries {
		if deliveries[i].Result != nil {
			return errors.New("a completion with a result, which driver programs do not support")
		}
	}
	return w.settle(ctx, kindComplete, deliveries, outcomes)
}

func (w *worker) settle(ctx context.Context, k kind, deliveries []driver.Delivery, outcomes []error) error {
	return w.conn.settle(ctx, k, len(deliveries), outcomes, func(b []byte) ([]byte, error) { return appendHandles(b, w.session, deliveries) })
}

type failer struct{ *worker }

var _ driver.Failer = failer{}

// Fail implements driver.Failer.
func (f failer) Fail(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	return f.settle(ctx, kindFail, deliveries, outcomes)
}
