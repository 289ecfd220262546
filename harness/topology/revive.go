package topology

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// statusKilled is the status of a process that SIGKILL ended.
const statusKilled = "signal: killed"

// Revived is a server that had ended by itself and was started again.
type Revived struct {
	Server  string // its id
	Failure *ServerError
	Killed  bool          // SIGKILL ended it, which another process or the kernel must have sent
	Ended   time.Time     // when it had ended
	Down    time.Duration // until it was ready again
}

// Revive starts all servers again that do not run, on the data, the ports and the logs that they had, and returns when all servers are
// ready and every shard has a leader. Failed and Failure then begin anew. It returns those that had ended by themselves, also beside an
// error; a server that was killed or stopped by the caller is not among them. A paused server goes on.
func (c *Cluster) Revive(ctx context.Context) (revived []Revived, err error) {
	dead := c.takeFailures()
	for _, s := range dead {
		n := s.Node()
		var failure *ServerError
		if errors.As(n.ExitError(), &failure) {
			revived = append(revived, Revived{Server: s.ID, Failure: failure, Killed: failure.Status == statusKilled, Ended: n.endedAt})
		}
	}
	defer func() {
		for i := range revived {
			revived[i].Down = time.Since(revived[i].Ended)
		}
		if err != nil {
			err = fmt.Errorf("start servers again that had ended: %w", err)
		}
	}()
	for _, s := range dead {
		if err := s.Start(ctx); err != nil {
			return revived, err
		}
	}
	err = c.each(func(s *Server) error {
		if err := s.Resume(); err != nil {
			return err
		}
		return s.WaitReady(ctx)
	})
	if err != nil {
		return revived, err
	}
	return revived, c.WaitForLeaders(ctx)
}

// takeFailures returns the servers that do not run, and forgets why. One that ends later is a failure anew.
func (c *Cluster) takeFailures() (dead []*Server) {
	for _, s := range c.servers {
		if n := s.Node(); !n.Running() {
			<-n.noted
		}
	}
	c.failing.Lock()
	defer c.failing.Unlock()
	for _, s := range c.servers {
		select {
		case <-s.Node().noted:
			dead = append(dead, s)
		default:
		}
	}
	if c.failure != nil {
		c.failure, c.failed = nil, make(chan struct{})
	}
	return dead
}
