package topology

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/scenario"
)

func embeddedConfig(t *testing.T) Config {
	t.Helper()
	return Config{
		Dir: t.TempDir(), LogPath: filepath.Join(t.TempDir(), "server.log"),
		Topology:     scenario.Topology{Kind: scenario.Embedded, Shards: 2, Durability: "none"},
		StartTimeout: long, StopTimeout: long,
	}
}

func TestAnEmbeddedServer(t *testing.T) {
	config := embeddedConfig(t)
	c, err := Start(t.Context(), config)
	require.NoError(t, err)
	s := only(t, c)
	n := s.Node()
	assert.Equal(t, os.Getpid(), n.PID)
	assert.True(t, n.Running())
	connection, err := n.Dial(t.Context())
	require.NoError(t, err)
	require.NoError(t, connection.Close())
	require.NoError(t, callReady(t.Context(), c.Client(n.Admin)))

	require.ErrorIs(t, s.Pause(), errCantPause)
	require.ErrorIs(t, c.Restart(t.Context(), Kill, nil), errCantKill)
	require.True(t, s.Running(), "the server still runs")
	assert.Equal(t, "running", n.fail("it is slow", nil).Status)

	require.NoError(t, c.Restart(t.Context(), Term, nil))
	again := s.Node()
	require.NotSame(t, n, again)
	assert.False(t, n.Running())
	require.NoError(t, n.ExitError(), "a requested end is not a failure")
	assert.Equal(t, "it ended in order", n.fail("it has ended", nil).Status)
	assert.Zero(t, s.CPUOfEnded())
	_, err = n.Dial(t.Context())
	require.Error(t, err, "the server has ended")
	require.NoError(t, callReady(t.Context(), c.Client(again.Admin)))

	require.NoError(t, c.Stop(context.Background()))
	assert.NoError(t, c.Failure())
	entries, err := os.ReadDir(config.Dir)
	require.NoError(t, err)
	assert.Empty(t, entries, "the data is removed")
	assert.FileExists(t, config.LogPath)
}

func TestAnEmbeddedServerThatCantBeOpened(t *testing.T) {
	s := golden.Cases(t, "testdata/embedded.golden")
	for name, c := range map[string]struct {
		change func(*Config)
	}{
		"durability": {func(c *Config) { c.Topology.Durability = "sometimes" }},
		"shards":     {func(c *Config) { c.Topology.Shards = 1000 }},
		"procs":      {func(c *Config) { c.Topology.Procs = 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			config := embeddedConfig(t)
			s.Replace(config.Dir, "DIR")
			c.change(&config)
			_, err := Start(t.Context(), config)
			s.Error(t, name, err)
			entries, err := os.ReadDir(config.Dir)
			require.NoError(t, err)
			assert.Empty(t, entries)
		})
	}
}

// An embedded server that ends because of a SIGTERM from outside has ended unexpectedly.
func TestAnEmbeddedServerThatEndsByItself(t *testing.T) {
	c, err := Start(t.Context(), embeddedConfig(t))
	require.NoError(t, err)
	require.NoError(t, only(t, c).Node().process.Kill())
	<-c.Failed()
	var failed *ServerError
	require.ErrorAs(t, c.Failure(), &failed)
	assert.Equal(t, "it ended in order", failed.Status)
	require.Error(t, c.Stop(context.Background()))
}

func TestAnEmbeddedServerThatFails(t *testing.T) {
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	e := &embedded{log: log, exited: make(chan struct{})}
	require.NoError(t, e.Err())
	assert.False(t, e.Orderly(), "a running server has no result")
	full := errors.New("no space left")
	e.end(full)
	require.ErrorIs(t, e.Err(), full)
	assert.False(t, e.Orderly())
	assert.Equal(t, "it failed", e.Status())
}

func TestNoTopologyHasNoServer(t *testing.T) {
	config := embeddedConfig(t)
	config.Topology = scenario.Topology{Kind: scenario.NoTopology}
	c, err := Start(t.Context(), config)
	require.NoError(t, err)
	assert.Empty(t, c.Servers())
	assert.Zero(t, c.Began())
	_, err = c.Leaders(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.WaitForLeaders(t.Context()))
	require.NoError(t, c.Restart(t.Context(), Term, nil))
	require.NoError(t, c.Stop(context.Background()))
}
