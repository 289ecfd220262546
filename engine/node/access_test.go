package node

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/storage"
)

// openAuth opens a node with authentication. stop may be called before the end of the test.
func openAuth(t *testing.T, dir string, change func(*Config)) (n *Node, stop func()) {
	t.Helper()
	c := Config{DataDir: dir, Listen: []string{"127.0.0.1:0"}, Admin: "127.0.0.1:0", Durability: storage.None, Auth: true}
	if change != nil {
		change(&c)
	}
	n, err := Open(c)
	require.NoError(t, err)
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
		defer cancel()
		require.NoError(t, n.Shutdown(ctx))
	}
	t.Cleanup(stop)
	return n, stop
}

// secretOf reads a node's token file. It must be one line, readable only by its owner.
func secretOf(t *testing.T, n *Node) string {
	t.Helper()
	require.True(t, filepath.IsAbs(n.TokenFile()))
	info, err := os.Stat(n.TokenFile())
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	text, err := os.ReadFile(n.TokenFile())
	require.NoError(t, err)
	secret, ok := strings.CutSuffix(string(text), "\n")
	require.True(t, ok)
	assert.NotContains(t, secret, "\n")
	return secret
}

func works(t *testing.T, n *Node, secret string) bool {
	t.Helper()
	err := enqueueAt(t, n.Addresses()[0], client.WithToken(secret))
	if err != nil {
		require.Equal(t, codes.Unauthenticated, status.Code(err), "%v", err)
	}
	return err == nil
}

func TestTheFirstStartMakesAnOperatorsToken(t *testing.T) {
	dir := t.TempDir()
	n, stop := openAuth(t, dir, nil)
	assert.Equal(t, filepath.Join(dir, "admin.token"), n.TokenFile())
	first := secretOf(t, n)
	assert.True(t, works(t, n, first))
	require.Equal(t, codes.Unauthenticated, status.Code(enqueueAt(t, n.Addresses()[0])))
	i, err := n.registry.Authenticate(first, time.Now())
	require.NoError(t, err)
	assert.True(t, i.Operator())
	assert.Equal(t, access.AllScopes, i.Scopes)
	stop()

	// Later starts do not replace the token, even if its file was removed.
	n, stop = openAuth(t, dir, nil)
	assert.Equal(t, first, secretOf(t, n))
	assert.True(t, works(t, n, first))
	stop()
	require.NoError(t, os.Remove(filepath.Join(dir, "admin.token")))
	n, stop = openAuth(t, dir, nil)
	require.NoFileExists(t, n.TokenFile())
	assert.True(t, works(t, n, first))
	stop()

	// A requested new token replaces it, and other tokens remain. A partial file of an interrupted
	// write has no effect.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "admin.token.next.tmp"), []byte("half"), 0o644))
	n, stop = openAuth(t, dir, func(c *Config) { c.NewAdminToken = true })
	second := secretOf(t, n)
	assert.NotEqual(t, first, second)
	assert.True(t, works(t, n, second))
	assert.False(t, works(t, n, first))
	stop()
	n, _ = openAuth(t, dir, nil)
	assert.True(t, works(t, n, second))
	assert.False(t, works(t, n, first))
	require.NoFileExists(t, filepath.Join(dir, "admin.token.next.tmp"))
}

// The first start fails because the token's file cannot be written. The next start creates the
// token.
func TestAFirstStartThatFailedIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "admin.token", "x")
	require.NoError(t, os.MkdirAll(blocked, 0o700))
	_, err := Open(Config{DataDir: dir, Listen: []string{"127.0.0.1:0"}, Durability: storage.None, Auth: true})
	require.ErrorContains(t, err, "admin token")
	require.ErrorContains(t, err, filepath.Join(dir, "admin.token"))
	require.NoError(t, os.RemoveAll(filepath.Dir(blocked)))
	n, _ := openAuth(t, dir, nil)
	assert.True(t, works(t, n, secretOf(t, n)))
}

func TestWithoutAuthThereIsNoTokenFile(t *testing.T) {
	dir := t.TempDir()
	n, stop := openAuth(t, dir, func(c *Config) { c.Auth = false })
	assert.Empty(t, n.TokenFile())
	require.NoFileExists(t, filepath.Join(dir, "admin.token"))
	require.NoError(t, enqueueAt(t, n.Addresses()[0]))
	stop()
	n, _ = openAuth(t, dir, nil)
	assert.True(t, works(t, n, secretOf(t, n)), "the first start with authentication creates a token")
}

// The registry's store keeps added, replaced and deleted records across a restart.
func TestTheRegistrySurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	ctx, by := context.Background(), access.Everybody()
	n, stop := openAuth(t, dir, nil)
	kept, secret, err := n.registry.CreateToken(ctx, by, access.NewToken{Tenant: call.DefaultTenant, Scopes: access.Produce})
	require.NoError(t, err)
	gone, goneSecret, err := n.registry.CreateToken(ctx, by, access.NewToken{Tenant: call.DefaultTenant, Scopes: access.Produce})
	require.NoError(t, err)
	_, rotated, err := n.registry.RotateToken(ctx, by, kept.ID, 0)
	require.NoError(t, err)
	require.NoError(t, n.registry.RevokeToken(ctx, by, gone.ID))
	_, err = n.registry.ConfigureTenant(ctx, by, call.DefaultTenant, access.Quotas{TasksMax: 2})
	require.NoError(t, err)
	stop()
	n, _ = openAuth(t, dir, nil)
	assert.False(t, works(t, n, secret))
	assert.False(t, works(t, n, goneSecret))
	assert.True(t, works(t, n, rotated))
	assert.True(t, works(t, n, rotated))
	tenants, _, err := n.registry.Tenants(by, "", access.TenantsMax)
	require.NoError(t, err)
	assert.Equal(t, []access.Tenant{{Name: call.DefaultTenant, Quotas: access.Quotas{TasksMax: 2}, Tasks: 2, Bytes: storedBytes}}, tenants, "the registry's account counts the tasks")
}

// storedBytes is the charge of two tasks of works and their queue.
var storedBytes = uint64(queue.QueueBytes(call.DefaultTenant, "q") + 2*queue.TaskBytes(0))

func TestWhatAShardHoldsIsCountedAtTheStart(t *testing.T) {
	dir := t.TempDir()
	n, stop := openAuth(t, dir, nil)
	assert.True(t, works(t, n, secretOf(t, n)))
	assert.True(t, works(t, n, secretOf(t, n)))
	stop()
	n, _ = openAuth(t, dir, nil)
	tenants, _, err := n.registry.Tenants(access.Everybody(), "", access.TenantsMax)
	require.NoError(t, err)
	assert.Equal(t, []access.Tenant{{Name: call.DefaultTenant, Tasks: 2, Bytes: storedBytes}}, tenants)
}

// askAdmin sends a request with a token to the admin listener.
func askAdmin(t *testing.T, n *Node, method, path, secret string) (int, string) {
	t.Helper()
	in, err := http.NewRequestWithContext(t.Context(), method, "http://"+n.Admin()+path, nil)
	require.NoError(t, err)
	if secret != "" {
		in.Header.Set("Authorization", "Bearer "+secret)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	out, err := transport.RoundTrip(in)
	require.NoError(t, err)
	body, err := io.ReadAll(out.Body)
	require.NoError(t, errors.Join(err, out.Body.Close()))
	if out.StatusCode == http.StatusUnauthorized {
		assert.Equal(t, "Bearer", out.Header.Get("WWW-Authenticate"))
	}
	return out.StatusCode, string(body)
}

// /metrics requires an operator's token if configured; probes never do.
func TestMetricsCanNeedAToken(t *testing.T) {
	n, _ := openAuth(t, t.TempDir(), func(c *Config) { c.Metrics.Auth = true })
	secret := func(tenant string, scopes access.Scopes) string {
		_, secret, err := n.registry.CreateToken(t.Context(), access.Everybody(), access.NewToken{Tenant: tenant, Scopes: scopes})
		require.NoError(t, err)
		return secret
	}
	for name, c := range map[string]struct {
		secret string
		want   int
	}{
		"no token":               {"", http.StatusUnauthorized},
		"an unknown token":       {"nonsense", http.StatusUnauthorized},
		"a tenant's token":       {secret("t0", access.AllScopes), http.StatusForbidden},
		"no admin scope":         {secret(access.AllTenants, access.Produce|access.Work), http.StatusForbidden},
		"the operator's token":   {secretOf(t, n), http.StatusOK},
		"another operator token": {secret(access.AllTenants, access.AllScopes), http.StatusOK},
	} {
		code, body := askAdmin(t, n, http.MethodGet, "/metrics", c.secret)
		assert.Equal(t, c.want, code, name)
		assert.Equal(t, c.want == http.StatusOK, strings.Contains(body, "prony_ready"), name)
	}
	for _, path := range []string{"/livez", "/readyz"} {
		code, _ := askAdmin(t, n, http.MethodGet, path, "")
		assert.Equal(t, http.StatusOK, code, path)
	}
}

// The setting metrics.auth is refused if authentication is off, because everyone could read the
// metrics.
func TestMetricsAuthNeedsAuth(t *testing.T) {
	c := Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Admin: "127.0.0.1:0", Durability: storage.None, Metrics: Metrics{Auth: true}}
	require.ErrorContains(t, c.Check(), "metrics.auth is true, but authentication is off")
	c.Auth = true
	require.NoError(t, c.Check())
}

// A scrape names tenants and queues only if configured. Two tenants may have queues with the same
// name.
func TestMetricsNameTenantsOnlyWhenAsked(t *testing.T) {
	dir := t.TempDir()
	n, stop := openAuth(t, dir, nil)
	for _, tenant := range []string{"acme-tenant", "umbra-tenant"} {
		_, secret, err := n.registry.CreateToken(t.Context(), access.Everybody(), access.NewToken{Tenant: tenant, Scopes: access.AllScopes})
		require.NoError(t, err)
		c, err := client.Dial(n.Addresses()[0], client.WithToken(secret))
		require.NoError(t, err)
		_, err = c.API().Enqueue(t.Context(), &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "acme-queue"}, {Queue: "acme-queue"}}})
		require.NoError(t, errors.Join(err, c.Close()))
	}
	m := scrape(t, n)
	for series := range m {
		assert.NotContains(t, series, "acme")
		assert.NotContains(t, series, "umbra")
	}
	assert.Equal(t, "2", m["prony_queues"])
	assert.Equal(t, "4", m["prony_enqueued_total"])
	assert.Equal(t, "4", m[`prony_tasks{state="ready"}`])
	stop()

	n, _ = openAuth(t, dir, func(c *Config) { c.Metrics.Tenants = true })
	m = scrape(t, n)
	assert.Equal(t, "4", m[`prony_tasks{state="ready"}`])
	assert.Equal(t, "2", m[`prony_queue_tasks{queue="acme-queue",state="ready",tenant="acme-tenant"}`])
	assert.Equal(t, "2", m[`prony_queue_tasks{queue="acme-queue",state="ready",tenant="umbra-tenant"}`])
}

func TestTheAdminListenerGuardsWhatTellsMuch(t *testing.T) {
	n, _ := openAuth(t, t.TempDir(), func(c *Config) { c.Settings = []string{"a setting"} })
	ctx := context.Background()
	secret := func(tenant string, scopes access.Scopes) string {
		_, secret, err := n.registry.CreateToken(ctx, access.Everybody(), access.NewToken{Tenant: tenant, Scopes: scopes})
		require.NoError(t, err)
		return secret
	}
	operator, tenants, producer := secretOf(t, n), secret("t0", access.AllScopes), secret(access.AllTenants, access.Produce|access.Work)
	ask := func(method, path, secret string) int {
		t.Helper()
		code, body := askAdmin(t, n, method, path, secret)
		if code >= 400 {
			assert.NotContains(t, body, "goroutine")
		}
		return code
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		assert.Equal(t, http.StatusOK, ask(http.MethodGet, path, ""), path)
	}
	for _, path := range []string{
		"GET /audit", "GET /settings", "PUT /debug/rates", "GET /debug/pprof/", "GET /debug/pprof/goroutine", "GET /debug/pprof/cmdline",
		"GET /debug/pprof/symbol", "GET /debug/pprof/profile?seconds=1", "GET /debug/pprof/trace?seconds=0.01", "GET /debug/pprof/heap?debug=1",
		"POST /debug/trace/start", "GET /debug/trace/snapshot", "POST /debug/trace/stop",
	} {
		method, path, _ := strings.Cut(path, " ")
		assert.Equal(t, http.StatusUnauthorized, ask(method, path, ""), path)
		assert.Equal(t, http.StatusUnauthorized, ask(method, path, "nonsense"), path)
		assert.Equal(t, http.StatusForbidden, ask(method, path, tenants), path)
		assert.Equal(t, http.StatusForbidden, ask(method, path, producer), path)
		assert.Equal(t, http.StatusOK, ask(method, path, operator), path)
	}
}

func TestOnlyGuardedListenersGoBeyondLoopback(t *testing.T) {
	a, files := newAuthority(t), tlsFiles(t)
	a.write(files, 1)
	mutual := files
	mutual.ClientCAFile = filepath.Join(t.TempDir(), "clients.pem")
	require.NoError(t, os.WriteFile(mutual.ClientCAFile, a.pem(), 0o600))
	for _, c := range []struct {
		name    string
		config  Config
		refused string
	}{
		{"nothing", Config{}, "TLS is off and authentication is off"},
		{"no TLS", Config{Auth: true}, "TLS is off: name a certificate"},
		{"no tokens", Config{TLS: files}, "authentication is off: leave out --auth off"},
		{"both", Config{TLS: files, Auth: true}, ""},
		{"mTLS", Config{TLS: mutual}, ""},
		{"mTLS and tokens", Config{TLS: mutual, Auth: true}, ""},
		{"explicitly insecure", Config{Insecure: true}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, admin := range []bool{false, true} {
				config := c.config
				config.DataDir, config.Durability = filepath.Join(t.TempDir(), "data"), storage.None
				config.Listen, config.Admin = []string{"0.0.0.0:0"}, "127.0.0.1:0"
				if admin {
					config.Listen, config.Admin = []string{"127.0.0.1:0"}, "0.0.0.0:0"
				}
				n, err := Open(config)
				if c.refused != "" {
					require.ErrorContains(t, err, c.refused)
					require.ErrorContains(t, err, "0.0.0.0:0")
					assert.NoDirExists(t, config.DataDir)
					continue
				}
				require.NoError(t, err)
				require.NoError(t, n.Shutdown(context.Background()))
			}
		})
	}
	_, err := Open(Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Durability: storage.None, NewAdminToken: true})
	require.ErrorContains(t, err, "authentication is off")
	_, err = Open(Config{DataDir: t.TempDir(), Listen: []string{"unix:@abstract"}, Durability: storage.None})
	require.ErrorContains(t, err, "@")
}

// The socket must never be open to others, even with a umask of 0.
func TestASocketIsNeverOpenToOthers(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	path := filepath.Join(t.TempDir(), "s")
	l, err := guardedSockets.Listen(context.Background(), "unix", path)
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // the test's own
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(socketMode), info.Mode().Perm(), "before any chmod")
}
