package topology

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Node is a running server. Its methods may be called from any goroutine.
type Node struct {
	Address string // where clients connect: "127.0.0.1:port" or "unix:/path", as driver.Target wants it
	HTTP    string // where REST is served: "127.0.0.1:port"; "" where the server has none
	Admin   string // the admin listener: "127.0.0.1:port"
	Token   string // what it wants to be asked with; "" where it wants none
	PID     int
	// Began is when the process was started, with monotonic reading.
	Began time.Time

	config  Config
	command []string
	place   folders
	process *process
	killed  atomic.Bool // SIGKILL was sent by Kill, so an end by it is no failure
	ending  atomic.Bool // SIGTERM was sent by Stop, so an end with status 0 is no failure

	stop    sync.Once
	stopErr error
}

// startNode starts the server's process and does not wait for it to serve.
func startNode(config Config, place folders, args []string, logMode int) (*Node, error) {
	log, err := os.OpenFile(config.LogPath, os.O_WRONLY|os.O_CREATE|logMode, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make the server's log: %w", err)
	}
	command := append([]string{config.Binary}, args...)
	env := slices.Clip(config.Env)
	if procs := config.Topology.Procs; procs > 0 {
		env = append(env, fmt.Sprintf("GOMAXPROCS=%d", procs))
	}
	began := time.Now()
	child, err := startProcess(command, env, log)
	// The child has its own descriptor of the log, or there is no child.
	if err = errors.Join(err, log.Close()); err != nil {
		if child != nil {
			err = errors.Join(err, child.kill())
		}
		return nil, err
	}
	return &Node{PID: child.cmd.Process.Pid, Began: began, config: config, command: command, place: place, process: child}, nil
}

// Exited is closed when the server's process has ended, for whatever reason.
func (n *Node) Exited() <-chan struct{} { return n.process.exited }

// ExitError says why the server ended: a *ServerError when it ended unasked or with an error; nil
// while it runs, after Kill, and after a Stop on which it ended with status 0.
func (n *Node) ExitError() error {
	select {
	case <-n.process.exited:
	default:
		return nil
	}
	switch {
	case n.killed.Load():
		return nil
	case !n.ending.Load():
		return n.fail("the server ended by itself", nil)
	case n.process.waitErr != nil:
		return n.fail("the server did not end in order", nil)
	}
	return nil
}

// Stop ends the server and removes its folders: SIGTERM, then SIGKILL when it has not ended within
// the configured time or when ctx is done, which is an error. An exit status other than 0, also of
// a server that ended before, is an error. It must be called once for each Node; further calls
// return what the first one did. The log is kept.
func (n *Node) Stop(ctx context.Context) error {
	n.stop.Do(func() {
		if err := errors.Join(n.end(ctx), n.place.remove()); err != nil {
			n.stopErr = fmt.Errorf("stop topology: %w", err)
		}
	})
	return n.stopErr
}

func (n *Node) end(ctx context.Context) error {
	select {
	case <-n.process.exited:
		return n.ExitError()
	default:
	}
	n.ending.Store(true)
	if err := n.process.signal(syscall.SIGTERM); err != nil {
		return errors.Join(err, n.process.kill())
	}
	timer := time.NewTimer(n.config.StopTimeout)
	defer timer.Stop()
	select {
	case <-n.process.exited:
		return n.ExitError()
	case <-timer.C:
		err := n.process.kill()
		return errors.Join(n.fail(fmt.Sprintf("the server was killed: it did not end within %s of SIGTERM", n.config.StopTimeout), nil), err)
	case <-ctx.Done():
		err := n.process.kill()
		return errors.Join(n.fail("the server was killed: it had not ended when the wait for it was given up", ctx.Err()), err)
	}
}

// Kill ends the server with SIGKILL, as a crash would, and returns when it is gone. Its folders
// stay until Stop.
func (n *Node) Kill() error {
	select {
	case <-n.process.exited:
		return nil
	default:
	}
	n.killed.Store(true)
	return n.process.kill()
}

// DataDir is the folder that holds all that the server stores.
func (n *Node) DataDir() string { return n.place.data }

// Ending is how a server is ended.
type Ending int

const (
	// Term is SIGTERM: the server ends in order.
	Term Ending = iota
	// Kill is SIGKILL: the server ends as in a crash.
	Kill
)

// Restart ends the server and starts it again on the data that it left, with its log continued, and returns when it is
// ready to serve. The Node that it returns takes the place of n, whose Stop does nothing any more. When it fails, also
// because the server did not end as asked, nothing but the log is left.
func (n *Node) Restart(ctx context.Context, how Ending) (next *Node, err error) {
	err = errors.New("the server was stopped or restarted before")
	n.stop.Do(func() { next, err = n.restart(ctx, how) })
	if err != nil {
		return nil, fmt.Errorf("restart topology: %w", err)
	}
	return next, nil
}

func (n *Node) restart(ctx context.Context, how Ending) (*Node, error) {
	end := n.end
	if how == Kill {
		end = func(context.Context) error { return n.kill() }
	}
	err := end(ctx)
	if err == nil {
		err = os.Remove(n.place.addressFile) // it would be taken for the next one's
	}
	if err != nil {
		return nil, errors.Join(err, n.place.remove())
	}
	return startIn(ctx, n.config, n.place, os.O_APPEND)
}

// kill is Kill for a server that must still be running.
func (n *Node) kill() error {
	select {
	case <-n.process.exited:
		return n.ExitError()
	default:
		return n.Kill()
	}
}

// discard removes a server that did not become ready.
func (n *Node) discard() error {
	return errors.Join(n.process.kill(), n.place.remove())
}

// LastLines returns the last lines of the server's log, at most count, oldest first.
func (n *Node) LastLines(count int) ([]string, error) {
	return lastLines(n.config.LogPath, count)
}
