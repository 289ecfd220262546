package node

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// Earlier servers accepted idempotency keys with control characters. A store with such keys opens
// and serves their tasks, but new tasks with such keys are refused.
func TestAStoreWithKeysThatAreNotAcceptedAnyMore(t *testing.T) {
	config := Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", Durability: storage.Sync}
	ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
	defer cancel()
	n, err := Open(config)
	require.NoError(t, err)
	enqueue := func(n *Node) queue.Enqueued {
		t.Helper()
		// Without the check of the API.
		out, err := shard.AwaitReply(ctx, func(reply func([]queue.Enqueued, error)) error {
			return n.shards.Enqueue("default", []queue.NewTask{{Queue: "q", Key: "a\x00b\n"}}, reply)
		})
		require.NoError(t, err)
		require.Len(t, out, 1)
		require.NoError(t, out[0].Err)
		return out[0]
	}
	first := enqueue(n)
	require.NoError(t, n.Shutdown(ctx))

	n, err = Open(config)
	require.NoError(t, err)
	r := &restNode{T: t, node: n, client: &http.Client{Transport: &http.Transport{}}, ctx: ctx}
	defer func() {
		r.client.CloseIdleConnections()
		require.NoError(t, n.Shutdown(ctx))
	}()
	again := enqueue(n)
	assert.True(t, again.Duplicate)
	assert.Equal(t, first.Ref, again.Ref)
	assert.Len(t, r.claim("q", 0), 1)
	status, text, err := r.send(ctx, http.MethodPost, "/v1/tasks:enqueue", `{"tasks":[{"queue":"q","idempotency_key":"a\u0000b\n"}]}`)
	require.NoError(t, err)
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, string(text), "control character U+0000 at offset 1")
	r.post("/v1/tasks:enqueue", `{"tasks":[{"queue":"q","idempotency_key":"Bestellung für 7 €"}]}`, &queuepb.EnqueueResponse{})
}
