package client

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

func get(ctx context.Context, c *Client) (at string, err error) {
	out, err := c.API().GetTask(ctx, &queuepb.GetTaskRequest{Id: "1"})
	return string(out.GetTask().GetPayload()), err
}

func TestPlainCallsGoToANodeThatAnswers(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 3, 1)
	client := c.client(t, nil, hasty)
	for _, node := range []int{0, 2, 1, 0} {
		c.lead(node, 0)
		for range 5 {
			at, err := get(ctx, client)
			require.NoError(t, err)
			require.Equal(t, c.nodes[node].address, at, "only the leader accepts in this cluster")
		}
	}
	c.nodes[0].kill()
	c.lead(1, 0)
	at, err := get(ctx, client)
	require.NoError(t, err)
	require.Equal(t, c.nodes[1].address, at)
	c.lead(-1, 0)
	came := make(chan error, 1)
	before := c.gets.Load()
	go func() {
		_, err := get(ctx, client)
		came <- err
	}()
	require.Eventually(t, func() bool { return c.gets.Load() > before+3 }, patience, time.Millisecond)
	c.lead(2, 0)
	require.NoError(t, <-came, "the call was repeated until a node led")
	_, err = client.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
	require.NoError(t, err)
	assert.Len(t, c.stored, 1)
}

// TestAPlainCallThatMayHaveTakenEffectIsNotRepeated checks that such a call is repeated only if all
// its tasks have keys.
func TestAPlainCallThatMayHaveTakenEffectIsNotRepeated(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 2, 1)
	client := c.client(t, nil, hasty)
	c.breaks = 1
	_, err := client.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q", IdempotencyKey: "k"}, {Queue: "q"}}})
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, "127.0.0.1:", "the error names the address")
	require.Len(t, c.stored, 2)
	c.breaks = 1
	out, err := client.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q", IdempotencyKey: "k"}}})
	require.NoError(t, err)
	assert.Equal(t, c.stored[0].id, out.GetResults()[0].GetId())
	assert.Len(t, c.stored, 2)
	// The server may store a task twice that no longer holds its key, and refuses one that does.
	for _, u := range []*queuepb.Unique{
		{Scope: queuepb.UniqueScope_UNIQUE_SCOPE_UNTIL_STARTED},
		{Scope: queuepb.UniqueScope_UNIQUE_SCOPE_UNTIL_FINISHED},
		{Conflict: queuepb.UniqueConflict_UNIQUE_CONFLICT_REPLACE},
		{Conflict: queuepb.UniqueConflict_UNIQUE_CONFLICT_REFUSE},
	} {
		c.breaks = 1
		_, err = client.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q", IdempotencyKey: "k", Unique: u}}})
		require.Equal(t, codes.Unavailable, status.Code(err), "%v", u)
	}
	c.breaks = 1
	u := &queuepb.Unique{Scope: queuepb.UniqueScope_UNIQUE_SCOPE_FOR_A_TIME, WindowMs: 9, Conflict: queuepb.UniqueConflict_UNIQUE_CONFLICT_FIRST}
	_, err = client.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q", IdempotencyKey: "k", Unique: u}}})
	require.NoError(t, err)
	_, err = client.API().Claim(ctx, &queuepb.ClaimRequest{})
	require.Equal(t, codes.Unimplemented, status.Code(err), "a decision is final")
}

func TestPlainCallsEndInTime(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 2, 1)
	client := c.client(t, nil, hasty, WithRetryMax(20*time.Millisecond))
	c.lead(-1, 0)
	_, err := get(ctx, client)
	require.Equal(t, codes.Unavailable, status.Code(err))
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = get(gone, client)
	require.Equal(t, codes.Canceled, status.Code(err))
}

// TestAResultIsAwaitedThroughAFailover awaits a result while the asked node fails.
func TestAResultIsAwaitedThroughAFailover(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 2, 1)
	client := c.client(t, nil, hasty)
	came := make(chan error, 1)
	go func() {
		out, err := client.AwaitResult(ctx, "", "1")
		if err == nil && string(out.GetResult()) != c.nodes[1].address {
			err = status.Error(codes.Internal, string(out.GetResult()))
		}
		came <- err
	}()
	require.Eventually(t, func() bool { return c.nodes[0].awaited.Load() > 0 }, patience, time.Millisecond)
	c.nodes[1].finishes.Store(true)
	c.lead(1, 0)
	c.nodes[0].kill()
	require.NoError(t, <-came)
}

// TestAResultIsNotAwaitedOfANodeThatHangs checks that a wait leaves a hanging node.
func TestAResultIsNotAwaitedOfANodeThatHangs(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 2, 1)
	quick := hasty
	quick.resultWait, quick.answerMax = time.Millisecond, time.Millisecond
	client := c.client(t, nil, quick)
	c.nodes[1].finishes.Store(true)
	client.last.Store(client.known()[0]) // answers nothing while nothing changes
	out, err := client.AwaitResult(ctx, "", "1")
	require.NoError(t, err)
	assert.Equal(t, c.nodes[1].address, string(out.GetResult()))
}

// TestATokenFileIsReadByDial checks that the file is not read again for nodes that the cluster
// names later.
func TestATokenFileIsReadByDial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte("secret\n"), 0o600))
	client, err := Dial("127.0.0.1:1", WithTokenFile(path))
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	_, err = client.peer("127.0.0.1:2")
	require.NoError(t, err)
	require.NoError(t, client.Close())
}

// TestATokenGoesToNoHostThatTheClusterNames checks that a token is not sent to such a host without
// TLS, unless WithPlaintextToken allows it.
func TestATokenGoesToNoHostThatTheClusterNames(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 1, 2)
	c.leaders[1] = 1
	c.nodes = append(c.nodes, &clusterNode{cluster: c, index: 1, address: "192.0.2.1:7070"})
	client := c.client(t, []int{0}, hasty, WithToken("secret"))
	p, err := client.Producer(ctx, "")
	require.NoError(t, err, "calls to local leaders succeed")
	require.Eventually(t, func() bool { return strings.Contains(p.links.problem().Error(), "WithTLS") }, patience, time.Millisecond)
	assert.Len(t, client.known(), 1)
	require.NoError(t, p.Close(ctx))
}
