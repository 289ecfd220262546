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

// Node is one process of a server, from its start to its end. It is safe for concurrent use. Its
// addresses are known only after a wait for its start has returned. The addresses of a node of a
// cluster are known from the beginning, and are the same for all processes of the node.
type Node struct {
	// Address is the address for clients, in the format of driver.Target. It is "127.0.0.1:port",
	// "unix:/path", or the address and a port of a separate host.
	Address string
	HTTP    string // REST listener, "127.0.0.1:port"; "" if there is none
	Admin   string // admin listener, "127.0.0.1:port"
	PID     int    // ID of this process for an embedded server; 0 for a server on another host
	// Remote is set for a server on another host, which has no process on this host.
	Remote bool
	// Dial connects to a server inside this process. It is nil for any other server.
	Dial func(ctx context.Context) (net.Conn, error)
	// Began is the start time of the process, with a monotonic reading.
	Began time.Time

	tokenFile string
	settings  []result.ServerSetting // set before the node is reported as ready
	server    *Server
	command   []string
	process   life
	noted     chan struct{} // closed when the cluster has recorded the end of the process
	endedAt   time.Time     // set before noted is closed
	killed    atomic.Bool   // set if kill sent SIGKILL; the end is then not a failure
	ending    atomic.Bool   // set if end sent SIGTERM; an end with status 0 is then not a failure
}

// startNode starts a process of a server. It does not wait until the server is ready.
func startNode(s *Server, logMode int) (*Node, error) {
	log, err := os.OpenFile(s.logPath, os.O_WRONLY|os.O_CREATE|logMode, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create the server's log: %w", err)
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
	// A child that was started has its own copy of the log's descriptor.
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

// Exited returns a channel that is closed when the process has ended.
func (n *Node) Exited() <-chan struct{} { return n.process.Done() }

// Running reports whether the process has not ended.
func (n *Node) Running() bool {
	select {
	case <-n.process.Done():
		return false
	default:
		return true
	}
}

// ExitError returns the reason why the process ended: a *ServerError if it ended unexpectedly or
// with an error. It returns nil while the process is running, after a kill, and if the process
// ended with status 0 on request.
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

// CPU returns the user and system CPU time that the process had used when it ended. It returns 0
// while the process is running. It always returns 0 for an embedded server, because the CPU time of
// such a server cannot be separated from that of this process.
func (n *Node) CPU() time.Duration {
	if n.Running() {
		return 0
	}
	return n.process.CPU()
}

// end ends the process with SIGTERM. If the process has not ended after a timeout, end kills it
// with SIGKILL and returns an error.
func (n *Node) end(ctx context.Context) error {
	if !n.Running() {
		return n.ExitError()
	}
	n.ending.Store(true)
	// A stopped process handles no signal except SIGCONT and SIGKILL.
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
		return errors.Join(n.fail("the server was killed: it had not ended when the wait was cancelled", ctx.Err()), err)
	}
}

func (n *Node) kill() error {
	if !n.Running() {
		return nil
	}
	n.killed.Store(true)
	return n.process.Kill()
}

// LastLines returns at most count last lines of the server's log, oldest first.
func (n *Node) LastLines(count int) ([]string, error) {
	lines, err := proc.LastLines(n.server.logPath, count)
	if err != nil {
		return nil, fmt.Errorf("read the server's log: %w", err)
	}
	return lines, nil
}
