package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is one server of a topology over its whole life: its data folder, its ports, its log, and the processes that
// run on them one after the other. Its methods may be called from any goroutine; those that start, end or signal the
// process wait for each other. A process that ends in any other way than by these methods is a failure of the cluster.
type Server struct {
	// ID is the node's: "n1", "n2" and so on; "" of a server that stands alone.
	ID string
	// PeerAddress is where the server listens for the other nodes, "127.0.0.1:port", or with hosts the address of its host; "" of one that
	// stands alone.
	PeerAddress string

	cluster *Cluster
	place   folders // of one on this host
	remote  *remote // nil of one on this host
	logPath string
	ports   ports
	// namespace is the network namespace of its host, which is the network's; nil: that of this process.
	namespace *os.File
	peers     map[string]string // the nodes' ids, this one's too → where this one reaches them

	act   sync.Mutex // held by what starts, ends or signals the process
	wiped bool       // the data is gone, and no process has started since; guarded by act

	mu    sync.Mutex // guards the rest
	node  *Node
	spent time.Duration // CPU time of the processes before node
}

// ports are those of a server, kept for its whole life; without an address where the system chooses one at each start.
type ports struct{ listen, http, admin, peer reservation }

func (p *ports) all() []*reservation { return []*reservation{&p.listen, &p.http, &p.admin, &p.peer} }

// placeOn puts the server on a host, where all ports are its own.
func (s *Server) placeOn(host string, namespace *os.File) {
	s.namespace = namespace
	for i, p := range s.ports.all() {
		*p = reservation{descriptor: none, address: net.JoinHostPort(host, strconv.Itoa(hostPort+i))}
	}
	s.PeerAddress = s.ports.peer.address
}

// hostPort is the first port of a server on a host of its own, below those that the kernel gives to connections.
const hostPort = 7420

// reservePorts takes the ports of a node, and of any server that is kept, those that it had where they are given. The system chooses
// those of others at each start.
func (s *Server) reservePorts(ctx context.Context, kept keptServer) error {
	if s.ID == "" && s.cluster.config.Keep == "" {
		return nil
	}
	for _, port := range []struct {
		of     *reservation
		had    string
		wanted bool
	}{
		{&s.ports.listen, kept.Listen, s.place.socket == ""},
		{&s.ports.http, kept.HTTP, true},
		{&s.ports.admin, kept.Admin, true},
		{&s.ports.peer, kept.Peer, s.ID != ""},
	} {
		var err error
		switch {
		case !port.wanted:
		case port.had != "":
			*port.of, err = reserveAgain(ctx, port.had)
		default:
			*port.of, err = reserve(0)
		}
		if err != nil {
			return err
		}
	}
	s.PeerAddress = s.ports.peer.address
	return nil
}

func (s *Server) releasePorts() error {
	var errs []error
	for _, p := range s.ports.all() {
		if p.address != "" {
			errs = append(errs, p.release())
			*p = reservation{}
		}
	}
	return errors.Join(errs...)
}

// Node is the server's process: the one that runs, or the last one that did.
func (s *Server) Node() *Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.node
}

// Running tells whether the server's process runs; a paused one does.
func (s *Server) Running() bool { return s.Node().Running() }

// CPUOfEnded is the CPU time that those of the server's processes used that have ended.
func (s *Server) CPUOfEnded() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent + s.node.CPU()
}

// DataDir is the folder that holds all that the server stores, of one on this host.
func (s *Server) DataDir() string { return s.place.data }

// Kill ends the process with SIGKILL, as a crash would, and returns when it is gone. The data stays.
func (s *Server) Kill() error {
	s.act.Lock()
	defer s.act.Unlock()
	return s.Node().kill()
}

// Stop ends the process in order: SIGTERM, then SIGKILL when it has not ended within the configured time or when ctx is
// done, which is an error. So is an exit status other than 0. The data stays.
func (s *Server) Stop(ctx context.Context) error {
	s.act.Lock()
	defer s.act.Unlock()
	return s.Node().end(ctx)
}

// Start starts a new process on the data, the ports and the log of the last one, which must have ended, and returns when
// it has said that it listens. WaitReady waits until it serves. When Start fails no process is left.
func (s *Server) Start(ctx context.Context) error {
	s.act.Lock()
	defer s.act.Unlock()
	if s.cluster.stopped.Load() {
		return s.problem("the topology was stopped")
	}
	if s.Running() {
		return s.problem("it runs already")
	}
	if err := s.forgetAddresses(); err != nil {
		return err
	}
	if err := s.launch(os.O_APPEND); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, s.cluster.config.StartTimeout)
	defer cancel()
	if err := s.Node().waitForAddresses(limited); err != nil {
		return errors.Join(s.cluster.startError(ctx, limited, err), s.Node().kill())
	}
	s.wiped = false
	return nil
}

// forgetAddresses removes what the last process said of itself, which would be taken for what the next one says.
func (s *Server) forgetAddresses() error {
	if s.remote != nil {
		return nil // a server removes it before it listens
	}
	if err := os.Remove(s.place.addressFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("start the server again: %w", err)
	}
	return nil
}

// WaitReady waits until the server says that it is ready to serve, for at most the configured time.
func (s *Server) WaitReady(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, s.cluster.config.StartTimeout)
	defer cancel()
	return s.cluster.startError(ctx, limited, s.Node().waitUntilReady(limited))
}

// Pause stops the process with SIGSTOP: it does nothing until Resume, and its connections stay open.
func (s *Server) Pause() error { return s.signal(syscall.SIGSTOP) }

// Resume lets a paused process continue. It does nothing to a process that is not paused or has ended.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) error {
	s.act.Lock()
	defer s.act.Unlock()
	return s.Node().process.Signal(sig)
}

// Wipe removes all that the server stores, whose process must have ended. The next process of a cluster's node asks the
// other nodes to take it in again: it must not start a cluster of its own.
func (s *Server) Wipe() error {
	s.act.Lock()
	defer s.act.Unlock()
	if s.Running() {
		return s.problem("its data can't be wiped while it runs")
	}
	wipe := s.place.wipe
	if s.remote != nil {
		wipe = s.remote.wipe
	}
	if err := wipe(); err != nil {
		return fmt.Errorf("wipe the server's data: %w", err)
	}
	s.wiped = true
	return nil
}

// problem is an error of the caller's.
func (s *Server) problem(what string) error {
	if s.ID == "" {
		return fmt.Errorf("server: %s", what)
	}
	return fmt.Errorf("server %s: %s", s.ID, what)
}

// launch starts a process, whose end the cluster watches. It does not wait for it to serve.
func (s *Server) launch(logMode int) error {
	node, err := startNode(s, logMode)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.node != nil {
		s.spent += s.node.CPU()
	}
	s.node = node
	s.mu.Unlock()
	s.cluster.watch(node)
	return nil
}

// logOf is the log of a server: of a cluster's node its id is in the name.
func logOf(path, id string) string {
	if id == "" {
		return path
	}
	extension := filepath.Ext(path)
	return strings.TrimSuffix(path, extension) + "-" + id + extension
}
