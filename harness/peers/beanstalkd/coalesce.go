package beanstalkd

import (
	"net"
	"sync"
	"time"
)

// coalescing is a connection whose writes wait for each other and then go out as one. The client flushes after each command; with
// many commands under way, one system call then serves many of them. A read fails when no answer comes for answerMax after the last write.
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

// Write implements io.Writer. The first caller writes all that others add meanwhile. What is waiting is bounded by the commands under way, since
// each waits for its answer.
//
// Write never fails. A write that failed closes the connection instead, so that each command fails when it reads its answer: the client reads
// answers in the order of the commands, and would wait forever for the turn of one that failed before.
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
			_ = c.Close() // the readers say what failed
		}
		c.mu.Lock()
	}
	c.writing = false
	return len(p), nil
}
