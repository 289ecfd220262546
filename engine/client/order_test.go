package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

// A delayed task of an ordered queue takes its place by its due time, also after a restart. The
// first three tasks are enqueued in one call, and so at the same time of the server.
func TestADelayedTaskTakesItsPlaceByItsDueTime(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r := &restarted{T: t, config: node.Config{
		DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Admin: "127.0.0.1:0", Shards: 2, Durability: storage.None, DiskLow: storage.SpaceMark{Set: true},
	}}
	r.start()
	r.config.Listen = r.node.Addresses()
	t.Cleanup(func() { r.stop(false) })
	c, err := client.Dial(r.config.Listen[0])
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	admin, err := client.DialAdmin(r.node.Admin())
	require.NoError(t, err)
	defer func() { require.NoError(t, admin.Close()) }()

	for _, name := range []string{"running", "restarted"} {
		_, err := admin.ConfigureQueue(ctx, &adminpb.ConfigureQueueRequest{
			Queue: name, Policy: &adminpb.QueuePolicy{Placement: adminpb.Placement_PLACEMENT_ORDERED},
		})
		require.NoError(t, err)
		enqueue := func(tasks ...*queuepb.NewTask) {
			for _, task := range tasks {
				task.Queue = name
			}
			_, err := c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: tasks})
			require.NoError(t, err)
		}
		enqueue(
			&queuepb.NewTask{Payload: []byte("first")},
			&queuepb.NewTask{Payload: []byte("second"), DelayMs: 100},
			&queuepb.NewTask{Payload: []byte("third")},
		)
		require.Eventually(t, func() bool {
			q, err := admin.GetQueue(ctx, &adminpb.GetQueueRequest{Queue: name})
			require.NoError(t, err)
			return q.GetQueue().GetReady() == 3
		}, patience, time.Millisecond)
		enqueue(&queuepb.NewTask{Payload: []byte("fourth")})
	}

	claim := func(name string) (payloads []string) {
		for range 4 {
			out, err := c.API().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{name}})
			require.NoError(t, err)
			for _, task := range out.GetTasks() {
				payloads = append(payloads, string(task.GetPayload()))
			}
		}
		return payloads
	}
	want := []string{"first", "third", "second", "fourth"}
	assert.Equal(t, want, claim("running"))
	r.stop(false)
	r.start()
	assert.Equal(t, want, claim("restarted"))
}
