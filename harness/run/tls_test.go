package run

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/clienttls"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/open"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// plainPatience is for clients in plain text: gRPC clients keep dialling a server that closes each
// of their connections.
const plainPatience = 500 * time.Millisecond

// kindsOfTLS are short scenarios with TLS, on one server and on a cluster.
func kindsOfTLS() map[string]func() *scenario.Scenario {
	withTLS := func(of func() *scenario.Scenario) func() *scenario.Scenario {
		return func() *scenario.Scenario {
			s := of()
			s.Topology.TLS = true
			return s
		}
	}
	return map[string]func() *scenario.Scenario{"single": withTLS(small), "raft": withTLS(cluster)}
}

var driversOfTLS = []string{"stream", "unary", "rest"}

// A whole run over TLS: load, counters, profiles and the audit.
func TestRunsOverTLS(t *testing.T) {
	t.Parallel()
	for kind, of := range kindsOfTLS() {
		for _, name := range driversOfTLS {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				s := of()
				s.Workloads[0].Driver = name
				s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
				r := executeCalm(t, s).result
				require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
				assert.Positive(t, r.Rounds[0].Cycles)
				assert.Contains(t, r.Manifest.Scenario.Settings(), scenario.Setting{Path: "topology.tls", Value: "true", Default: "false"})
				require.NotEmpty(t, r.Manifest.Servers)
				for _, settings := range r.Manifest.Servers {
					for _, of := range settings.Settings {
						assert.NotContains(t, []string{"tls.cert", "tls.key"}, of.Name, "file paths differ between rounds")
					}
				}
			})
		}
	}
}

// Each cluster has a separate certificate: it refuses clients that trust the CA of another cluster
// and clients in plain text. Only the user who runs the test can read the key file. Stopping the
// cluster removes all certificate files.
func TestServersShowTheCertificateThatWasMadeForThem(t *testing.T) {
	t.Parallel()
	other := serversOverTLS(t, small().Topology.Kind)
	require.NotEmpty(t, other.CA)
	for kind := range kindsOfTLS() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := serversOverTLS(t, kind)
			require.NotEqual(t, other.CA, c.CA)
			address, http := c.Addresses()
			for _, name := range driversOfTLS {
				trusting := func(ca clienttls.CA, within time.Duration) error {
					return enqueueOne(t, name, driver.Target{Address: address, HTTP: http, Token: c.Token, CA: ca}, within)
				}
				require.NoError(t, trusting(c.CA, patience), name)
				// A cluster's client retries until its context ends, and then returns the last
				// error.
				const says = "certificate signed by unknown authority"
				err := trusting(other.CA, plainPatience)
				for within := plainPatience; within < patience && !strings.Contains(fmt.Sprint(err), says); within *= 2 {
					err = trusting(other.CA, 2*within)
				}
				require.ErrorContains(t, err, says, name)
				require.Error(t, trusting(clienttls.CA{}, plainPatience), "%s in plain text", name)
			}
		})
	}
}

// serversOverTLS starts the real servers of a kind of topology.
func serversOverTLS(t *testing.T, kind string) *topology.Cluster {
	t.Helper()
	dir := t.TempDir()
	c, err := topology.Start(t.Context(), topology.Config{
		Binary: queued, Dir: dir, LogPath: filepath.Join(t.TempDir(), "server.log"), Topology: kindsOfTLS()[kind]().Topology, StartTimeout: patience,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Stop(context.Background()))
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left)
	})
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(filepath.Dir(path)) != clienttls.ServerName {
			return err
		}
		info, err := d.Info()
		assert.Equal(t, fs.FileMode(0o600), info.Mode(), path)
		files++
		return err
	}))
	assert.Equal(t, 3, files, "the authority, the certificate and its key")
	keys, err := filepath.Glob(filepath.Join(dir, "*", "tls", "ca.key"))
	require.NoError(t, err)
	assert.Empty(t, keys, "the key of the authority is not stored")
	return c
}

// enqueueOne enqueues one task through a driver.
func enqueueOne(t *testing.T, name string, target driver.Target, within time.Duration) (err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	conn, err := open.By(name, target, time.Minute)()
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	p, err := conn.Producer(ctx, "default")
	if err != nil {
		return err
	}
	outcomes := make([]error, 1)
	if err := p.Enqueue(ctx, []driver.Task{{Tenant: "default", Queue: "q", Payload: []byte("x")}}, outcomes); err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	return outcomes[0]
}
