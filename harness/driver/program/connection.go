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

// connection is the program's end of a conn. It forwards calls to a driver. Each goroutine makes
// one call at a time and is reused for further calls, because a new goroutine would first have to
// grow its stack.
type connection struct {
	socket net.Conn
	driver driver.Conn
	out    *writer

	ctx context.Context // parent context of all calls
	end context.CancelFunc
	// passes a request to an idle goroutine; closed when no more calls are read
	next    chan *request
	calls   sync.WaitGroup // waits for the goroutines
	open    atomic.Int64   // number of unanswered calls
	claimed claimed

	mu       sync.Mutex
	sessions map[uint32]*session
	claims   map[uint64]context.CancelFunc // cancels claims that are in progress
}

type session struct {
	tenant   string
	producer driver.Producer // nil for a worker
	worker   driver.Worker   // nil for a producer
	names    names           // used only by the reading goroutine
}

// request is a call in progress. Its memory is reused after the call is answered.
type request struct {
	kind kind
	call uint64
	body body

	session    *session
	opening    opening
	claim      context.Context // context of a claim; a cancel frame ends it
	frame      []byte          // the received frame
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

// serveConnection forwards calls until the other side closes the connection or violates the
// protocol, or until ctx is done. It then waits until no call is in progress, closes the driver's
// connection and the socket, and returns.
func serveConnection(ctx context.Context, socket net.Conn, to driver.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	c := &connection{
		socket: socket, driver: to, out: newWriter(socket), ctx: ctx, end: cancel, next: make(chan *request), sessions: map[uint32]*session{},
		claims: map[uint64]context.CancelFunc{},
	}
	stop := context.AfterFunc(ctx, func() { _ = socket.Close() }) // ends the reading goroutine
	failed := c.read()
	stopped := stop()
	cancel()
	close(c.next)
	c.calls.Wait()
	failed = errors.Join(failed, to.Close())
	if stopped { // otherwise the socket is already closed
		frame := beginFrame(nil, kindClosed, 0)
		if failed == nil {
			frame = appendText(frame, "")
		} else {
			frame = appendReason(frame, failed)
		}
		if frame, err := endFrame(frame); err == nil {
			// The write fails if the other side has closed the connection.
			_ = c.out.write(context.Background(), frame)
		}
	}
	_ = socket.SetWriteDeadline(time.Now().Add(closeMax)) // fails only on a closed socket
	c.out.close()
	_ = socket.Close() // fails only on a closed socket
	return failed
}

// read reads calls and starts them. It returns nil when the other side has closed its end of the
// connection.
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
			return fmt.Errorf("%d calls are not answered; the maximum is %d", n, callsMax)
		}
		if err := c.start(r); err != nil {
			return fmt.Errorf("a frame of kind 0x%x, call %d: %w", uint8(r.kind), r.call, err)
		}
	}
}

// start decodes the body of a call and starts the call. It returns an error if the call violates
// the protocol.
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
		return errors.New("unknown kind of call")
	}
	select {
	case c.next <- r:
	default:
		c.calls.Go(func() { c.serve(r) })
	}
	return nil
}

// serve makes the call r. It then makes further calls until no more calls are read.
func (c *connection) serve(r *request) {
	for ok := true; ok; r, ok = <-c.next {
		c.do(r)
		c.send(r)
	}
}

// prepare looks up the session of a call and decodes the rest of the call's body.
func (c *connection) prepare(r *request) (err error) {
	number := r.body.uint32("the session")
	c.mu.Lock()
	r.session = c.sessions[number]
	c.mu.Unlock()
	if r.session == nil {
		return fmt.Errorf("session %d is not open", number)
	}
	if (r.kind == kindEnqueue) != (r.session.producer != nil) {
		return fmt.Errorf("session %d has the wrong type: producers enqueue, workers claim, complete and fail", number)
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
			return errors.New("a claim of 0 tasks")
		}
		r.deliveries = sized(r.deliveries, room)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.claims[r.call] != nil {
			return errors.New("the call was already made")
		}
		r.claim, c.claims[r.call] = context.WithCancel(c.ctx)
	default:
		r.handles, err = readHandles(&r.body, r.handles)
	}
	return err
}

// sized returns a slice of length n with zero values. It reuses the memory of the given slice if
// its capacity is large enough.
func sized[E any](of []E, n int) []E {
	if cap(of) < n {
		return make([]E, n)
	}
	of = of[:n]
	clear(of)
	return of
}

func (c *connection) cancel(call uint64) {
	c.mu.Lock()
	end := c.claims[call]
	c.mu.Unlock()
	if end != nil {
		end()
	}
}

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

func (r *request) failed(err error) {
	r.answer = appendReason(beginFrame(r.answer, kindFailed, r.call), err)
}

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

func (r *request) settled(err error) {
	if err != nil {
		r.failed(err)
		return
	}
	r.answer = appendOutcomes(beginFrame(r.answer, kindOutcomes, r.call), r.outcomes)
}

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

// send sends the answer to a call. If the answer is too large, it sends an error instead.
func (c *connection) send(r *request) {
	frame, err := endFrame(r.answer)
	if err != nil {
		r.failed(err)
		frame, _ = endFrame(r.answer) // cannot fail: a reason is short
	}
	c.open.Add(-1)
	if err := c.out.write(c.ctx, frame); err != nil {
		c.end() // Prony has closed its end, so no answer can be sent
	}
	r.put()
}
