package node

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"google.golang.org/grpc/mem"
)

// readyReader reads a socket into a buffer. It allocates the buffer only after data has arrived, so
// idle connections have no buffer. gRPC does the same for plain sockets. For a connection that
// wraps a socket, gRPC calls ReadOnReady.
type readyReader struct {
	raw  syscall.RawConn // nil if the connection is not a socket
	read func(fd uintptr) bool

	// The following fields are the state of the current read.
	size   int
	pool   mem.BufferPool
	buffer *[]byte
	n      int
	err    error
}

func (r *readyReader) open(c net.Conn) {
	var err error
	switch c := c.(type) {
	case *net.TCPConn:
		r.raw, err = c.SyscallConn()
	case *net.UnixConn:
		r.raw, err = c.SyscallConn()
	}
	if err != nil {
		r.raw = nil
	}
	r.read = r.once
}

// once reads data if it is available. Otherwise it returns false, so that the caller waits.
func (r *readyReader) once(fd uintptr) bool {
	r.buffer = r.pool.Get(r.size)
	for {
		r.n, r.err = syscall.Read(int(fd), *r.buffer)
		if !errors.Is(r.err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(r.err, syscall.EAGAIN) {
		r.pool.Put(r.buffer)
		r.buffer = nil
		return false
	}
	return true
}

// ReadOnReady waits until data is available and reads once. gRPC calls it instead of Read.
func (c *conn) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	r := &c.ready
	if r.raw == nil {
		buffer := pool.Get(size)
		n, err := c.Read(*buffer)
		if n == 0 && err != nil {
			pool.Put(buffer)
			return nil, 0, err
		}
		return buffer, n, err
	}
	r.size, r.pool, r.n, r.err = size, pool, 0, nil
	err := r.raw.Read(r.read)
	buffer, n := r.buffer, r.n
	if err == nil && r.err != nil {
		err = &net.OpError{Op: "read", Net: c.LocalAddr().Network(), Source: c.LocalAddr(), Addr: c.Conn.RemoteAddr(), Err: os.NewSyscallError("read", r.err)}
	}
	r.buffer, r.pool = nil, nil
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		if buffer != nil {
			pool.Put(buffer)
		}
		return nil, 0, err
	}
	c.read(n)
	return buffer, n, nil
}
