package topology

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func awaitFailure(t *testing.T, c *Cluster) {
	t.Helper()
	select {
	case <-c.Failed():
	case <-time.After(wait):
		require.Fail(t, "the end of a server was not recorded")
	}
}

// Revive restarts servers that ended unexpectedly, repeatedly, and resets the failure of the
// cluster.
func TestServersAreRevived(t *testing.T) {
	s := newClusterSite(t, "good")
	c := s.start(t)
	n1, n2, n3 := c.Servers()[0], c.Servers()[1], c.Servers()[2]
	revived, err := c.Revive(t.Context())
	require.NoError(t, err)
	assert.Empty(t, revived, "all run")

	for range 2 {
		began := time.Now()
		first := n2.Node()
		require.NoError(t, first.process.Kill())
		awaitFailure(t, c)
		require.NoError(t, n3.Kill()) // a kill is not a failure
		require.NoError(t, n1.Pause())
		revived, err = c.Revive(t.Context())
		require.NoError(t, err)
		require.Len(t, revived, 1)
		assert.Equal(t, "n2", revived[0].Server)
		assert.True(t, revived[0].Killed)
		assert.NotEmpty(t, revived[0].Failure.Lines)
		assert.Contains(t, revived[0].Failure.Error(), "n2: the server ended by itself")
		assert.False(t, revived[0].Ended.Before(began))
		assert.Positive(t, revived[0].Down)
		assert.LessOrEqual(t, revived[0].Down, time.Since(began))
		assert.True(t, n3.Running())
		assert.NotEqual(t, "T", stateOf(t, n1.Node().PID))
		assert.NotEqual(t, first.PID, n2.Node().PID)
		require.NoError(t, c.Failure())
		select {
		case <-c.Failed():
			require.Fail(t, "the failure was not reset")
		default:
		}
	}

	_, err = http.Get("http://" + n1.Node().Admin + "/end?status=3") //nolint:bodyclose // there is no answer
	require.Error(t, err)
	awaitFailure(t, c)
	revived, err = c.Revive(t.Context())
	require.NoError(t, err)
	require.Len(t, revived, 1)
	assert.False(t, revived[0].Killed)
	assert.Equal(t, "exit status 3", revived[0].Failure.Status)
	assert.Contains(t, strings.Join(revived[0].Failure.Lines, "\n"), "panic: out of order")
	require.NoError(t, c.Stop(t.Context()))
	s.assertAllEmpty(t)
	_, err = c.Revive(t.Context())
	golden.Cases(t, "testdata/revive.golden").Error(t, "stopped", err)
}
