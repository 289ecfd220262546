package beanstalkd

import (
	"net"
	"sync"
	"time"
)

// coalescing is a connection that combines concurrent writes. The client flushes after each
// command; with many concurrent commands, one system call then serves many of them. A read fails if
// no answer arrives within answerMax after the last write.
type coalescing struct {
	net.Conn
	answerMax time.Duration

	mu      sync.Mutex
	waiting []byte
	writing bool
}

func dialCoalescing(address string, answerMax time.Duration) (*coalescing, error) {
	socket, err := net.DialTimeout("tcp", address, dialMax)
	if err != nil {
		return nil, err
	}
	return &coalescing{Conn: socket, answerMax: answerMax}, nil
}

// Write implements io.Writer. The first caller also writes everything that other callers append
// while it writes. The number of concurrent commands limits the size of the buffer, because each
// command waits for its answer.
//
// Write never fails. A failed write closes the connection instead, so that each command fails when
// it reads its answer. An error would not be sufficient: the client reads answers in the order of
// the commands, so later commands would wait forever behind a command whose write failed.
func (c *coalescing) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, p...)
	if c.writing {
		return len(p), nil
	}
	c.writing = true
	for len(c.waiting) > 0 {
		out := c.waiting
		c.waiting = nil
		c.mu.Unlock()
		_, err := c.Conn.Write(out)
		if err == nil {
			err = c.SetReadDeadline(time.Now().Add(c.answerMax))
		}
		if err != nil {
			_ = c.Close() // the readers report the error
		}
		c.mu.Lock()
	}
	c.writing = false
	return len(p), nil
}
