//go:build unix

package busypoll

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"google.golang.org/grpc/mem"
)

// polling returns a connection that polls. If c does not allow polling, it returns c.
func polling(c net.Conn, max time.Duration, shared *pollers) net.Conn {
	var raw syscall.RawConn
	var err error
	socket := c
	// c may be a wrapper that counts bytes and does not change them.
	if wrapped, ok := c.(interface{ Socket() net.Conn }); ok {
		socket = wrapped.Socket()
	}
	switch c := socket.(type) {
	case *net.TCPConn:
		raw, err = c.SyscallConn()
	case *net.UnixConn:
		raw, err = c.SyscallConn()
	}
	if raw == nil || err != nil {
		return c
	}
	p := &pollingConn{Conn: c, raw: raw, habit: habit{max: max, shared: shared}}
	p.attempt = p.readOnce
	return p
}

// pollingConn reads without blocking while its habit predicts that polling succeeds. It polls the
// socket directly, because a goroutine that yields in a loop prevents the scheduler of a single
// processor from polling the network.
type pollingConn struct {
	net.Conn

	raw     syscall.RawConn
	attempt func(fd uintptr) bool
	habit   habit

	// The following fields are the state of the current read.
	size int
	pool mem.BufferPool
	// buffer comes from pool. It is nil while the connection waits, so that idle connections need
	// no buffer.
	buffer *[]byte
	wait   bool
	from   time.Duration // start of the wait, by now; 0 if the read did not wait
	n      int
	err    error
}

// readOnce reads without blocking. It returns false if there is no data and the read should wait.
func (p *pollingConn) readOnce(fd uintptr) bool {
	if p.buffer == nil {
		p.buffer = p.pool.Get(p.size)
	}
	for {
		p.n, p.err = syscall.Read(int(fd), *p.buffer)
		if p.err != syscall.EINTR { //nolint:errorlint // syscall.Read returns it unwrapped; hot
			break
		}
	}
	if !p.empty() {
		return true
	}
	if p.wait {
		p.pool.Put(p.buffer)
		p.buffer = nil
		if p.from == 0 {
			p.from = p.habit.shared.now()
		}
	}
	return !p.wait
}

func (p *pollingConn) empty() bool {
	return p.err == syscall.EAGAIN //nolint:errorlint // see readOnce
}

// try reads without waiting, and returns false if there was no data. If the connection is closed or
// its deadline has passed, p.err is set.
func (p *pollingConn) try() bool {
	if err := p.raw.Read(p.attempt); err != nil {
		p.err = err
	}
	return !p.empty()
}

// read waits until it has read data or an error has occurred.
func (p *pollingConn) read() {
	p.from, p.wait = 0, !p.habit.active
	if !p.try() {
		if p.habit.begin() {
			found := p.habit.poll(p.try)
			p.habit.end(found)
			if found {
				return
			}
		}
		p.wait = true
		p.try()
	}
	if p.from != 0 {
		p.habit.waited(p.from, p.habit.shared.now())
	}
}

// ReadOnReady waits until there is data, takes a buffer from the pool, and reads into the buffer.
// gRPC calls it instead of Read, unless another wrapper hides it.
func (p *pollingConn) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	p.size, p.pool, p.n, p.err = size, pool, 0, nil
	p.read()
	buffer, n, err := p.buffer, p.n, p.err
	p.buffer, p.pool = nil, nil
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		err = &net.OpError{Op: "read", Net: p.LocalAddr().Network(), Source: p.LocalAddr(), Addr: p.RemoteAddr(), Err: os.NewSyscallError("read", err)}
	case err == nil && n == 0:
		err = io.EOF
	}
	if err == nil {
		return buffer, n, nil
	}
	if buffer != nil {
		pool.Put(buffer)
	}
	return nil, 0, err
}

// Read implements net.Conn.
func (p *pollingConn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	_, n, err := p.ReadOnReady(len(b), &given{b})
	return n, err
}

// given is a pool that contains only the caller's buffer.
type given struct{ b []byte }

func (g *given) Get(int) *[]byte { return &g.b }
func (*given) Put(*[]byte)       {}
