package node

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

// Series of the window of loss of shard 0.
const (
	unsyncedTasks   = `prony_unsynced_tasks{shard="0"}`
	unsyncedSeconds = `prony_unsynced_seconds{shard="0"}`
	lossTasksCount  = `prony_loss_window_tasks_count{shard="0"}`
	lossTasksSum    = `prony_loss_window_tasks_sum{shard="0"}`
	lossSecondsSum  = `prony_loss_window_seconds_sum{shard="0"}`
)

const unsyncedEnqueues = 37

func enqueueUnsynced(r *restNode) {
	r.post("/v1/tasks:enqueue", `{"tasks":[`+strings.Repeat(`{"queue":"q"},`, unsyncedEnqueues-1)+`{"queue":"q"}]}`, &queuepb.EnqueueResponse{})
}

// Under none, an acknowledged task is not fsynced.
func TestTheWindowOfLossOfNoneIsShown(t *testing.T) {
	r := newRESTNode(t)
	enqueueUnsynced(r)
	m := scrape(t, r.node)
	assert.Equal(t, "37", m[unsyncedTasks])
	assert.NotEqual(t, "0", m[unsyncedSeconds])
}

// Under sync the window of loss is empty. Under interval it is empty after an interval, and the
// histograms have its peaks.
func TestTheWindowOfLossOfSyncAndIntervalIsShown(t *testing.T) {
	for _, d := range []storage.Durability{storage.Sync, storage.Interval} {
		t.Run(string(d), func(t *testing.T) {
			n, _ := openAuth(t, t.TempDir(), func(c *Config) {
				c.Auth, c.HTTP, c.Durability, c.SyncInterval = false, "127.0.0.1:0", d, time.Millisecond
			})
			ctx, cancel := context.WithTimeout(t.Context(), adminPatience)
			defer cancel()
			enqueueUnsynced(&restNode{T: t, node: n, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, ctx: ctx})
			require.Eventually(t, func() bool { return scrape(t, n)[unsyncedTasks] == "0" }, adminPatience, time.Millisecond)
			m := scrape(t, n)
			assert.Equal(t, "0", m[unsyncedSeconds])
			if d == storage.Sync {
				assert.Equal(t, "0", m[lossTasksCount])
				return
			}
			assert.Equal(t, "37", m[lossTasksSum])
			assert.NotEqual(t, "0", m[lossSecondsSum])
		})
	}
}

// A cluster's leader shows the acknowledged tasks that are not on its disk yet. A follower
// acknowledges nothing.
func TestTheWindowOfLossOfAClusterIsShown(t *testing.T) {
	t.Parallel()
	c := newConfigured(t, calm, 0, 0, 0)
	led := c.leader()
	ctx, cancel := context.WithTimeout(t.Context(), adminPatience)
	defer cancel()
	tasks := make([]*queuepb.NewTask, unsyncedEnqueues)
	for i := range tasks {
		tasks[i] = &queuepb.NewTask{Queue: "q"}
	}
	_, err := queuepb.NewQueueServiceClient(c.conns[led]).Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: tasks})
	require.NoError(t, err)
	for _, id := range c.ids {
		want := "0"
		if id == led {
			want = "37"
		}
		assert.Equal(t, want, scrape(t, c.nodes[id])[unsyncedTasks], id)
	}
}
