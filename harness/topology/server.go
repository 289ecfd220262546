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

// Server is one server of a topology during its whole life. It has a data folder, ports, a log, and
// successive processes. It is safe for concurrent use. Methods that start, end or signal the
// process are serialized. If a process ends and none of these methods ended it, the cluster has
// failed.
type Server struct {
	// ID is the ID of a node of a cluster: "n1", "n2" and so on. It is "" for a server without a
	// cluster.
	ID string
	// PeerAddress is the address on which the server listens for other nodes: "127.0.0.1:port", or
	// an address of its host. It is "" for a server without a cluster.
	PeerAddress string

	cluster *Cluster
	place   folders // used for a server on this host
	remote  *remote // nil for a server on this host
	logPath string
	ports   ports
	// namespace is the network namespace of the server's host. The network owns it. nil means that
	// the server uses the namespace of this process.
	namespace *os.File
	// peers maps the ID of each node, including this one, to the address that this server uses for
	// it.
	peers map[string]string

	act   sync.Mutex // serializes starts, ends and signals of the process
	wiped bool       // set if the data was removed and no process has started since; guarded by act

	mu    sync.Mutex // guards node and spent
	node  *Node
	spent time.Duration // CPU time of earlier processes
}

// ports are the ports that are reserved for a server during its whole life. If the system chooses a
// port at each start, the port has no address here.
type ports struct{ listen, http, admin, peer reservation }

func (p *ports) all() []*reservation { return []*reservation{&p.listen, &p.http, &p.admin, &p.peer} }

// placeOn assigns the server to a host. The host has no other listeners, so the ports are fixed.
func (s *Server) placeOn(host string, namespace *os.File) {
	s.namespace = namespace
	for i, p := range s.ports.all() {
		*p = reservation{descriptor: none, address: net.JoinHostPort(host, strconv.Itoa(hostPort+i))}
	}
	s.PeerAddress = s.ports.peer.address
}

// hostPort is the first port of a server on a separate host. It is below the range of ephemeral
// ports.
const hostPort = 7420

// reservePorts reserves the ports of a node of a cluster or of a kept server. For other servers it
// does nothing, because the system chooses their ports at each start. kept contains the ports of an
// earlier process.
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

// Running reports whether the server's process is running. A paused process counts as running.
func (s *Server) Running() bool { return s.Node().Running() }

// CPUOfEnded returns the total CPU time of those processes of the server that have ended.
func (s *Server) CPUOfEnded() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent + s.node.CPU()
}

// DataDir returns the data folder of a server on this host.
func (s *Server) DataDir() string { return s.place.data }

// Kill ends the process with SIGKILL, as in a crash. It returns when the process has ended. The
// data remains.
func (s *Server) Kill() error {
	s.act.Lock()
	defer s.act.Unlock()
	return s.Node().kill()
}

// Stop ends the process with SIGTERM. If the process does not end within Config.StopTimeout or
// before ctx is done, Stop ends it with SIGKILL and returns an error. An exit status other than 0
// is also an error. The data remains.
func (s *Server) Stop(ctx context.Context) error {
	s.act.Lock()
	defer s.act.Unlock()
	return s.Node().end(ctx)
}

// Start starts a new process with the data, the ports and the log of the last process, which must
// have ended. It returns when the new process has published that it is listening. Use WaitReady to
// wait until it is ready. If Start fails, no process remains.
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

// forgetAddresses removes the address file of the last process, so that it is not mistaken for the
// file of the next process.
func (s *Server) forgetAddresses() error {
	if s.remote != nil {
		return nil // a remote server removes the file before it listens
	}
	if err := os.Remove(s.place.addressFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("restart the server: %w", err)
	}
	return nil
}

// WaitReady waits until the server reports that it is ready, but at most for Config.StartTimeout.
func (s *Server) WaitReady(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, s.cluster.config.StartTimeout)
	defer cancel()
	return s.cluster.startError(ctx, limited, s.Node().waitUntilReady(limited))
}

// Pause stops the process with SIGSTOP. The process then does nothing until Resume is called, and
// its connections remain open.
func (s *Server) Pause() error { return s.signal(syscall.SIGSTOP) }

// Resume continues a paused process. It has no effect if the process is not paused or has ended.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) error {
	s.act.Lock()
	defer s.act.Unlock()
	return s.Node().process.Signal(sig)
}

// Wipe removes the server's data. Its process must have ended. If the server is a node of a
// cluster, its next process joins the other nodes instead of creating a cluster.
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

func (s *Server) problem(what string) error {
	if s.ID == "" {
		return fmt.Errorf("server: %s", what)
	}
	return fmt.Errorf("server %s: %s", s.ID, what)
}

// launch starts a process and makes the cluster watch it. It does not wait until the server is
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

// logOf returns the path of a server's log. For a node of a cluster the name of the log contains
// the node's ID.
func logOf(path, id string) string {
	if id == "" {
		return path
	}
	extension := filepath.Ext(path)
	return strings.TrimSuffix(path, extension) + "-" + id + extension
}
