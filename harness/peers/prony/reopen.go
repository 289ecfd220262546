package prony

import (
	"context"
	"errors"
	"sync"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/peers/internal/peer"
)

// reopening is a connection to one server. It reopens itself and its sessions after they have
// ended. A session of the Go client ends with its stream if the server is not in a cluster.
type reopening struct {
	dial func() (driver.Conn, error)
	ctx  context.Context // context of the sessions
	end  context.CancelFunc

	mu      sync.Mutex     // held while a session is opened
	conn    driver.Conn    // the current one; nil after one of its sessions has ended
	closing sync.WaitGroup // closing of earlier connections
	closed  bool
}

func newReopening(dial func() (driver.Conn, error)) (*reopening, error) {
	conn, err := dial()
	if err != nil {
		return nil, err
	}
	c := &reopening{dial: dial, conn: conn}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c, nil
}

// use returns the current connection, or opens one. The caller must hold mu.
func (c *reopening) use() (driver.Conn, error) {
	if c.closed {
		return nil, errors.New("the connection is closed")
	}
	if c.conn == nil {
		conn, err := c.dial()
		if err != nil {
			return nil, err
		}
		c.conn = conn
	}
	return c.conn, nil
}

// ended drops a connection if it is the current one. Errors from closing the connection are
// ignored, because its sessions have already ended.
func (c *reopening) ended(conn driver.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.giveUp(conn)
}

// giveUp does what ended does. The caller must hold mu.
func (c *reopening) giveUp(conn driver.Conn) {
	if c.conn == conn && !c.closed {
		c.conn = nil
		c.closing.Go(func() { _ = conn.Close() })
	}
}

// Close implements driver.Conn.
func (c *reopening) Close() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.conn != nil {
		err = c.conn.Close()
	}
	c.closing.Wait()
	c.end()
	return err
}

// session is the current session of a producer or a worker.
type session[S comparable] struct {
	conn *reopening
	open func(driver.Conn) (S, error)

	mu      sync.Mutex
	present S           // the zero value if no session is open
	of      driver.Conn // connection of present
}

func (s *session[S]) use() (present S, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none S
	if s.present != none {
		return s.present, nil
	}
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	conn, err := s.conn.use()
	if err != nil {
		return none, err
	}
	if present, err = s.open(conn); err != nil {
		s.conn.giveUp(conn)
		return none, err
	}
	s.present, s.of = present, conn
	return present, nil
}

// ended drops a session after a call whose error or outcomes show that the session may have ended.
func (s *session[S]) ended(called S, err error, outcomes []error) {
	for _, outcome := range outcomes {
		if errors.Is(outcome, driver.ErrUnknown) {
			err = outcome
		}
	}
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.present == called {
		var none S
		s.present = none
		s.conn.ended(s.of)
	}
}

// Producer implements driver.Conn.
func (c *reopening) Producer(_ context.Context, tenant string) (driver.Producer, error) {
	p := &producer{session[driver.Producer]{conn: c, open: func(conn driver.Conn) (driver.Producer, error) {
		return conn.Producer(c.ctx, tenant)
	}}}
	_, err := p.use()
	return p, err
}

type producer struct{ session[driver.Producer] }

// Enqueue implements driver.Producer.
func (p *producer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	present, err := p.use()
	if err != nil {
		peer.Fill(outcomes, err) // nothing was sent
		return nil
	}
	err = present.Enqueue(ctx, tasks, outcomes)
	p.ended(present, err, outcomes)
	return err
}

// Worker implements driver.Conn.
func (c *reopening) Worker(_ context.Context, tenant string, queues []string, slots int) (driver.Worker, error) {
	w := &worker{session[driver.Worker]{conn: c, open: func(conn driver.Conn) (driver.Worker, error) {
		return conn.Worker(c.ctx, tenant, queues, slots)
	}}}
	_, err := w.use()
	return w, err
}

type worker struct{ session[driver.Worker] }

// Claim implements driver.Worker.
func (w *worker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	present, err := w.use()
	if err != nil {
		return 0, err
	}
	n, err := present.Claim(ctx, into)
	if ctx.Err() == nil {
		w.ended(present, err, nil)
	}
	return n, err
}

// Complete implements driver.Worker. The tasks may be from an earlier session, because leases
// outlive a session.
func (w *worker) Complete(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	present, err := w.use()
	if err != nil {
		peer.Fill(outcomes, err) // nothing was sent
		return nil
	}
	err = present.Complete(ctx, deliveries, outcomes)
	w.ended(present, err, outcomes)
	return err
}
