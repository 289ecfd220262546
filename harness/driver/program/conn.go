package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/driver"
)

const (
	// cancelMax bounds the wait for the answer to a cancelled claim.
	cancelMax = 5 * time.Second
	// closeMax bounds the time to close a connection: to write the pending frames, and to wait
	// until the program has ended its sessions.
	closeMax = 10 * time.Second
	// readBufferBytes bounds the size of one read.
	readBufferBytes = 64 << 10
)

// conn implements driver.Conn over a connection to a program. The calls of all sessions are
// pipelined over this connection.
type conn struct {
	socket net.Conn
	out    *writer
	status func() string // returns the status of the program's process
	free   chan struct{} // contains an element for each unanswered call
	over   chan struct{} // closed when the reading goroutine ends

	closing sync.Once
	closed  error // result of the first Close

	mu       sync.Mutex
	calls    map[uint64]*call // unanswered calls by ID; the value is nil for an abandoned call
	last     uint64
	sessions uint32
	closes   bool  // set when Close was called
	ended    error // why the connection has ended; nil while it is open
}

// call is a call that waits for its answer. The goroutine that made the call owns it. The reading
// goroutine owns it from its registration in conn.calls until ready receives an element.
type call struct {
	ready chan struct{} // receives one element when the answer has arrived
	frame []byte

	// The answer is stored in these fields:
	outcomes []error
	into     []driver.Delivery
	worker   *worker // set only for a claim
	n        int
	canFail  bool
	err      error
}

var calls = sync.Pool{New: func() any { return &call{ready: make(chan struct{}, 1)} }}

func newCall() *call { return calls.Get().(*call) }

func (c *call) put() {
	*c = call{ready: c.ready, frame: c.frame}
	calls.Put(c)
}

func newConn(socket net.Conn, status func() string) *conn {
	c := &conn{
		socket: socket, out: newWriter(socket), status: status, free: make(chan struct{}, callsMax),
		over: make(chan struct{}), calls: map[uint64]*call{},
	}
	go c.read()
	return c
}

// begin allocates the ID of a call. While callsMax calls are unanswered, it waits.
func (c *conn) begin(ctx context.Context) (id uint64, err error) {
	select {
	case c.free <- struct{}{}:
	default:
		select {
		case c.free <- struct{}{}:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-c.over:
			return 0, c.end()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	return c.last, c.ended
}

// do makes a call with the body that body appends to its frame, and waits for the answer. If ctx is
// done first, the call continues in the program, and its answer is dropped. A claim is cancelled
// instead, and do returns the tasks that the program had already claimed.
func (c *conn) do(ctx context.Context, k kind, of *call, body func([]byte) ([]byte, error)) error {
	id, err := c.begin(ctx)
	if err != nil {
		return err
	}
	if of.frame, err = body(beginFrame(of.frame, k, id)); err == nil {
		of.frame, err = endFrame(of.frame)
	}
	if err != nil {
		<-c.free
		of.put()
		return err
	}
	c.mu.Lock()
	if c.ended != nil {
		c.mu.Unlock()
		return c.ended
	}
	c.calls[id] = of
	c.mu.Unlock()
	if err := c.out.write(ctx, of.frame); err != nil {
		if c.drop(id, false) {
			<-c.free
			return c.because(err)
		}
		<-of.ready // receives when the connection has ended
		return of.err
	}
	select {
	case <-of.ready:
		return of.err
	case <-ctx.Done():
	}
	if of.worker != nil {
		c.cancel(id)
		timer := time.NewTimer(cancelMax)
		defer timer.Stop()
		select {
		case <-of.ready:
			if of.err != nil {
				return context.Cause(ctx)
			}
			return nil
		case <-timer.C:
		}
	}
	if c.drop(id, true) {
		return context.Cause(ctx)
	}
	<-of.ready
	return of.err
}

// drop removes a call. If its frame was sent, its answer will be ignored. It returns false if the
// call has been answered or removed.
func (c *conn) drop(id uint64, sent bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, is := c.calls[id]
	if delete(c.calls, id); is && sent {
		c.calls[id] = nil
	}
	return is
}

func (c *conn) cancel(id uint64) {
	ctx, stop := context.WithTimeout(context.Background(), cancelMax)
	defer stop()
	frame, err := endFrame(beginFrame(nil, kindCancel, id))
	if err == nil {
		_ = c.out.write(ctx, frame) // an ended connection needs no cancel
	}
}

// because returns the reason for a failed write. If the program sent a reason for the end of the
// connection, it returns that reason.
func (c *conn) because(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	select { // the program may have sent a reason
	case <-c.over:
		return c.end()
	case <-time.After(cancelMax):
		return fmt.Errorf("write to the program: %w", err)
	}
}

func (c *conn) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// read reads answers until the connection ends. It then fails the calls that are still unanswered.
func (c *conn) read() {
	defer close(c.over)
	err := c.answers()
	_ = c.socket.Close() // ends the writing goroutine
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = err
	for id, of := range c.calls {
		delete(c.calls, id)
		if of != nil {
			of.err = err
			of.ready <- struct{}{}
		}
	}
}

// errEnd is the reason when Close ended the connection.
var errEnd = errors.New("the connection to the program is closed")

// answers reads answers until the connection ends. It returns the reason for the end.
func (c *conn) answers() error {
	in := bufio.NewReaderSize(c.socket, readBufferBytes)
	var buffer []byte
	for {
		f, err := readFrame(in, &buffer)
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the program closed the connection without a reason; its process is %s", c.status())
		case err != nil:
			return fmt.Errorf("read from the program, whose process is %s: %w", c.status(), err)
		case f.kind == kindClosed:
			return c.closedBecause(&f)
		}
		if f.kind == kindTasks {
			buffer = nil // the deliveries refer to the old buffer
		}
		if err := c.answer(&f); err != nil {
			return fmt.Errorf("the program broke the protocol: %w", err)
		}
	}
}

func (c *conn) closedBecause(f *frame) error {
	reason := string(f.body.text("a reason"))
	if err := f.body.end(); err != nil {
		return fmt.Errorf("the program broke the protocol: the frame with the reason for the close: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if reason == "" && c.closes {
		return errEnd
	}
	if reason == "" {
		reason = "no reason given"
	}
	return fmt.Errorf("the program closed the connection: %s", reason)
}

// answer processes the answer to a call. It returns an error if the frame is invalid.
func (c *conn) answer(f *frame) error {
	c.mu.Lock()
	of, is := c.calls[f.call]
	delete(c.calls, f.call)
	c.mu.Unlock()
	if !is {
		return fmt.Errorf("an answer of kind 0x%x to call %d, which is unknown or was answered before", uint8(f.kind), f.call)
	}
	<-c.free
	if of == nil {
		return nil
	}
	var err error
	switch {
	case f.kind == kindFailed:
		reason := string(f.body.text("a reason"))
		if err = f.body.end(); err == nil {
			of.err = fmt.Errorf("the program: %s", reason)
		}
	case f.kind == kindOutcomes && of.outcomes != nil:
		err = readOutcomes(&f.body, of.outcomes)
	case f.kind == kindTasks && of.worker != nil:
		of.n, err = readDeliveries(&f.body, of.worker.tenant, of.worker.names, of.into)
	case f.kind == kindOpened && of.outcomes == nil && of.worker == nil:
		of.canFail = f.body.uint8("the session's abilities") != 0
		err = f.body.end()
	default:
		err = errors.New("the kind does not match the call")
	}
	if err != nil {
		err = fmt.Errorf("the answer of kind 0x%x to call %d: %w", uint8(f.kind), f.call, err)
		of.err = fmt.Errorf("the program broke the protocol: %w", err)
	}
	of.ready <- struct{}{}
	return err
}

// Close ends all sessions in the program. Calls that are still unanswered fail.
func (c *conn) Close() error {
	c.closing.Do(func() { c.closed = c.close() })
	return c.closed
}

func (c *conn) close() error {
	c.mu.Lock()
	c.closes = true
	c.mu.Unlock()
	_ = c.socket.SetDeadline(time.Now().Add(closeMax)) // fails only on a closed socket
	c.out.close()
	if half, ok := c.socket.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // fails only on a closed socket
	}
	<-c.over
	if err := c.end(); !errors.Is(err, errEnd) {
		return fmt.Errorf("close the connection: %w", err)
	}
	return nil
}
