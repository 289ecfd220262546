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
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// Node is a running server.
type Node struct {
	log       *slog.Logger
	stores    []*storage.Store
	shards    *shard.Group
	service   *rpc.Service
	grpc      *grpc.Server
	health    *health.Server
	http      *http.Server
	admin     *http.Server
	adminGRPC *grpc.Server
	listeners []net.Listener
	httpAt    net.Listener
	adminAt   net.Listener
	metrics   *metrics
	stallMax  time.Duration
	statsMax  time.Duration

	failed   chan error             // has the reason once the node can't go on
	notReady atomic.Pointer[string] // why the node is not ready: it failed, or stops. The first reason stays
	serving  sync.WaitGroup

	storesInUse  sync.RWMutex // read-locked by admin requests that read the stores
	storesClosed bool         // guarded by storesInUse
}

// Open opens the data folder, recovers what it holds, and listens. Serving starts at once. On an
// error everything that was opened is closed again.
func Open(c Config) (_ *Node, err error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Limits == (queue.Limits{}) {
		c.Limits = queue.DefaultLimits()
	}
	c.Shards = max(1, c.Shards)
	n := &Node{log: c.Log, health: health.NewServer(), failed: make(chan error, 1), stallMax: cmp.Or(c.StallMax, defaultStallMax), statsMax: statsMax}
	defer func() {
		if err != nil {
			n.close()
		}
	}()
	// Listen first: a taken port is found before the data folder is touched.
	if err := n.listen(c); err != nil {
		return nil, err
	}
	n.metrics = newMetrics()
	if err := n.openShards(c); err != nil {
		return nil, err
	}
	n.metrics.watch(n)
	n.service = rpc.NewService(n.shards, c.Limits)
	n.grpc = rpc.NewServer(n.service, n.health, n.metrics.interceptors()...)
	if err := n.newHTTP(); err != nil {
		return nil, err
	}
	if err := n.newAdmin(adminpb.UnimplementedAdminServiceServer{}); err != nil {
		return nil, err
	}
	n.serve()
	return n, nil
}

func (n *Node) listen(c Config) error {
	for _, address := range c.Listen {
		l, err := listen(address)
		if err != nil {
			return err
		}
		n.listeners = append(n.listeners, l)
	}
	var err error
	if c.HTTP != "" {
		if n.httpAt, err = listen(c.HTTP); err != nil {
			return fmt.Errorf("http: %w", err)
		}
	}
	if c.Admin != "" {
		if n.adminAt, err = listen(c.Admin); err != nil {
			return fmt.Errorf("admin: %w", err)
		}
	}
	return nil
}

func listen(address string) (net.Listener, error) {
	path, isUnix := strings.CutPrefix(address, unixPrefix)
	if !isUnix {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, fmt.Errorf("listen on %s: %w: stop what uses it, or choose another address", address, err)
		}
		return l, nil
	}
	if err := removeStaleSocket(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	// Only the user who runs the server may connect: a Unix socket has no other guard.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("guard the socket: %w", err), l.Close())
	}
	return l, nil
}

// removeStaleSocket removes a socket that a killed server left. One that answers is somebody's.
func removeStaleSocket(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the socket: %w", err)
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("listen on unix:%s: the path exists and is not a socket: choose another path", path)
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("listen on unix:%s: a server answers there: stop it, or choose another path", path), c.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) { // a busy server's socket, or another user's
		return fmt.Errorf("listen on unix:%s: the socket may be in use: %w: choose another path", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the stale socket: %w", err)
	}
	return nil
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
	for _, service := range []string{"", queuepb.QueueService_ServiceDesc.ServiceName} {
		n.health.SetServingStatus(service, healthpb.HealthCheckResponse_SERVING)
	}
}

// fail notes why the node can't go on; the first reason counts.
func (n *Node) fail(err error) {
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

// Failed has the reason once the node can't go on. Shutdown is still to be called.
func (n *Node) Failed() <-chan error { return n.failed }

// Addresses returns where clients connect, in the order of Config.Listen, with the ports that were chosen.
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

// Admin returns the address of the admin listener, or "".
func (n *Node) Admin() string {
	if n.adminAt == nil {
		return ""
	}
	return n.adminAt.Addr().String()
}

// Shutdown stops the node in order: it turns not ready, lets calls and streams end with the answers
// they owe, carries out what waits, and closes the stores. When ctx ends first, connections are cut; what was
// acknowledged is safe all the same.
func (n *Node) Shutdown(ctx context.Context) error {
	n.turnNotReady("stopping")
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
	n.shards.Close()
	n.stopAdmin(ctx)
	n.serving.Wait()
	n.storesInUse.Lock() // an audit whose connection was cut still reads
	defer n.storesInUse.Unlock()
	n.storesClosed = true
	var errs []error
	for _, s := range n.stores {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// close undoes a part of Open.
func (n *Node) close() {
	for _, l := range append(n.listeners, n.httpAt, n.adminAt) {
		if l != nil {
			n.warn(l.Close())
		}
	}
	if n.shards != nil {
		n.shards.Close()
	}
	for _, s := range n.stores {
		n.warn(s.Close())
	}
}

func (n *Node) warn(err error) {
	if err != nil {
		n.log.Warn("close", "error", err)
	}
}
