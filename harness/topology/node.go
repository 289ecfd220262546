package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pronybench/prony/harness/proc"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Node is one process of a server, from its start to its end. Its methods may be called from any goroutine. Its addresses
// are known once it has been waited for; those of a cluster's node from the start, and each of its processes has the same.
type Node struct {
	Address string // where clients connect: "127.0.0.1:port", with hosts the host's address and a port, or "unix:/path", as driver.Target wants it
	HTTP    string // where REST is served: "127.0.0.1:port"; "" where the server has none
	Admin   string // the admin listener: "127.0.0.1:port"
	PID     int    // of a server that is a part of this process, this one's; 0 of a server on another host
	// Remote is set of a server on another host, which has no process here to look at.
	Remote bool
	// Dial connects to a server that is a part of this process; nil of any other.
	Dial func(ctx context.Context) (net.Conn, error)
	// Began is when the process was started, with monotonic reading.
	Began time.Time

	tokenFile string
	settings  []result.ServerSetting // set before the node serves
	server    *Server
	command   []string
	process   life
	noted     chan struct{} // closed when the cluster knows of its end
	endedAt   time.Time     // set before noted is closed
	killed    atomic.Bool   // SIGKILL was sent by kill, so an end by it is no failure
	ending    atomic.Bool   // SIGTERM was sent by end, so an end with status 0 is no failure
}

// startNode starts a server's process and does not wait for it to serve.
func startNode(s *Server, logMode int) (*Node, error) {
	log, err := os.OpenFile(s.logPath, os.O_WRONLY|os.O_CREATE|logMode, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make the server's log: %w", err)
	}
	if s.remote != nil {
		return s.remote.start(s, log)
	}
	config := s.cluster.config
	if config.Topology.Kind == scenario.Embedded {
		return startEmbedded(s, log)
	}
	command := append([]string{config.Binary}, s.arguments()...)
	env := slices.Clip(config.Env)
	if procs := config.Topology.Procs; procs > 0 {
		env = append(env, fmt.Sprintf("GOMAXPROCS=%d", procs))
	}
	began := time.Now()
	child, err := startProcess(command, env, log, proc.Settings{CPUs: config.CPUs, Namespace: s.namespace, SmallPages: config.SmallPages})
	// The child has its own descriptor of the log, or there is no child.
	if err = errors.Join(err, log.Close()); err != nil {
		if child != nil {
			err = errors.Join(err, child.Kill())
		}
		return nil, err
	}
	return &Node{
		Address: s.ports.listen.address, HTTP: s.ports.http.address, Admin: s.ports.admin.address,
		PID: child.PID(), Began: began, server: s, command: command, process: child, noted: make(chan struct{}),
	}, nil
}

// Exited is closed when the process has ended, for whatever reason.
func (n *Node) Exited() <-chan struct{} { return n.process.Done() }

// Running tells whether the process has not ended yet.
func (n *Node) Running() bool {
	select {
	case <-n.process.Done():
		return false
	default:
		return true
	}
}

// ExitError says why the process ended: a *ServerError when it ended unasked or with an error; nil
// while it runs, after a kill, and after it was asked to end and did so with status 0.
func (n *Node) ExitError() error {
	switch {
	case n.Running(), n.killed.Load():
		return nil
	case !n.ending.Load():
		return n.fail("the server ended by itself", nil)
	case !n.process.Orderly():
		return n.fail("the server did not end in order", nil)
	}
	return nil
}

// CPU returns the CPU time, user and system, that the process had used when it ended. It is 0 while the process runs, and for an
// embedded server, whose CPU time cannot be separated from this process's.
func (n *Node) CPU() time.Duration {
	if n.Running() {
		return 0
	}
	return n.process.CPU()
}

// end ends the process in order, or with SIGKILL when that takes too long, which is an error.
func (n *Node) end(ctx context.Context) error {
	if !n.Running() {
		return n.ExitError()
	}
	n.ending.Store(true)
	// A stopped process gets no other signal until it goes on.
	if err := errors.Join(n.process.Signal(syscall.SIGTERM), n.process.Signal(syscall.SIGCONT)); err != nil {
		return errors.Join(err, n.process.Kill())
	}
	limit := n.server.cluster.config.StopTimeout
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-n.process.Done():
		return n.ExitError()
	case <-timer.C:
		err := n.process.Kill()
		return errors.Join(n.fail(fmt.Sprintf("the server was killed: it did not end within %s of SIGTERM", limit), nil), err)
	case <-ctx.Done():
		err := n.process.Kill()
		return errors.Join(n.fail("the server was killed: it had not ended when the wait for it was given up", ctx.Err()), err)
	}
}

// kill ends the process as a crash would, and returns when it is gone.
func (n *Node) kill() error {
	if !n.Running() {
		return nil
	}
	n.killed.Store(true)
	return n.process.Kill()
}

// LastLines returns the last lines of the server's log, at most count, oldest first.
func (n *Node) LastLines(count int) ([]string, error) {
	lines, err := proc.LastLines(n.server.logPath, count)
	if err != nil {
		return nil, fmt.Errorf("read the server's log: %w", err)
	}
	return lines, nil
}
