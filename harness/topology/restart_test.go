package topology

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRestartKeepsTheData(t *testing.T) {
	for name, how := range map[string]Ending{"SIGTERM": Term, "SIGKILL": Kill} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "good")
			began := time.Now()
			c := s.start(t)
			server := only(t, c)
			first := server.Node()
			firstBegan := c.Began()
			assert.False(t, firstBegan.Before(began))
			require.NoError(t, c.Restart(t.Context(), how, nil))
			<-first.Exited()
			require.NoError(t, first.ExitError(), "a requested end is not a failure")
			require.NoError(t, c.Failure())
			next := server.Node()
			assert.NotEqual(t, first.PID, next.PID)
			assert.True(t, c.Began().After(firstBegan))
			assert.Positive(t, server.CPUOfEnded())
			connection, err := net.Dial("tcp", next.Address)
			require.NoError(t, err)
			require.NoError(t, connection.Close())
			lines, err := next.LastLines(9)
			require.NoError(t, err)
			want := []string{"durability=interval interval=20ms shards=0 busy-poll=true", "durability=interval interval=20ms shards=0 busy-poll=true", "found records"}
			if how == Term {
				want = append(want[:1], append([]string{"closed"}, want[1:]...)...)
			}
			assert.Equal(t, want, lines, "the log continues")

			require.NoError(t, c.Restart(t.Context(), Kill, nil))
			require.NoError(t, c.Stop(t.Context()))
			require.ErrorContains(t, c.Restart(t.Context(), how, nil), "the servers are already stopped")
			s.assertEmpty(t)
		})
	}
}

func TestRestartThatFailsLeavesNothing(t *testing.T) {
	t.Run("the server does not end in order", func(t *testing.T) {
		s := newSite(t, "fails to close")
		c := s.start(t)
		err := c.Restart(t.Context(), Term, nil)
		require.ErrorContains(t, err, "did not end in order")
		assert.NotEmpty(t, serverError(t, err).Lines)
		s.assertEmpty(t)
		require.NoError(t, c.Stop(t.Context()), "Stop has nothing to do")
	})
	t.Run("the server has ended by itself", func(t *testing.T) {
		s := newSite(t, "good")
		c := s.start(t)
		require.NoError(t, only(t, c).Node().process.Kill())
		err := c.Restart(t.Context(), Kill, nil)
		assert.Equal(t, "signal: killed", serverError(t, err).Status)
		s.assertEmpty(t)
	})
	t.Run("the data is damaged", func(t *testing.T) {
		s := newSite(t, "good")
		c := s.start(t)
		require.NoError(t, os.WriteFile(filepath.Join(only(t, c).DataDir(), "store"), []byte("bits"), 0o600))
		err := c.Restart(t.Context(), Kill, nil)
		require.ErrorContains(t, err, "neither empty nor unchanged")
		assert.NotEmpty(t, serverError(t, err).Lines)
		s.assertEmpty(t)
	})
	t.Run("the start is cancelled", func(t *testing.T) {
		s := newSite(t, "good")
		c := s.start(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, c.Restart(ctx, Kill, nil), context.Canceled)
		s.assertEmpty(t)
	})
}

func TestShardsAreAskedFor(t *testing.T) {
	s := newSite(t, "good")
	s.config.Topology.Kind, s.config.Topology.Shards = "sharded", 4
	lines, err := only(t, s.start(t)).Node().LastLines(1)
	require.NoError(t, err)
	assert.Equal(t, []string{"durability=interval interval=20ms shards=4 busy-poll=true"}, lines)
}

func TestTokenIsRead(t *testing.T) {
	c := newSite(t, "token").start(t)
	assert.Equal(t, "secret", c.Token)
	require.NoError(t, c.Restart(t.Context(), Kill, nil))
	assert.Equal(t, "secret", c.Token)
	require.NoError(t, c.Stop(t.Context()))
	assert.Empty(t, newSite(t, "good").start(t).Token, "the server needs no token")
	for _, mode := range []string{"no token", "two tokens"} {
		s := newSite(t, mode)
		_, err := Start(t.Context(), s.config)
		require.ErrorContains(t, err, "does not hold a token")
		s.assertEmpty(t)
	}
}

// The environment of the harness does not configure the server.
func TestServerIsConfiguredByTheScenarioAlone(t *testing.T) {
	s := newSite(t, "good")
	t.Setenv("QUEUED_HTTP", "127.0.0.1:7072")
	t.Setenv("QUEUED_AUTH", "off")
	node := only(t, s.start(t)).Node()
	assert.Equal(t, "127.0.0.1:0", node.HTTP, "the system chooses the port")
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(node.PID), "environ"))
	require.NoError(t, err)
	assert.NotContains(t, string(environ), "QUEUED_")
}
