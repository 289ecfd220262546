package queuedtest

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc"
	"github.com/pronybench/prony/engine/rpc/admin"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// Server is a running server with one shard and the default limits. Every caller is an operator.
// Its methods are safe for concurrent use; a method that fails ends the test, so call them from the
// test's goroutine.
type Server struct {
	// Client is a client of the server. The server closes it when the test ends.
	Client *client.Client
	// Admin calls the server's admin service. Calls about the process, such as GetStatus and
	// Backup, are not available.
	Admin adminpb.AdminServiceClient

	t      testing.TB
	shards *shard.Group
	began  time.Time
	ahead  atomic.Int64 // nanoseconds
}

// Sizes of the parts of a store, which are large by default.
const (
	memTableBytes = 1 << 20
	cacheBytes    = 1 << 20
	pipeBytes     = 1 << 16 // of a connection
)

// Start starts a server and stops it when the test ends. It passes the options to client.Dial.
func Start(t testing.TB, options ...grpc.DialOption) *Server {
	t.Helper()
	s := &Server{t: t, began: time.Now()}
	cache := storage.NewCache(cacheBytes, memTableBytes, 1)
	store, err := storage.Open("shard", storage.Options{
		FS: vfs.NewMem(), Durability: storage.None, Cache: cache, MemTableBytes: memTableBytes,
	})
	cache.Close()
	if err != nil {
		t.Fatalf("queuedtest: open the store: %v", err)
	}
	t.Cleanup(func() { s.check("close the store", store.Close()) })
	now := clock.From(s.read).NowMs
	s.shards, err = shard.NewGroup([]*storage.Store{store}, func(int) shard.Options {
		return shard.Options{NowMs: now, Failed: func(err error) { t.Errorf("queuedtest: the server failed: %v", err) }}
	})
	if err != nil {
		t.Fatalf("queuedtest: %v", err)
	}
	t.Cleanup(s.shards.Close)
	s.serve(options)
	return s
}

// serve serves the shards on connections in memory and sets the clients.
func (s *Server) serve(options []grpc.DialOption) {
	s.t.Helper()
	registry := access.New(access.Options{})
	s.t.Cleanup(registry.Close)
	limits := queue.DefaultLimits()
	service := rpc.NewService(s.shards, limits, registry)
	in := call.Intake{Auth: call.NoAuth(), Bounds: call.Unbounded(), ItemsMax: call.ItemsMax(limits)}
	server := grpc.NewServer(append(in.Options(), grpc.MaxRecvMsgSize(messageBytesMax))...)
	services := in.Registrar(server)
	queuepb.RegisterQueueServiceServer(services, service)
	adminpb.RegisterAdminServiceServer(services, admin.New(s.shards, limits, registry, host{}))

	listener := bufconn.Listen(pipeBytes)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	s.t.Cleanup(func() {
		service.Stop()
		server.Stop()
		s.check("serve", <-served)
	})
	options = append(options, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	var err error
	if s.Client, err = client.Dial("queuedtest", options...); err != nil {
		s.t.Fatalf("queuedtest: %v", err)
	}
	s.t.Cleanup(func() { s.check("close the client", s.Client.Close()) })
	a, err := client.DialAdmin("queuedtest", options...)
	if err != nil {
		s.t.Fatalf("queuedtest: %v", err)
	}
	s.Admin = a
	s.t.Cleanup(func() { s.check("close the admin client", a.Close()) })
}

// messageBytesMax is the server's maximum size of a message.
const messageBytesMax = 16 << 20

// check reports an error without ending the test, because it is called while the test ends.
func (s *Server) check(what string, err error) {
	if err != nil {
		s.t.Errorf("queuedtest: %s: %v", what, err)
	}
}

// host is a server that has no process of its own.
type host struct{}

func (host) Status() admin.Status { return admin.Status{} }

func (host) Backup(context.Context, string) (path string, bytes int64, err error) {
	return "", 0, errors.New("a server in memory has no backups")
}

// read reads the server's clock.
func (s *Server) read() clock.Reading {
	passed := time.Since(s.began).Nanoseconds() + s.ahead.Load()
	return clock.Reading{Mono: passed, Wall: s.began.UnixNano() + passed}
}
