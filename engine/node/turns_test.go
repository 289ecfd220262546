package node

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/internal/certstest"
	"github.com/pronybench/prony/engine/queuepb"
)

// A scrape shows the turns of each shard: their times, with a bucket bound at 2 ms, and the largest
// number of items.
func TestTurnsAreShown(t *testing.T) {
	r := newRESTNode(t)
	const tasks = 37
	r.post("/v1/tasks:enqueue", `{"tasks":[`+strings.Repeat(`{"queue":"q"},`, tasks-1)+`{"queue":"q"}]}`, &queuepb.EnqueueResponse{})
	number := func(m map[string]string, series string) float64 {
		require.Contains(t, m, series)
		x, err := strconv.ParseFloat(m[series], 64)
		require.NoError(t, err)
		return x
	}
	require.Eventually(t, func() bool { // the figures may appear after the answers
		return number(scrape(t, r.node), `prony_shard_turn_items_max{shard="0"}`) >= tasks
	}, adminPatience, time.Millisecond)
	m := scrape(t, r.node)
	turns := number(m, `prony_shard_turn_seconds_count{shard="0"}`)
	assert.Positive(t, turns)
	assert.Positive(t, number(m, `prony_shard_turn_seconds_sum{shard="0"}`))
	assert.LessOrEqual(t, number(m, `prony_shard_turn_seconds_bucket{shard="0",le="0.002"}`), turns)
}

// A cluster's node shows the turns of the shards that it leads, and protects /metrics too.
func TestTurnsOfAClusterAreShown(t *testing.T) {
	n, _ := openAuth(t, t.TempDir(), func(c *Config) {
		c.Insecure, c.Metrics.Auth = true, true
		c.Cluster = cluster.Config{Node: "n1", Listen: "127.0.0.1:0", CertsDir: certstest.Dir(t, "n1"), ElectionTimeout: cluster.ElectionTimeoutMin}
	})
	require.Eventually(t, func() bool { // the leader creates the token
		_, err := os.Stat(n.TokenFile())
		return err == nil
	}, adminPatience, 10*time.Millisecond)
	secret := secretOf(t, n)
	require.Eventually(t, func() bool { // the node receives the tokens a moment later
		code, _ := askAdmin(t, n, http.MethodGet, "/metrics", secret)
		return code == http.StatusOK
	}, adminPatience, 10*time.Millisecond)
	require.True(t, works(t, n, secret)) // it enqueues a task
	require.Eventually(t, func() bool {  // the figures may appear after the answers
		code, body := askAdmin(t, n, http.MethodGet, "/metrics", secret)
		return code == http.StatusOK && strings.Contains(body, `prony_shard_turn_seconds_count{shard="0"} `) &&
			!strings.Contains(body, `prony_shard_turn_items_max{shard="0"} 0`+"\n")
	}, adminPatience, 10*time.Millisecond)
	code, _ := askAdmin(t, n, http.MethodGet, "/metrics", "")
	assert.Equal(t, http.StatusUnauthorized, code)
}
