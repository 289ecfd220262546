package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/harness/driver"
)

// connection is the program's side of a conn: it passes the calls that it reads on to a driver. A goroutine makes one call at a time. It stays
// for further calls, since a new goroutine would first have to grow its stack.
type connection struct {
	socket net.Conn
	driver driver.Conn
	out    *writer

	ctx     context.Context // of all calls
	end     context.CancelFunc
	next    chan *request  // to a goroutine that has no call; closed when no more calls are read
	calls   sync.WaitGroup // the goroutines
	open    atomic.Int64   // calls that are not answered
	claimed claimed

	mu       sync.Mutex
	sessions map[uint32]*session
	claims   map[uint64]context.CancelFunc // under way
}

// session is a producer or a worker of a connection.
type session struct {
	tenant   string
	producer driver.Producer // nil of a worker
	worker   driver.Worker   // nil of a producer
	names    names           // the reading goroutine alone uses them
}

// request is a call that is under way. Its memory is used again after the answer.
type request struct {
	kind kind
	call uint64
	body body

	session    *session
	opening    opening
	claim      context.Context // of a claim, which a cancel ends
	frame      []byte          // what was read
	answer     []byte
	tasks      []driver.Task
	deliveries []driver.Delivery
	outcomes   []error
	handles    []uint64
}

var requests = sync.Pool{New: func() any { return new(request) }}

func (r *request) put() {
	clear(r.tasks)
	clear(r.deliveries[:cap(r.deliveries)])
	clear(r.outcomes)
	*r = request{frame: r.frame, answer: r.answer, tasks: r.tasks[:0], deliveries: r.deliveries[:0], outcomes: r.outcomes[:0], handles: r.handles[:0]}
	requests.Put(r)
}

// serveConnection passes calls on until the other side closes the connection, breaks the protocol, or ctx is done. It closes the driver's
// connection and the socket, and returns when no call is under way.
func serveConnection(ctx context.Context, socket net.Conn, to driver.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	c := &connection{
		socket: socket, driver: to, out: newWriter(socket), ctx: ctx, end: cancel, next: make(chan *request), sessions: map[uint32]*session{},
		claims: map[uint64]context.CancelFunc{},
	}
	stop := context.AfterFunc(ctx, func() { _ = socket.Close() }) // ends the reading
	failed := c.read()
	stopped := stop()
	cancel()
	close(c.next)
	c.calls.Wait()
	failed = errors.Join(failed, to.Close())
	if stopped { // otherwise Prony has closed the connection
		frame := beginFrame(nil, kindClosed, 0)
		if failed == nil {
			frame = appendText(frame, "")
		} else {
			frame = appendReason(frame, failed)
		}
		if frame, err := endFrame(frame); err == nil {
			_ = c.out.write(context.Background(), frame) // the other side may be gone
		}
	}
	_ = socket.SetWriteDeadline(time.Now().Add(closeMax)) // a socket that is closed needs none
	c.out.close()
	_ = socket.Close() // likewise
	return failed
}

// read reads calls and starts them. It returns nil when the other side has closed its end.
func (c *connection) read() error {
	in := bufio.NewReaderSize(c.socket, readBufferBytes)
	for {
		r := requests.Get().(*request)
		f, err := readFrame(in, &r.frame)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		r.kind, r.call, r.body = f.kind, f.call, f.body
		if f.kind == kindCancel {
			if err := f.body.end(); err != nil {
				return fmt.Errorf("a cancel of call %d: %w", f.call, err)
			}
			c.cancel(f.call)
			r.put()
			continue
		}
		if n := c.open.Add(1); n > callsMax {
			return fmt.Errorf("%d calls are not answered; there may be %d", n, callsMax)
		}
		if err := c.start(r); err != nil {
			return fmt.Errorf("a frame of kind 0x%x, call %d: %w", uint8(r.kind), r.call, err)
		}
	}
}

// start reads the body of a call and starts it. The error is for what breaks the protocol.
func (c *connection) start(r *request) (err error) {
	switch r.kind {
	case kindOpenProducer, kindOpenWorker:
		if r.opening, err = readOpening(&r.body, r.kind); err != nil {
			return err
		}
	case kindEnqueue, kindClaim, kindComplete, kindFail:
		if err := c.prepare(r); err != nil {
			return err
		}
	default:
		return errors.New("there is no such kind of call")
	}
	select {
	case c.next <- r:
	default:
		c.calls.Go(func() { c.serve(r) })
	}
	return nil
}

// serve makes a call, and then others, until no more calls are read.
func (c *connection) serve(r *request) {
	for ok := true; ok; r, ok = <-c.next {
		c.do(r)
		c.send(r)
	}
}

// prepare finds the session of a call and reads the rest of its body.
func (c *connection) prepare(r *request) (err error) {
	number := r.body.uint32("the session")
	c.mu.Lock()
	r.session = c.sessions[number]
	c.mu.Unlock()
	if r.session == nil {
		return fmt.Errorf("session %d is not open", number)
	}
	if (r.kind == kindEnqueue) != (r.session.producer != nil) {
		return fmt.Errorf("session %d is of the other sort: producers enqueue, and workers do the rest", number)
	}
	switch r.kind {
	case kindEnqueue:
		r.tasks, err = readTasks(&r.body, r.session.tenant, r.session.names, r.tasks)
	case kindClaim:
		room := r.body.count(tasksMax, "tasks")
		if err := r.body.end(); err != nil {
			return err
		}
		if room == 0 {
			return errors.New("a claim of no task")
		}
		r.deliveries = sized(r.deliveries, room)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.claims[r.call] != nil {
			return errors.New("the call was made already")
		}
		r.claim, c.claims[r.call] = context.WithCancel(c.ctx)
	default:
		r.handles, err = readHandles(&r.body, r.handles)
	}
	return err
}

// sized returns a slice of a length, of zero values, which takes the memory of another one if that is large enough.
func sized[E any](of []E, n int) []E {
	if cap(of) < n {
		return make([]E, n)
	}
	of = of[:n]
	clear(of)
	return of
}

// cancel ends a claim, if it is under way.
func (c *connection) cancel(call uint64) {
	c.mu.Lock()
	end := c.claims[call]
	c.mu.Unlock()
	if end != nil {
		end()
	}
}

// opened opens a session and makes the answer.
func (c *connection) opened(r *request) {
	s, canFail, err := c.session(r)
	if err != nil {
		r.failed(err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.sessions[r.opening.session] != nil:
		r.failed(fmt.Errorf("session %d is open already", r.opening.session))
		return
	case len(c.sessions) == sessionsMax:
		r.failed(fmt.Errorf("more than %d sessions", sessionsMax))
		return
	}
	c.sessions[r.opening.session] = s
	can := byte(0)
	if canFail {
		can = 1
	}
	r.answer = append(beginFrame(r.answer, kindOpened, r.call), can)
}

func (c *connection) session(r *request) (s *session, canFail bool, err error) {
	s = &session{tenant: r.opening.tenant, names: names{}}
	if r.kind == kindOpenProducer {
		s.producer, err = c.driver.Producer(c.ctx, r.opening.tenant)
		return s, false, err
	}
	s.worker, err = c.driver.Worker(c.ctx, r.opening.tenant, r.opening.queues, r.opening.slots)
	_, canFail = s.worker.(driver.Failer)
	return s, canFail, err
}

// failed makes the answer to a call that failed.
func (r *request) failed(err error) {
	r.answer = appendReason(beginFrame(r.answer, kindFailed, r.call), err)
}

// do passes a call on and makes the answer.
func (c *connection) do(r *request) {
	switch r.kind {
	case kindOpenProducer, kindOpenWorker:
		c.opened(r)
	case kindEnqueue:
		r.outcomes = sized(r.outcomes, len(r.tasks))
		r.settled(r.session.producer.Enqueue(c.ctx, r.tasks, r.outcomes))
	case kindClaim:
		c.claim(r)
	default:
		var err error
		if r.deliveries, err = c.claimed.take(r.handles, r.deliveries); err != nil {
			r.failed(err)
			return
		}
		r.outcomes = sized(r.outcomes, len(r.deliveries))
		if r.kind == kindComplete {
			r.settled(r.session.worker.Complete(c.ctx, r.deliveries, r.outcomes))
			return
		}
		worker, can := r.session.worker.(driver.Failer)
		if !can {
			r.failed(errors.New("the target can't fail tasks"))
			return
		}
		r.settled(worker.Fail(c.ctx, r.deliveries, r.outcomes))
	}
}

// settled makes the answer to a call with outcomes.
func (r *request) settled(err error) {
	if err != nil {
		r.failed(err)
		return
	}
	r.answer = appendOutcomes(beginFrame(r.answer, kindOutcomes, r.call), r.outcomes)
}

// claim waits for tasks and makes the answer.
func (c *connection) claim(r *request) {
	n, err := r.session.worker.Claim(r.claim, r.deliveries)
	c.mu.Lock()
	end := c.claims[r.call]
	delete(c.claims, r.call)
	c.mu.Unlock()
	end()
	if err != nil {
		r.failed(err)
		return
	}
	if r.handles, err = c.claimed.put(r.deliveries[:n], r.handles); err != nil {
		r.failed(err)
		return
	}
	r.answer = appendDeliveries(beginFrame(r.answer, kindTasks, r.call), r.handles, r.deliveries)
}

// send sends the answer to a call. An answer that is too large becomes one that says so.
func (c *connection) send(r *request) {
	frame, err := endFrame(r.answer)
	if err != nil {
		r.failed(err)
		frame, _ = endFrame(r.answer) // a reason is short
	}
	c.open.Add(-1)
	if err := c.out.write(c.ctx, frame); err != nil {
		c.end() // Prony has closed its end, so that no answer can be sent
	}
	r.put()
}
