package redis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
)

// A claim without an answer has moved a task to the worker's list. The worker returns that task,
// and keeps the tasks that it knows.
func TestALostAnswerLosesNoTask(t *testing.T) {
	target := Lists()
	if missing := target.Describe(t.Context()).Missing; missing != "" {
		t.Skip("NOT TESTED: " + missing)
	}
	server, err := target.Launch(t.Context(), program.LaunchSpec{
		Target: "redis-list", Folder: t.TempDir(), Guarantee: program.Memory, Nodes: 1, Queues: []program.Queue{{Tenant: "t", Name: "q"}}, Lease: time.Minute,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Stop(t.Context())) }()
	opened, err := server.Dial(t.Context())
	require.NoError(t, err)
	conn := opened.(*listConn)
	producer, err := conn.Producer(t.Context(), "t")
	require.NoError(t, err)
	claims, err := conn.Worker(t.Context(), "t", []string{"q"}, 2)
	require.NoError(t, err)
	w := claims.(*listWorker)

	outcomes := make([]error, 2)
	require.NoError(t, producer.Enqueue(t.Context(), []driver.Task{{Queue: "q", Payload: []byte("held")}, {Queue: "q", Payload: []byte("lost")}}, outcomes))
	into := make([]driver.Delivery, 2)
	n, err := w.Claim(t.Context(), into[:1])
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, conn.client.LMove(t.Context(), w.queues[0].ready, w.queues[0].processing, "LEFT", "RIGHT").Err())
	w.broken.Store(true)
	n, err = w.Claim(t.Context(), into[1:])
	require.NoError(t, err)
	require.Equal(t, 1, n)
	assert.Equal(t, "held", string(into[0].Payload))
	assert.Equal(t, "lost", string(into[1].Payload))
	require.NoError(t, w.Complete(t.Context(), into[:1], outcomes[:1]))
	require.NoError(t, outcomes[0])

	// When a worker's connection closes, its tasks return to the queue.
	require.NoError(t, conn.Close())
	client := Dial(conn.client.Options().Addr)
	values, err := client.LRange(t.Context(), w.queues[0].ready, 0, -1).Result()
	require.NoError(t, err)
	assert.Equal(t, []string{"lost"}, values)
	require.NoError(t, client.Close())
}
