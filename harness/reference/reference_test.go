package reference

import (
	"context"
	"crypto/tls"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/reference/bare"
	"github.com/pronybench/prony/harness/scenario"
)

func config(t *testing.T) Config {
	return Config{
		Dir: t.TempDir(), Driver: "stream", Listen: "tcp", Callers: 3, Connections: 2, Batch: 2, Payload: 100, For: 5 * time.Millisecond,
		BareFor: 5 * time.Millisecond,
	}
}

func TestMain(m *testing.M) {
	if bare.IsChild(os.Args) {
		os.Exit(bare.Main(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// Each reference returns figures, over each transport, and leaves nothing behind.
func TestMeasure(t *testing.T) {
	for _, name := range scenario.ReferenceNames() {
		assert.NotEmpty(t, Describe(name, config(t)).Operation)
		for _, driver := range []string{"stream", "unary", "rest"} {
			for _, listen := range []string{"tcp", "unix"} {
				c := config(t)
				c.Driver, c.Listen, c.TLS, c.Sync, c.Procs = driver, listen, listen == "unix", listen == "unix", 2
				s, err := Measure(t.Context(), name, c)
				require.NoError(t, err, "%s, %s, %s", name, driver, listen)
				assert.Positive(t, s.PerS, name)
				assert.Positive(t, s.CPUUs, name)
				if name == scenario.ReferenceBare {
					assert.Positive(t, s.ServerCPUUs)
					assert.Positive(t, s.ClientCPUUs)
					assert.InEpsilon(t, s.CPUUs, s.ServerCPUUs+s.ClientCPUUs, 1e-9)
				}
				left, err := os.ReadDir(c.Dir)
				require.NoError(t, err)
				assert.Empty(t, left, name)
			}
		}
	}
}

func TestMeasureFails(t *testing.T) {
	c := config(t)
	c.Driver = "null"
	_, err := Measure(t.Context(), scenario.ReferenceEcho, c)
	require.ErrorContains(t, err, `measure the reference echo: driver "null" has no transport`)
	_, err = Measure(t.Context(), "sun", c)
	require.ErrorContains(t, err, `unknown reference "sun"`)
	c.Dir = "/does/not/exist"
	for _, name := range []string{scenario.ReferenceBare, scenario.ReferencePebbleCommit, scenario.ReferenceFsync} {
		_, err = Measure(t.Context(), name, c)
		require.ErrorContains(t, err, "measure the reference "+name)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range scenario.ReferenceNames() {
		_, err = Measure(ended, name, config(t))
		require.ErrorIs(t, err, context.Canceled, name)
	}
}

// The conditions of the bare data path are those of the scenario, and are recorded.
func TestDescribeTheBareDataPath(t *testing.T) {
	for _, c := range []struct {
		batch      int
		sync       bool
		bareBatch  int
		durability string
		says       string
	}{
		{1, false, 1, "none", "with 1 task a call, at durability none"},
		{2, true, 64, "sync", "with 64 tasks a call, at durability sync"},
		{500, false, 64, "none", "with 64 tasks a call, at durability none"},
	} {
		of := Describe(scenario.ReferenceBare, Config{Batch: c.batch, Sync: c.sync})
		assert.Equal(t, []any{c.bareBatch, c.durability}, []any{of.Batch, of.Durability})
		assert.Contains(t, of.Operation, c.says)
	}
	assert.Zero(t, Describe(scenario.ReferenceEcho, Config{Batch: 64}).Batch)
}

// The compiler does not remove the computation: the state after an operation depends on each of its
// steps.
func TestCompute(t *testing.T) {
	seen := map[uint64]bool{}
	for state := uint64(1); len(seen) < 100; {
		state = compute(state)
		require.False(t, seen[state])
		seen[state] = true
	}
}

func TestOf(t *testing.T) {
	s := &scenario.Scenario{
		Topology: scenario.Topology{Durability: "sync", Listen: "unix", Procs: 1, TLS: true},
		Phases:   scenario.Phases{Window: 10 * time.Second},
		Workloads: []scenario.Workload{{
			Driver: "unary", Producers: 1000, Connections: 4, Batch: 64, Procs: 2, Payload: scenario.Payload{Kind: "uniform", Min: 64, Max: 256},
		}},
	}
	assert.Equal(t, Config{
		Dir: "d", Driver: "unary", Listen: "unix", TLS: true, Callers: callersMax, Connections: 4, Procs: 3, Batch: 64, Payload: 160, Sync: true,
		For: 100 * time.Millisecond, BareFor: time.Second,
	}, Of(s, "d"))
	s.Workloads[0].Payload = scenario.Payload{Kind: scenario.Lognormal, Median: 90, Min: 1, Max: 5000}
	s.Topology.Procs, s.Topology.Durability = 0, "none"
	c := Of(s, "d")
	assert.Equal(t, []any{90, 0, false}, []any{c.Payload, c.Procs, c.Sync})
}

// With TLS the echo encrypts its connections, and its clients trust no other server.
func TestEchoIsEncrypted(t *testing.T) {
	for _, driver := range []string{"stream", "unary", "rest"} {
		for _, encrypted := range []bool{true, false} {
			server, err := newEchoServer(driver, encrypted)
			require.NoError(t, err)
			address := serveEcho(t, server)
			conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
			if !encrypted {
				require.Error(t, err, "%s answers in plain text", driver)
				continue
			}
			require.NoError(t, err, driver)
			require.NoError(t, conn.Close())
			stranger, err := newEchoServer(driver, true)
			require.NoError(t, err)
			defer stranger.stop()
			assert.ErrorContains(t, exchangeOnce(t, stranger, address), "certificate", driver)
			assert.NoError(t, exchangeOnce(t, server, address), driver)
		}
	}
}

// serveEcho serves on a free port until the test ends.
func serveEcho(t *testing.T, server echoServer) (address string) {
	t.Helper()
	listener, _, err := listen("tcp")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.serve(listener) }()
	t.Cleanup(func() {
		server.stop()
		assert.NoError(t, <-served)
	})
	return listener.Addr().String()
}

// exchangeOnce exchanges a message between a client of the echo and the server at address.
func exchangeOnce(t *testing.T, of echoServer, address string) (err error) {
	t.Helper()
	conn, err := of.dial(t.Context(), "tcp", address)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.close()) }()
	call, err := conn.caller(t.Context())
	if err != nil {
		return err
	}
	return call([]byte("hello"))
}

// Every caller exchanges a message in the warm-up, which connects it, regardless of the length of
// the warm-up.
func TestEachCallerExchanges(t *testing.T) {
	var calls [3]int
	var callers []exchange
	for i := range calls {
		callers = append(callers, func([]byte) error {
			calls[i]++
			return nil
		})
	}
	m, err := exchangeFor(0, callers, nil)
	require.NoError(t, err)
	assert.Equal(t, uint64(3), m.operations)
	assert.Equal(t, [3]int{1, 1, 1}, calls)
}
