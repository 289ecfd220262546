package rpc_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/test/bufconn"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc"
	"github.com/pronybench/prony/engine/rpc/admin"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

type records struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (r *records) Load(context.Context) (out []access.Record, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, value := range r.m {
		out = append(out, access.Record{Key: key, Value: value})
	}
	return out, nil
}

func (r *records) Save(_ context.Context, puts []access.Record, deletes []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range deletes {
		delete(r.m, key)
	}
	for _, p := range puts {
		r.m[p.Key] = p.Value
	}
	return nil
}

type someHost struct{}

func (someHost) Status() admin.Status { return admin.Status{NotReady: "it is a test's"} }

func (someHost) Backup(context.Context, string) (path string, bytes int64, err error) {
	return "/nowhere", 1, nil
}

// guarded is a server that requires tokens.
type guarded struct {
	*testing.T

	group    *shard.Group
	registry *access.Registry
	auth     *call.Auth
	service  *rpc.Service
	admin    adminpb.AdminServiceServer
	listener *bufconn.Listener
	ctx      context.Context
}

func guard(t *testing.T) *guarded {
	t.Helper()
	return guardWithin(t, nil)
}

// guardWithin is guard with bounds; nil means the default bounds.
func guardWithin(t *testing.T, bounds *call.Bounds) *guarded {
	t.Helper()
	registry := access.New(access.Options{})
	require.NoError(t, registry.Load(context.Background(), &records{m: map[string][]byte{}}))
	store, err := storage.Open("shard", storage.Options{FS: vfs.NewMem(), Durability: storage.None})
	require.NoError(t, err)
	s, err := shard.NewGroup([]*storage.Store{store}, func(int) shard.Options {
		return shard.Options{Queue: queue.Config{Account: registry.Account}}
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	g := &guarded{T: t, group: s, registry: registry, auth: call.NewAuth(registry), listener: bufconn.Listen(1 << 16), ctx: ctx}
	g.service = rpc.NewService(s, queue.DefaultLimits(), registry)
	if bounds != nil {
		g.service.Within(bounds)
	}
	server := rpc.NewServer(g.service, health.NewServer(), g.auth)
	g.admin = admin.New(s, queue.DefaultLimits(), registry, someHost{})
	adminpb.RegisterAdminServiceServer(server, g.admin)
	served := make(chan error, 1)
	go func() { served <- server.Serve(g.listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; !errors.Is(err, grpc.ErrServerStopped) {
			require.NoError(t, err)
		}
		s.Close()
		require.NoError(t, store.Close())
		registry.Close()
		cancel()
	})
	return g
}

// token creates a token and returns its id and secret.
func (g *guarded) token(tenant string, scopes access.Scopes) (id, secret string) {
	g.Helper()
	t, secret, err := g.registry.CreateToken(g.ctx, access.Everybody(), access.NewToken{Tenant: tenant, Scopes: scopes})
	require.NoError(g, err)
	return t.ID, secret
}

func (g *guarded) revoke(id string) {
	g.Helper()
	require.NoError(g, g.registry.RevokeToken(g.ctx, access.Everybody(), id))
}

func (g *guarded) configure(q access.Quotas) {
	g.Helper()
	_, err := g.registry.ConfigureTenant(g.ctx, access.Everybody(), "t0", q)
	require.NoError(g, err)
}

// dial connects with the secret of a token, or without a token if secret is empty.
func (g *guarded) dial(secret string) *grpc.ClientConn {
	g.Helper()
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return g.listener.DialContext(ctx) }),
	}
	if secret != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer("Bearer "+secret)))
	}
	conn, err := grpc.NewClient("passthrough:///memory", options...)
	require.NoError(g, err)
	g.Cleanup(func() { require.NoError(g, conn.Close()) })
	return conn
}

// as returns a client with a new token of a tenant.
func (g *guarded) as(tenant string, scopes access.Scopes) queuepb.QueueServiceClient {
	g.Helper()
	_, secret := g.token(tenant, scopes)
	return queuepb.NewQueueServiceClient(g.dial(secret))
}

type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }
