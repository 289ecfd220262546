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
			first := s.start(t)
			assert.False(t, first.Began.Before(began))
			next, err := first.Restart(t.Context(), how)
			require.NoError(t, err)
			<-first.Exited()
			require.NoError(t, first.ExitError(), "it was asked for")
			assert.NotEqual(t, first.PID, next.PID)
			assert.Equal(t, first.DataDir(), next.DataDir())
			assert.True(t, next.Began.After(first.Began))
			connection, err := net.Dial("tcp", next.Address)
			require.NoError(t, err)
			require.NoError(t, connection.Close())
			lines, err := next.LastLines(9)
			require.NoError(t, err)
			want := []string{"durability=interval interval=20ms shards=0 busy-poll=true", "durability=interval interval=20ms shards=0 busy-poll=true", "found records"}
			if how == Term {
				want = append(want[:1], append([]string{"closed"}, want[1:]...)...)
			}
			assert.Equal(t, want, lines, "the log goes on")

			require.NoError(t, first.Stop(t.Context()), "it is the next one's to stop")
			select {
			case <-next.Exited():
				t.Fatal("the new server is running")
			default:
			}
			assert.DirExists(t, next.DataDir())
			_, err = first.Restart(t.Context(), how)
			require.ErrorContains(t, err, "stopped or restarted before")
			again, err := next.Restart(t.Context(), Kill)
			require.NoError(t, err)
			require.NoError(t, again.Stop(t.Context()))
			s.assertEmpty(t)
		})
	}
}

func TestRestartThatFailsLeavesNothing(t *testing.T) {
	t.Run("the server does not end in order", func(t *testing.T) {
		s := newSite(t, "fails to close")
		node := s.start(t)
		_, err := node.Restart(t.Context(), Term)
		require.ErrorContains(t, err, "did not end in order")
		assert.NotEmpty(t, serverError(t, err).Lines)
		require.NoError(t, node.Stop(t.Context()))
		s.assertEmpty(t)
	})
	t.Run("the server has ended by itself", func(t *testing.T) {
		s := newSite(t, "good")
		node := s.start(t)
		require.NoError(t, node.process.kill())
		_, err := node.Restart(t.Context(), Kill)
		require.ErrorContains(t, err, "ended by itself")
		s.assertEmpty(t)
	})
	t.Run("the data is spoilt", func(t *testing.T) {
		s := newSite(t, "good")
		node := s.start(t)
		require.NoError(t, os.WriteFile(filepath.Join(node.DataDir(), "store"), []byte("bits"), 0o600))
		_, err := node.Restart(t.Context(), Kill)
		require.ErrorContains(t, err, "neither empty nor what was left in it")
		assert.NotEmpty(t, serverError(t, err).Lines)
		s.assertEmpty(t)
	})
	t.Run("it is given up", func(t *testing.T) {
		s := newSite(t, "good")
		node := s.start(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := node.Restart(ctx, Kill)
		require.ErrorIs(t, err, context.Canceled)
		s.assertEmpty(t)
	})
}

func TestShardsAreAskedFor(t *testing.T) {
	s := newSite(t, "good")
	s.config.Topology.Kind, s.config.Topology.Shards = "sharded", 4
	node := s.start(t)
	lines, err := node.LastLines(1)
	require.NoError(t, err)
	assert.Equal(t, []string{"durability=interval interval=20ms shards=4 busy-poll=true"}, lines)
}

func TestTokenIsRead(t *testing.T) {
	node := newSite(t, "token").start(t)
	assert.Equal(t, "secret", node.Token)
	next, err := node.Restart(t.Context(), Kill)
	require.NoError(t, err)
	assert.Equal(t, "secret", next.Token)
	require.NoError(t, next.Stop(t.Context()))
	assert.Empty(t, newSite(t, "good").start(t).Token, "a server that has none")
	for _, mode := range []string{"no token", "two tokens"} {
		s := newSite(t, mode)
		_, err := Start(t.Context(), s.config)
		require.ErrorContains(t, err, "does not hold a token")
		s.assertEmpty(t)
	}
}

// What is in the harness's own environment does not configure the server.
func TestServerIsConfiguredByTheScenarioAlone(t *testing.T) {
	s := newSite(t, "good")
	t.Setenv("QUEUED_HTTP", "127.0.0.1:7072")
	t.Setenv("QUEUED_AUTH", "off")
	node := s.start(t)
	assert.Equal(t, "127.0.0.1:0", node.HTTP, "the system chooses the port")
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(node.PID), "environ"))
	require.NoError(t, err)
	assert.NotContains(t, string(environ), "QUEUED_")
}
