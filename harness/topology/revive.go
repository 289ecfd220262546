package topology

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// statusKilled is the status of a process that SIGKILL ended.
const statusKilled = "signal: killed"

// Revived describes a server that ended unexpectedly and was started again.
type Revived struct {
	Server  string // ID of the server
	Failure *ServerError
	Killed  bool          // set if SIGKILL ended it; another process or the kernel sent the signal
	Ended   time.Time     // when it ended
	Down    time.Duration // time until it was ready again
}

// Revive restarts all servers that are not running, with their existing data, ports and logs. It
// returns when all servers are ready and every shard has a leader. It resets Failed and Failure,
// and resumes paused servers. revived contains the servers that had ended unexpectedly, but not
// those that the caller killed or stopped. It is valid even if Revive returns an error.
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
			err = fmt.Errorf("restart ended servers: %w", err)
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

// takeFailures returns the servers that are not running, and resets the failure. If another server
// ends later, this is a new failure.
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
