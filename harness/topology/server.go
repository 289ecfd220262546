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

// Server is one server of a topology over its whole life: its data folder, its ports, its log, and
// its successive processes. It is safe for concurrent use; methods that start, end or signal the
// process are serialized. If a process ends without one of these methods, the cluster has failed.
type Server struct {
	// ID is the ID of a cluster's node: "n1", "n2" and so on; "" for a server without a cluster.
	ID string
	// PeerAddress is the listen address for other nodes: "127.0.0.1:port", or the address of its
	// host; "" for a server without a cluster.
	PeerAddress string

	cluster *Cluster
	place   folders // of a server on this host
	remote  *remote // nil for a server on this host
	logPath string
	ports   ports
	// namespace is the network namespace of its host, owned by the network; nil means the namespace
	// of this process.
	namespace *os.File
	// peers maps each node's ID, including this node's, to the address that this node uses for it.
	peers map[string]string

	act   sync.Mutex // serializes starts, ends and signals of the process
	wiped bool       // the data was removed, and no process has started since; guarded by act

	mu    sync.Mutex // guards node and spent
	node  *Node
	spent time.Duration // CPU time of earlier processes
}

// ports are the reserved ports of a server for its whole life. A port that the system chooses at
// each start has no address.
type ports struct{ listen, http, admin, peer reservation }

func (p *ports) all() []*reservation { return []*reservation{&p.listen, &p.http, &p.admin, &p.peer} }

// placeOn puts the server on a host that has no other listeners, so that its ports are fixed.
func (s *Server) placeOn(host string, namespace *os.File) {
	s.namespace = namespace
	for i, p := range s.ports.all() {
		*p = reservation{descriptor: none, address: net.JoinHostPort(host, strconv.Itoa(hostPort+i))}
	}
	s.PeerAddress = s.ports.peer.address
}

// hostPort is the first port of a server on a separate host. It is below the ephemeral ports.
const hostPort = 7420

// reservePorts reserves the ports of a node or of a kept server. kept contains ports of an earlier
// process. For other servers the system chooses ports at each start.
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

// Node returns the current process of the server, or the last one.
func (s *Server) Node() *Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.node
}

// Running reports whether the server's process runs. A paused process runs.
func (s *Server) Running() bool { return s.Node().Running() }

// CPUOfEnded returns the CPU time of the server's ended processes.
func (s *Server) CPUOfEnded() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent + s.node.CPU()
}

// DataDir returns the folder of the server's data, for a server on this host.
func (s *Server) DataDir() string { return s.place.data }

// Kill ends the process with SIGKILL, like a crash, and returns when it has ended. The data
// remains.
func (s *Server) Kill() error {
	s.act.Lock()
	defer s.act.Unlock()
	return s.Node().kill()
}

// Stop ends the process with SIGTERM. If it has not ended within Config.StopTimeout, or when ctx is
// done, Stop ends it with SIGKILL and returns an error. An exit status other than 0 is an error
// too. The data remains.
func (s *Server) Stop(ctx context.Context) error {
	s.act.Lock()
	defer s.act.Unlock()
	return s.Node().end(ctx)
}

// Start starts a new process on the data, the ports and the log of the last one, which must have
// ended. It returns when the process has published that it listens; use WaitReady to wait until it
// is ready. If Start fails, no process remains.
func (s *Server) Start(ctx context.Context) error {
	s.act.Lock()
	defer s.act.Unlock()
	if s.cluster.stopped.Load() {
		return s.problem("the topology is stopped")
	}
	if s.Running() {
		return s.problem("the server is already running")
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

// forgetAddresses removes the address file of the last process, so that it is not taken for that of
// the next one.
func (s *Server) forgetAddresses() error {
	if s.remote != nil {
		return nil // a remote server removes it before it listens
	}
	if err := os.Remove(s.place.addressFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("restart the server: %w", err)
	}
	return nil
}

// WaitReady waits until the server reports that it is ready, for at most Config.StartTimeout.
func (s *Server) WaitReady(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, s.cluster.config.StartTimeout)
	defer cancel()
	return s.cluster.startError(ctx, limited, s.Node().waitUntilReady(limited))
}

// Pause stops the process with SIGSTOP. It does nothing until Resume, and its connections stay
// open.
func (s *Server) Pause() error { return s.signal(syscall.SIGSTOP) }

// Resume continues a paused process. It has no effect on a process that is not paused or has ended.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) error {
	s.act.Lock()
	defer s.act.Unlock()
	return s.Node().process.Signal(sig)
}

// Wipe removes the server's data. Its process must have ended. The next process of a cluster's node
// joins the other nodes instead of creating a cluster.
func (s *Server) Wipe() error {
	s.act.Lock()
	defer s.act.Unlock()
	if s.Running() {
		return s.problem("the data can't be wiped while the server runs")
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

// problem returns an error that names the server.
func (s *Server) problem(what string) error {
	if s.ID == "" {
		return fmt.Errorf("server: %s", what)
	}
	return fmt.Errorf("server %s: %s", s.ID, what)
}

// launch starts a process and makes the cluster watch it. It does not wait until the process is
// ready.
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

// logOf returns the path of a server's log. The log of a cluster's node has the node's ID in its
// name.
func logOf(path, id string) string {
	if id == "" {
		return path
	}
	extension := filepath.Ext(path)
	return strings.TrimSuffix(path, extension) + "-" + id + extension
}
