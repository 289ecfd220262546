package topology

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/harness/adminhttp"
	"github.com/pronybench/prony/harness/clienttls"
	"github.com/pronybench/prony/harness/scenario"
)

// Cluster contains all servers of a topology: one for "single", "sharded" and "embedded", one per
// node for "raft" and "remote", and none for "none". It is safe for concurrent use.
type Cluster struct {
	// Token is the access token that the servers require; "" if they require none.
	Token string
	// CA is the authority that signed the servers' certificate. It is the zero value without TLS.
	// It is set before a server starts and does not change.
	CA clienttls.CA

	config Config
	root   string // folder that contains the servers' folders and the certificates
	// folder that contains one folder per node of a cluster, with the node's certificate
	certs   string
	tls     string // folder of the certificate that servers present to clients; "" without TLS
	servers []*Server

	// set when all servers have been ready once and stateFile records this; set before the first
	// load
	served bool

	watchers sync.WaitGroup
	failing  sync.Mutex    // guards failed and failure
	failed   chan struct{} // closed when failure is set
	failure  error

	stopped atomic.Bool
	stop    sync.Once
	stopErr error
}

// newCluster creates the folders of all servers and reserves their ports. If kept is not nil, it
// reuses kept folders and ports. On error it removes everything except kept files.
func newCluster(ctx context.Context, config Config, kept *state) (_ *Cluster, err error) {
	c := &Cluster{config: config, failed: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.remove())
		}
	}()
	if err := c.makeRoot(kept); err != nil {
		return nil, fmt.Errorf("create the servers' folder: %w", err)
	}
	if config.Topology.Kind == scenario.Remote {
		return c, c.newRemote(ctx)
	}
	for i, id := range config.ids() {
		s := &Server{ID: id, cluster: c, logPath: logOf(config.LogPath, id)}
		c.servers = append(c.servers, s)
		if s.place, err = makeFolders(filepath.Join(c.root, "server-"+cmp.Or(id, "alone")), config.Topology.Listen == "unix"); err != nil {
			return nil, err
		}
		if network := config.Network; network != nil {
			s.placeOn(network.Address(i), network.Namespace(i))
			continue
		}
		var ports keptServer
		if kept != nil {
			ports = kept.Servers[i]
		}
		if err := s.reservePorts(ctx, ports); err != nil {
			return nil, err
		}
	}
	if err := c.certify(ctx, kept != nil); err != nil {
		return nil, err
	}
	if err := c.connectPeers(); err != nil || kept != nil {
		return c, err
	}
	return c, c.saveState(false)
}

func (c *Config) ids() []string {
	switch c.Topology.Kind {
	case scenario.NoTopology, scenario.ByProgram:
		return nil
	case scenario.Raft:
		var ids []string
		for i := range c.Topology.Nodes {
			ids = append(ids, "n"+strconv.Itoa(i+1))
		}
		return ids
	}
	return []string{""}
}

// makeRoot creates the folder that contains all other folders. If kept is not nil, it uses the kept
// folder.
func (c *Cluster) makeRoot(kept *state) error {
	if kept != nil {
		if len(kept.Servers) != len(c.config.ids()) {
			return fmt.Errorf("%s is damaged: it has %d servers", stateFile, len(kept.Servers))
		}
		c.root, c.Token, c.served = filepath.Join(c.config.Keep, KeptDir), kept.Token, kept.Served
		return nil
	}
	if c.config.Keep != "" {
		return c.makeKeptRoot()
	}
	dir, err := filepath.Abs(c.config.Dir)
	if err != nil {
		return err
	}
	c.root, err = os.MkdirTemp(dir, "topology-")
	return err
}

func (c *Cluster) certify(ctx context.Context, kept bool) error {
	if c.config.Topology.Clustered() {
		if err := c.makeCertificates(ctx, kept); err != nil {
			return err
		}
	}
	if c.config.Topology.TLS {
		return c.makeServerCertificate(ctx, kept)
	}
	return nil
}

// connectPeers sets the address that each node uses for each other node.
func (c *Cluster) connectPeers() error {
	for _, from := range c.servers {
		from.peers = map[string]string{}
		for _, to := range c.servers {
			address := to.PeerAddress
			if to != from && c.config.PeerAddress != nil {
				var err error
				if address, err = c.config.PeerAddress(from.ID, to.ID, address); err != nil {
					return fmt.Errorf("address of %s for %s: %w", to.ID, from.ID, err)
				}
			}
			from.peers[to.ID] = address
		}
	}
	return nil
}

// Servers returns all servers in the order of their IDs. The caller owns the slice.
func (c *Cluster) Servers() []*Server { return append([]*Server(nil), c.servers...) }

// OnHosts reports whether the servers are on network hosts that this run created. No process
// outside of this run can reach such hosts.
func (c *Cluster) OnHosts() bool { return c.config.Network != nil }

// Server returns the server with the given ID.
func (c *Cluster) Server(id string) (*Server, bool) {
	for _, s := range c.servers {
		if s.ID == id {
			return s, true
		}
	}
	return nil, false
}

// Client returns an HTTP client for a REST or admin listener of a server.
func (c *Cluster) Client(address string) adminhttp.Client {
	return adminhttp.Client{Address: address, Token: c.Token, CA: c.CA}
}

// Addresses returns the gRPC and the REST addresses of all servers, in the format of driver.Target:
// separated by commas. http is "" if no server has a REST listener.
func (c *Cluster) Addresses() (address, http string) {
	var addresses, https []string
	for _, s := range c.servers {
		n := s.Node()
		addresses = append(addresses, n.Address)
		if n.HTTP != "" {
			https = append(https, n.HTTP)
		}
	}
	return strings.Join(addresses, ","), strings.Join(https, ",")
}

// Began returns the start time of the server process that has been running longest. It returns the
// zero time if there are no servers.
func (c *Cluster) Began() time.Time {
	if len(c.servers) == 0 {
		return time.Time{}
	}
	began := c.servers[0].Node().Began
	for _, s := range c.servers[1:] {
		if b := s.Node().Began; b.Before(began) {
			began = b
		}
	}
	return began
}

// Failed returns a channel that is closed when a server ends unexpectedly or with an error. Revive
// replaces the channel.
func (c *Cluster) Failed() <-chan struct{} {
	c.failing.Lock()
	defer c.failing.Unlock()
	return c.failed
}

// Failure returns the *ServerError that describes why the channel of Failed was closed. It returns
// nil if the channel is open.
func (c *Cluster) Failure() error {
	c.failing.Lock()
	defer c.failing.Unlock()
	return c.failure
}

// watch waits for the end of a process, and records a failure if the end was unexpected.
func (c *Cluster) watch(n *Node) {
	c.watchers.Go(func() {
		<-n.Exited()
		n.endedAt = time.Now()
		err := n.ExitError()
		c.failing.Lock()
		defer c.failing.Unlock()
		if err != nil && c.failure == nil {
			c.failure = err
			close(c.failed)
		}
		close(n.noted)
	})
}

// Stop ends all servers at the same time, as Server.Stop does. It removes their folders, except
// folders in Config.Keep. It returns an error if a server had ended unexpectedly or with an error
// before. Stop must be called at least once for each Cluster; further calls return the result of
// the first. The logs remain.
func (c *Cluster) Stop(ctx context.Context) error {
	c.stop.Do(func() {
		c.stopped.Store(true)
		err := c.each(func(s *Server) error { return s.Stop(ctx) })
		c.watchers.Wait()
		// If a server ended unexpectedly and was restarted, only this failure still shows it.
		if failure := c.Failure(); failure != nil && err == nil {
			err = failure
		}
		if err := errors.Join(err, c.remove()); err != nil {
			c.stopErr = fmt.Errorf("stop topology: %w", err)
		}
	})
	return c.stopErr
}

// Ending is a way to end a server.
type Ending int

const (
	// Term is SIGTERM: the server shuts down in order.
	Term Ending = iota
	// Kill is SIGKILL: the server ends as in a crash.
	Kill
)

// Restart ends all servers at the same time and restarts them with their existing data. The logs
// are continued. It returns when the servers are ready. If between is not nil, Restart calls it
// after all servers have ended and before they start. Restart fails, among other reasons, if a
// server does not end as requested. If it fails, it removes everything except the logs, and Stop
// does nothing.
func (c *Cluster) Restart(ctx context.Context, how Ending, between func() error) error {
	if err := c.restart(ctx, how, between); err != nil {
		return fmt.Errorf("restart topology: %w", err)
	}
	return nil
}

func (c *Cluster) restart(ctx context.Context, how Ending, between func() error) error {
	if c.stopped.Load() {
		return errors.New("the servers are already stopped")
	}
	if how == Kill && c.config.Topology.Kind == scenario.Embedded {
		return errCantKill
	}
	err := c.Failure()
	if err == nil {
		err = c.each(func(s *Server) error {
			if how == Kill {
				return errors.Join(s.Node().ExitError(), s.Kill())
			}
			return s.Stop(ctx)
		})
	}
	for _, s := range c.servers {
		if err == nil {
			err = s.forgetAddresses()
		}
	}
	if err == nil && between != nil {
		err = between()
	}
	if err != nil {
		return errors.Join(err, c.discard())
	}
	return c.resume(ctx, os.O_APPEND)
}

func (c *Cluster) startAll(ctx context.Context) error {
	// O_APPEND makes a log that was emptied continue at its beginning.
	return c.resume(ctx, os.O_TRUNC|os.O_APPEND)
}

// resume starts all servers and returns when they are ready. On error it removes everything except
// the logs.
func (c *Cluster) resume(ctx context.Context, logMode int) error {
	for _, s := range c.servers {
		if err := s.launch(logMode); err != nil {
			return errors.Join(err, c.discard())
		}
	}
	err := c.waitUntilReady(ctx)
	if err == nil {
		err = c.saveState(true)
	}
	if err != nil {
		return errors.Join(err, c.discard())
	}
	return nil
}

// discard ends the servers that did not become ready and removes their folders. A later Stop does
// nothing.
func (c *Cluster) discard() error {
	var err error
	c.stop.Do(func() {
		c.stopped.Store(true)
		err = c.each(func(s *Server) error {
			if n := s.Node(); n != nil { // otherwise the server was not started
				return n.process.Kill()
			}
			return nil
		})
		c.watchers.Wait()
		err = errors.Join(err, c.remove())
	})
	return err
}

func (c *Cluster) each(do func(*Server) error) error {
	errs := make([]error, len(c.servers))
	var all sync.WaitGroup
	for i, s := range c.servers {
		all.Go(func() { errs[i] = do(s) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// remove deletes the servers' folders unless they are kept, and releases the servers' ports.
func (c *Cluster) remove() error {
	var errs []error
	for _, s := range c.servers {
		if s.remote != nil {
			errs = append(errs, s.remote.remove())
			continue
		}
		errs = append(errs, s.place.removeSocket(), s.releasePorts())
	}
	if c.root != "" && c.config.Keep == "" {
		if err := os.RemoveAll(c.root); err != nil {
			errs = append(errs, fmt.Errorf("remove the servers' folder: %w", err))
		}
	}
	return errors.Join(errs...)
}
