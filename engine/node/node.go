// Package node implements a server. It creates the shards, their stores, the listeners and, in a
// cluster, the replicas, and starts and stops them in the right order.
//
//	n, err := node.Open(node.Config{DataDir: dir, Listen: []string{"127.0.0.1:7070"}, Durability: storage.Sync, Auth: true})
//	if err != nil {
//		return err
//	}
//	select {
//	case <-ctx.Done():
//	case err = <-n.Failed():
//	}
//	return errors.Join(err, n.Shutdown(stopCtx))
//
// Open validates the configuration, opens the listeners, opens and recovers the stores, and starts
// serving. If it fails, it closes everything that it has opened. If the configuration is invalid,
// the error lists every problem. Shutdown lets calls end, commits pending commands, and closes the
// stores. It must be called exactly once after each successful Open, even if the node has failed.
//
// The other methods are safe for concurrent use. The node makes no decisions about tasks: package
// shard does. Package cluster makes the node a member of a cluster, and uses the node as its Host.
// Package node/metrics contains the Prometheus series of the node.
//
// After Open, only Failed reports errors: a store cannot be written, a listener has ended, or a
// shard has unreadable data. The node is then not ready (/readyz), and its shards refuse all
// commands that are not committed. The process should stop.
package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/internal/setting"
	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/node/metrics"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc"
	"github.com/pronybench/prony/engine/rpc/admin"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// Node is a running server.
type Node struct {
	log        *slog.Logger
	stores     []*storage.Store // by shard; empty in a cluster, see method store
	shards     *shard.Group
	cluster    *cluster.Cluster // nil without a cluster
	service    *rpc.Service
	grpc       *grpc.Server
	health     *health.Server
	space      *storage.Space // nil before the data folder exists
	http       *http.Server
	admin      *http.Server
	adminGRPC  *grpc.Server
	listeners  []net.Listener
	httpAt     net.Listener
	adminAt    net.Listener
	metrics    *metrics.Metrics
	stalls     *stalls.Log
	stallMax   time.Duration
	statsMax   time.Duration
	registry   *access.Registry
	auth       *call.Auth
	tokenFile  string
	tokenFiles sync.Mutex    // held while the token file or its .next file is changed
	tls        *certificates // nil without TLS
	flight     flight
	cpuProfile cpuProfile
	clock      *clock.Clock
	stopClock  context.CancelFunc // stops watchClock and watchCertificates
	shares     memory.Shares
	files      fileShares
	bounds     *call.Bounds
	conns      *conns

	stopWatching func() // nil until divideMemory has started its goroutines
	watching     sync.WaitGroup

	failed chan error // receives the reason when the node fails
	// notReady is the first reason why the node is not ready, or nil. A node that has
	// failed or is stopping is not ready.
	notReady atomic.Pointer[string]
	serving  sync.WaitGroup

	storesInUse  sync.RWMutex // read-locked by admin requests that read the stores
	storesClosed bool         // guarded by storesInUse
}

// Open opens the listeners and the data folder, recovers the stores, and starts serving. If it
// fails, it closes everything that it has opened.
func Open(c Config) (_ *Node, err error) {
	if err := c.check(); err != nil {
		for _, l := range c.Listeners {
			err = errors.Join(err, l.Close())
		}
		return nil, err
	}
	if err := planted.Begin(); err != nil {
		return nil, err
	}
	if c.clock == nil {
		c.clock = clock.New()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Limits == (queue.Limits{}) {
		c.Limits = queue.DefaultLimits()
	}
	c.Shards = max(1, c.Shards)
	n := &Node{
		log: c.Log, health: health.NewServer(), failed: make(chan error, 1), registry: access.New(access.Options{Log: c.Log, Shared: c.Cluster.On()}),
		stallMax: cmp.Or(c.StallMax, defaultStallMax), statsMax: statsMax, listeners: slices.Clone(c.Listeners),
		clock: c.clock, stalls: stalls.New(),
	}
	defer func() {
		if err != nil {
			n.close()
		}
	}()
	if err := n.divideMemory(&c); err != nil {
		return nil, err
	}
	if c.TLS.on() {
		if n.tls, err = loadCertificates(c.TLS, c.Log, time.Now); err != nil {
			return nil, err
		}
	}
	// Listen first: if a port is taken, Open then fails before it touches the data folder.
	if err := n.listen(c); err != nil {
		return nil, err
	}
	n.metrics = metrics.New(c.Shards)
	c.Queue.Account = n.registry.Account
	var records systemRecords
	if records, err = n.openState(c); err != nil {
		return nil, err
	}
	n.removeUnfinished(c.DataDir)
	n.watch(c.Metrics.Tenants)
	if err := n.openAccess(c, accessStore{records}); err != nil {
		return nil, err
	}
	n.service = rpc.NewService(n.shards, c.Limits, n.registry)
	n.service.Within(n.bounds)
	if n.cluster != nil {
		n.service.InCluster(route.New(n.cluster, n.shards))
	}
	options := n.metrics.Interceptors()
	if c.BusyPoll {
		options = append(options, rpc.BusyPoll())
	}
	n.grpc = rpc.NewServer(n.service, n.health, n.auth, options...)
	if err := n.newHTTP(c); err != nil {
		return nil, err
	}
	admin := admin.New(n.shards, c.Limits, n.registry, newHost(n, c))
	if n.cluster != nil {
		admin.InCluster(route.New(n.cluster, n.shards))
	}
	if err := n.newAdmin(admin, c); err != nil {
		return nil, err
	}
	if n.cluster != nil {
		n.cluster.Serve(rpc.NewCallsServer(n.service, admin, n.cluster.PeerService(), n.auth))
	}
	n.serve()
	return n, nil
}

// openState opens the shards or, in a cluster, this node's replicas of the shards. It returns the
// store of the node's own records.
func (n *Node) openState(c Config) (systemRecords, error) {
	if err := settleLayout(c.fs, c.DataDir, c.Shards); err != nil {
		return nil, err
	}
	n.watchSpace(c)
	was, err := storage.ReadLayoutNode(c.DataDir)
	if err == nil {
		err = checkNodeOf(c.DataDir, was, c.Cluster.Node)
	}
	if err != nil {
		return nil, err
	}
	if !c.Cluster.On() {
		err := n.openShards(c)
		return n.shards, err
	}
	if err := n.openCluster(c, was != ""); err != nil {
		return nil, err
	}
	if was == "" { // do this last, since the folder of a server without a cluster may be refused
		err = storage.WriteLayoutNode(c.DataDir, c.Cluster.Node)
	}
	return clusterRecords{n}, err
}

// checkNodeOf refuses a data folder that belongs to another node. It also refuses to serve a
// member's folder without the cluster: tasks stored in that time would be missing on the other
// nodes when the server is a member again.
func checkNodeOf(dir, was, node string) error {
	switch {
	case was == "" || was == node:
		return nil
	case node == "":
		return setting.Wrap(fmt.Errorf("data folder %s is of node %s of a cluster", dir, was),
			fmt.Sprintf("start it with --cluster-node %s, or restore a backup of it to serve it alone", was), "data", "cluster.node")
	default:
		return setting.Wrap(fmt.Errorf("data folder %s is of node %s, not %s", dir, was, node), "start it as that node, or with an empty data folder", "cluster.node", "data")
	}
}

func (n *Node) listen(c Config) error {
	for _, address := range c.Listen {
		l, err := n.listenOn("listen", address, false)
		if err != nil {
			return err
		}
		n.listeners = append(n.listeners, l)
	}
	var err error
	if c.HTTP != "" {
		if n.httpAt, err = n.listenOn("http", c.HTTP, true); err != nil {
			return fmt.Errorf("http: %w", err)
		}
	}
	if c.Admin != "" {
		if n.adminAt, err = n.listenOn("admin", c.Admin, true); err != nil {
			return fmt.Errorf("admin: %w", err)
		}
	}
	return nil
}

// listenOn listens for clients at an address. path is the name of the address's setting. overHTTP
// is true if an HTTP server serves the listener, and thus closes idle connections.
func (n *Node) listenOn(path, address string, overHTTP bool) (net.Listener, error) {
	if socket, isUnix := strings.CutPrefix(address, unixPrefix); isUnix {
		l, err := listenUnix(socket)
		if err != nil {
			return nil, setting.Path(err, "name a path with --"+path+" where the user of the server may create a socket", path)
		}
		return n.conns.listener(l, overHTTP), nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			return nil, setting.Errorf(path, "choose another port with --"+path+", or let the server use ports below 1024 (CAP_NET_BIND_SERVICE)", "listen on %s: %w", address, err)
		}
		return nil, fmt.Errorf("listen on %s: %w: stop what uses it, or choose another address with --%s", address, err, path)
	}
	l = n.conns.listener(l, overHTTP)
	switch {
	case n.tls != nil:
		l = n.tls.listener(l)
	case !isLoopback(address):
		n.log.Warn("other hosts can reach a listener without TLS: its traffic can be read on the network", "address", l.Addr())
	}
	return l, nil
}

func (n *Node) serve() {
	for _, l := range n.listeners {
		n.serving.Go(func() {
			if err := n.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
				n.fail(fmt.Errorf("serve on %s: %w", l.Addr(), err))
			}
		})
	}
	n.serveHTTP("the REST listener", n.http, n.httpAt)
	n.serveHTTP("the admin listener", n.admin, n.adminAt)
	ctx, cancel := context.WithCancel(context.Background())
	n.stopClock = cancel
	n.showHealth()
	n.serving.Go(func() { n.watchClock(ctx) })
	n.serving.Go(func() { n.watchCertificates(ctx) })
	n.spaceChanged(n.space.State())
}

// fail records the reason why the node failed. Only the first reason is reported.
func (n *Node) fail(err error) {
	n.space.CheckFailure(err)
	n.turnNotReady("failed: " + err.Error())
	select {
	case n.failed <- err:
	default:
	}
}

func (n *Node) turnNotReady(why string) {
	n.notReady.CompareAndSwap(nil, &why)
	n.health.Shutdown()
}

// Failed returns a channel that receives the reason when the node fails. Shutdown must still be
// called.
func (n *Node) Failed() <-chan error { return n.failed }

// Addresses returns the addresses for gRPC clients, with the ports that the system chose. The
// addresses of Config.Listeners come first, followed by those of Config.Listen in order.
func (n *Node) Addresses() []string {
	out := make([]string, len(n.listeners))
	for i, l := range n.listeners {
		out[i] = l.Addr().String()
		if l.Addr().Network() == "unix" {
			out[i] = unixPrefix + out[i]
		}
	}
	return out
}

// Admin returns the address of the admin listener, or "" if it is disabled.
func (n *Node) Admin() string {
	if n.adminAt == nil {
		return ""
	}
	return n.adminAt.Addr().String()
}

// Shutdown stops the node in order. It makes the node not ready, waits until calls and streams have
// ended with their answers, commits pending commands, and closes the stores. If ctx ends first,
// Shutdown closes the connections. Everything that was acknowledged is safe even in this case.
func (n *Node) Shutdown(ctx context.Context) error {
	n.turnNotReady("stopping")
	n.stopClock()
	if n.cluster != nil {
		n.cluster.HandOver()
	}
	n.service.Stop()
	stopped := make(chan struct{})
	go func() {
		n.grpc.GracefulStop()
		close(stopped)
	}()
	n.stopHTTP(ctx)
	select {
	case <-stopped:
	case <-ctx.Done():
		n.log.Warn("cutting connections that did not end in time")
		n.grpc.Stop()
		<-stopped
	}
	n.space.Close() // makes writes that wait for disk space fail
	n.shards.Close()
	n.stopAdmin(ctx)
	n.registry.Close()
	n.serving.Wait()
	n.unwatch()
	n.storesInUse.Lock() // an audit may still be reading, although its connection is closed
	n.storesClosed = true
	n.storesInUse.Unlock()
	if n.cluster != nil {
		return n.cluster.Close()
	}
	var errs []error
	for _, s := range n.stores {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func (n *Node) close() {
	for _, l := range append(n.listeners, n.httpAt, n.adminAt) {
		if l != nil {
			n.warn(l.Close())
		}
	}
	n.space.Close()
	if n.shards != nil {
		n.shards.Close()
	}
	if n.cluster != nil {
		n.warn(n.cluster.Close())
	}
	for _, s := range n.stores {
		n.warn(s.Close())
	}
	n.registry.Close()
	n.unwatch()
}

func (n *Node) warn(err error) {
	if err != nil {
		n.log.Warn("close", "error", err)
	}
}
