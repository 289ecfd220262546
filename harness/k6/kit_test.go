package k6

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/grafana/sobek"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/harness/k6/k6api/k6test"
	"github.com/pronybench/prony/harness/k6run"
)

// opencensus, which k6 links, starts a goroutine in an init function.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}

// server is an engine in the test's process.
type server struct {
	address, admin, token string
	stop                  func()
}

// startServer starts a server that requires tokens.
func startServer(t testing.TB) *server {
	return startServerWith(t, node.Config{Listen: []string{"127.0.0.1:0"}})
}

// startServerWith completes a configuration and starts a server with it.
func startServerWith(t testing.TB, config node.Config) *server {
	t.Helper()
	if config.DataDir == "" {
		config.DataDir = t.TempDir()
	}
	config.Admin, config.Durability, config.Auth, config.Log = "127.0.0.1:0", storage.None, true, slog.New(slog.DiscardHandler)
	config.DiskLow = storage.SpaceMark{Set: true} // tests do not depend on the free space of the disk
	n, err := node.Open(config)
	require.NoError(t, err)
	secret, err := os.ReadFile(n.TokenFile())
	require.NoError(t, err)
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			require.NoError(t, n.Shutdown(ctx))
		}
	}
	t.Cleanup(stop)
	return &server{address: n.Addresses()[0], admin: n.Admin(), token: strings.TrimSpace(string(secret)), stop: stop}
}

// env returns the environment variables with which a script reaches the server.
func (s *server) env() map[string]string {
	return map[string]string{k6run.AddressEnv: s.address, k6run.AdminEnv: s.admin, k6run.TokenEnv: s.token}
}

// script is a running VU.
type script struct {
	*k6test.VU
	t      *testing.T
	module *Module
}

// run starts a VU with the code of its init context.
func run(t *testing.T, env map[string]string, init string) *script {
	t.Helper()
	s := read(t, New(), env, init)
	s.Run()
	return s
}

// read runs the code of an init context.
func read(t *testing.T, module *Module, env map[string]string, init string) *script {
	t.Helper()
	s := &script{VU: k6test.NewVU(t, module, env), t: t, module: module}
	t.Cleanup(func() { require.NoError(t, module.process.finish()) })
	_, err := s.VU.VU.Runtime().RunString(init)
	require.NoError(t, err)
	return s
}

// do runs the body of an async function on the event loop, and returns its value or its exception.
func (s *script) do(body string) (any, error) {
	s.t.Helper()
	var came, failure sobek.Value
	rt := s.VU.VU.Runtime()
	require.NoError(s.t, rt.Set("came", func(v sobek.Value) { came = v }))
	require.NoError(s.t, rt.Set("failed", func(v sobek.Value) { failure = v }))
	_, err := s.RunOnEventLoop("(async () => {" + body + "})().then(came, failed)")
	require.NoError(s.t, err)
	if failure != nil {
		return nil, &thrown{failure}
	}
	require.NotNil(s.t, came, "the script neither returned nor threw")
	return came.Export(), nil
}

// must is do and fails the test on an exception.
func (s *script) must(body string) any {
	s.t.Helper()
	value, err := s.do(body)
	require.NoError(s.t, err)
	return value
}

// fails is do, requires an exception and returns its message.
func (s *script) fails(body string) string {
	s.t.Helper()
	_, err := s.do(body)
	require.Error(s.t, err)
	return err.Error()
}

type thrown struct{ value sobek.Value }

func (e *thrown) Error() string {
	if o, ok := e.value.(*sobek.Object); ok && o.Get("message") != nil {
		return o.Get("message").String()
	}
	return e.value.String()
}

// fieldOf returns a field of an error that a script caught.
func fieldOf(t *testing.T, err error, name string) string {
	t.Helper()
	var e *thrown
	require.ErrorAs(t, err, &e)
	return e.value.(*sobek.Object).Get(name).String()
}
