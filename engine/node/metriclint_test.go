package node

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queuepb"
)

// runtimeProblems are promlint's problems with names that client_golang derives from the Go
// runtime.
var runtimeProblems = map[string]bool{}

// lint checks a node's metrics page like promtool: base units, for example.
func lint(t *testing.T, n *Node) {
	t.Helper()
	code, page := ask(t, n.Admin(), "/metrics")
	require.Equal(t, http.StatusOK, code)
	problems, err := promlint.New(bytes.NewReader(page)).Lint()
	require.NoError(t, err)
	for _, p := range problems {
		assert.True(t, runtimeProblems[p.Metric], "%s: %s", p.Metric, p.Text)
	}
}

// promtool accepts the names of all series, including those of a cluster and of tenants.
func TestMetricsPassTheLinter(t *testing.T) {
	t.Parallel()
	t.Run("alone, with tenants", func(t *testing.T) { lint(t, usedNode(t)) })
	t.Run("in a cluster", func(t *testing.T) {
		c := newConfigured(t, func(id string, c *Config) {
			calm(id, c)
			c.Metrics.Tenants = true
		}, 0, 0, 0)
		led := c.leader()
		ctx, cancel := context.WithTimeout(t.Context(), adminPatience)
		defer cancel()
		_, err := queuepb.NewQueueServiceClient(c.conns[led]).Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
		require.NoError(t, err)
		for _, id := range c.ids {
			lint(t, c.nodes[id])
		}
		assert.Contains(t, fmt.Sprint(scrape(t, c.nodes[led])), "prony_raft_append_seconds", "the page has the cluster's series")
	})
}
