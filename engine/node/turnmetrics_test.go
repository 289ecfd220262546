package node

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

// A scrape shows the turns of each shard: their times, with an edge at 2 ms, and the most items of one.
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
	require.Eventually(t, func() bool { // the turn's figures may come after its answers
		return number(scrape(t, r.node), `prony_shard_turn_items_max{shard="0"}`) >= tasks
	}, adminPatience, time.Millisecond)
	m := scrape(t, r.node)
	turns := number(m, `prony_shard_turn_seconds_count{shard="0"}`)
	assert.Positive(t, turns)
	assert.Positive(t, number(m, `prony_shard_turn_seconds_sum{shard="0"}`))
	assert.LessOrEqual(t, number(m, `prony_shard_turn_seconds_bucket{shard="0",le="0.002"}`), turns)
}

// A cluster's node shows the turns of the shards that it leads, and guards /metrics as well.
func TestTurnsOfAClusterAreShown(t *testing.T) {
	n, _ := openAuth(t, t.TempDir(), func(c *Config) {
		c.Insecure, c.Metrics.Auth = true, true
		c.Cluster = Cluster{Node: "n1", Listen: "127.0.0.1:0", ElectionTimeout: ElectionTimeoutMin}
	})
	require.Eventually(t, func() bool { // the leader makes the token
		_, err := os.Stat(n.TokenFile())
		return err == nil
	}, adminPatience, 10*time.Millisecond)
	secret := secretOf(t, n)
	require.Eventually(t, func() bool { // the node knows the tokens a moment later
		code, _ := askAdmin(t, n, http.MethodGet, "/metrics", secret)
		return code == http.StatusOK
	}, adminPatience, 10*time.Millisecond)
	require.True(t, works(t, n, secret)) // it enqueues a task
	require.Eventually(t, func() bool {  // the turn's figures may come after its answers
		code, body := askAdmin(t, n, http.MethodGet, "/metrics", secret)
		return code == http.StatusOK && strings.Contains(body, `prony_shard_turn_seconds_count{shard="0"} `) &&
			!strings.Contains(body, `prony_shard_turn_items_max{shard="0"} 0`+"\n")
	}, adminPatience, 10*time.Millisecond)
	code, _ := askAdmin(t, n, http.MethodGet, "/metrics", "")
	assert.Equal(t, http.StatusUnauthorized, code)
}

// A turn of exactly 2 ms is not one of those above, the largest turn stays, also for the observer of a later tenure, and
// nothing is allocated.
func TestTurnsAreObserved(t *testing.T) {
	m := newTurnMetrics(2)
	observe := m.observer(1)
	for _, turn := range []shard.TurnStats{{Items: 3, Took: 2 * time.Millisecond}, {Items: 9, Took: 2*time.Millisecond + 1}, {Items: 4, Took: time.Hour}} {
		observe(turn)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m.collectors()...)
	read := func() (within2ms, count uint64, itemsMax map[string]float64) {
		families, err := registry.Gather()
		require.NoError(t, err)
		itemsMax = map[string]float64{}
		for _, f := range families {
			for _, metric := range f.GetMetric() {
				of := metric.GetLabel()[0].GetValue()
				if f.GetName() == "prony_shard_turn_items_max" {
					itemsMax[of] = metric.GetGauge().GetValue()
					continue
				}
				if of != "1" {
					continue
				}
				count = metric.GetHistogram().GetSampleCount()
				for _, b := range metric.GetHistogram().GetBucket() {
					if fmt.Sprint(b.GetUpperBound()) == "0.002" {
						within2ms = b.GetCumulativeCount()
					}
				}
			}
		}
		return within2ms, count, itemsMax
	}
	within, count, itemsMax := read()
	assert.Equal(t, uint64(1), within)
	assert.Equal(t, uint64(3), count)
	assert.Equal(t, map[string]float64{"0": 0, "1": 9}, itemsMax)

	var all sync.WaitGroup
	for begin := range 4 { // tenures may overlap for a moment
		observe := m.observer(1)
		all.Go(func() {
			for items := begin; items <= 1_000+begin; items++ {
				observe(shard.TurnStats{Items: items})
			}
		})
	}
	all.Wait()
	m.observer(1)(shard.TurnStats{Items: 5})
	_, _, itemsMax = read()
	assert.Equal(t, map[string]float64{"0": 0, "1": 1_003}, itemsMax)
	items := 2_000
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		items++
		observe(shard.TurnStats{Items: items, Took: time.Millisecond})
	}))
}
