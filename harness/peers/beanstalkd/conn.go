package beanstalkd

import (
	"context"
	"errors"
	"sync"
	"time"

	beanstalk "github.com/beanstalkd/go-beanstalk"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/peers/internal/peer"
)

const (
	// reserveMax is how long a claim waits at the server. It also bounds the delay of a cancelled
	// claim.
	reserveMax = time.Second
	// answerMax is the maximum wait for an answer. It is much longer than reserveMax.
	answerMax = 30 * time.Second
	// dialMax is the timeout for opening a connection.
	dialMax = 5 * time.Second
	// idleMax is the maximum number of connections that a worker keeps open without a claim.
	idleMax = 1024
)

// conn opens connections to the server as needed, and replaces broken ones.
type conn struct {
	address string
	lease   time.Duration

	mu     sync.Mutex
	opened map[*link]struct{}
	closed bool
}

type link struct {
	*beanstalk.Conn
	owner *conn

	mu   sync.Mutex
	left int // number of reserved jobs that are not settled
}

func (c *conn) open() (*link, error) {
	socket, err := dialCoalescing(c.address, answerMax)
	if err != nil {
		return nil, err
	}
	l := &link{Conn: beanstalk.NewConn(socket), owner: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.Join(errors.New("the connection is closed"), l.Close())
	}
	if c.opened == nil {
		c.opened = map[*link]struct{}{}
	}
	c.opened[l] = struct{}{}
	return l, nil
}

// drop closes an unusable link. The server redelivers its jobs.
func (l *link) drop() {
	l.owner.mu.Lock()
	delete(l.owner.opened, l)
	l.owner.mu.Unlock()
	_ = l.Close() // it is broken or idle
}

// Close ends all links. The server redelivers their jobs.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var errs []error
	for l := range c.opened {
		errs = append(errs, l.Close())
	}
	clear(c.opened)
	return errors.Join(errs...)
}

func (c *conn) Producer(_ context.Context, tenant string) (driver.Producer, error) {
	return &producer{conn: c, tenant: tenant}, nil
}

func (c *conn) Worker(_ context.Context, tenant string, queues []string, _ int) (driver.Worker, error) {
	w := &worker{conn: c, tenant: tenant, queues: map[string]string{}}
	for _, queue := range queues {
		w.queues[tube(tenant, queue)] = queue
		w.tubes = append(w.tubes, tube(tenant, queue))
	}
	return w, nil
}

// producer sends all its commands over one link.
type producer struct {
	conn   *conn
	tenant string

	mu   sync.Mutex
	link *link
}

func (p *producer) use() (*link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == nil {
		l, err := p.conn.open()
		if err != nil {
			return nil, err
		}
		p.link = l
	}
	return p.link, nil
}

// broke drops a link, unless another call has already done so.
func (p *producer) broke(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == l {
		p.link = nil
		l.drop()
	}
}

// Enqueue implements driver.Producer. It waits for the answers, because the client reads the
// payloads until then.
func (p *producer) Enqueue(_ context.Context, tasks []driver.Task, outcomes []error) error {
	l, err := p.use()
	if err != nil {
		peer.Fill(outcomes, err) // nothing was sent
		return nil
	}
	pipelined(len(tasks), func(i int) {
		t := beanstalk.NewTube(l.Conn, tube(p.tenant, tasks[i].Queue))
		_, err := t.Put(tasks[i].Payload, 0, 0, p.conn.lease)
		outcomes[i] = outcomeOf(err)
		if err != nil && !answered(err) {
			p.broke(l)
		}
	})
	return nil
}

func pipelined(n int, call func(i int)) {
	if n == 1 {
		call(0)
		return
	}
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { call(i) })
	}
	calls.Wait()
}
