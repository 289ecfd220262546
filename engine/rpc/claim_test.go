package rpc_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/pronybench/prony/engine/queuepb"
)

func TestClaimWithoutWaitAnswersAtOnce(t *testing.T) {
	s := serve(t, nil)
	assert.Empty(t, s.claimNow(10, "q"))
	s.enqueue(newTasks("q", 5)...)
	assert.Equal(t, []string{"0"}, payloads(s.claimNow(0, "q")), "no max_tasks means one")
	assert.Equal(t, []string{"1", "2"}, payloads(s.claimNow(2, "q")))
	assert.Equal(t, []string{"3", "4"}, payloads(s.claimNow(1_000, "q")))
	assert.Empty(t, s.claimNow(10, "q"), "a leased task is not leased again")
}

func TestClaimWaitsForALaterEnqueue(t *testing.T) {
	s := serve(t, nil)
	got := make(chan *queuepb.ClaimResponse, 1)
	go func() {
		out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"other", "q"}, MaxTasks: 10, WaitMs: 60_000})
		assert.NoError(t, err)
		got <- out
	}()
	s.waitForClaim()
	id := s.enqueue(&queuepb.NewTask{Queue: "q", Payload: []byte("x")})[0]
	out := <-got
	require.Len(t, out.GetTasks(), 1)
	assert.Equal(t, id, out.GetTasks()[0].GetId())
}

func TestClaimWaitsAsLongAsItSays(t *testing.T) {
	s := serve(t, nil)
	start := time.Now()
	out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 50})
	require.NoError(t, err)
	assert.Empty(t, out.GetTasks())
	assert.GreaterOrEqual(t, time.Since(start), 50*time.Millisecond)
}

func TestManyWaitingClaimsGetOneTaskEach(t *testing.T) {
	const claims = 20
	s := serve(t, nil)
	got := make(chan string, claims)
	for range claims {
		go func() {
			out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 60_000})
			if assert.NoError(t, err) && assert.Len(t, out.GetTasks(), 1) {
				got <- string(out.GetTasks()[0].GetPayload())
			}
		}()
	}
	s.enqueue(newTasks("q", claims)...)
	seen := map[string]bool{}
	for range claims {
		p := <-got
		assert.False(t, seen[p], "task %s was delivered twice", p)
		seen[p] = true
	}
}

func TestACancelledClaimTakesNothingLater(t *testing.T) {
	s := serve(t, nil)
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := s.Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 60_000})
		done <- err
	}()
	s.waitForClaim()
	cancel()
	requireCode(t, codes.Canceled, <-done)
	s.waitForNoClaim() // the server may learn of the cancellation after the client
	s.enqueue(newTasks("q", 1)...)
	assert.Len(t, s.claimNow(1, "q"), 1, "the cancelled claim took the task")
}

func TestClaimDrainsQueuesInTurn(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(newTasks("a", 300)...)
	s.enqueue(newTasks("b", 300)...)
	first := s.claimNow(256, "a", "b")
	require.Len(t, first, 256)
	from := map[string]int{}
	for _, task := range first {
		from[task.GetQueue()]++
	}
	assert.Equal(t, map[string]int{"a": 128, "b": 128}, from, "neither queue waits until the other is empty")
	rest := s.claimNow(1_000, "a", "b")
	assert.Len(t, rest, 344)
}

func TestClaimSharesByWeight(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(newTasks("a", 800)...)
	s.enqueue(newTasks("b", 800)...)
	share := func(tasks []*queuepb.Task) (a int) {
		for _, task := range tasks {
			if task.GetQueue() == "a" {
				a++
			}
		}
		return a
	}
	out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"a", "b"}, Weights: []uint32{3, 1}, MaxTasks: 400})
	require.NoError(t, err)
	require.Len(t, out.GetTasks(), 400)
	assert.InDelta(t, 300, share(out.GetTasks()), 60)
	w := s.workRaw(s.ctx)
	w.send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: []string{"b", "a"}, Weights: []uint32{3, 1}}, Credits: 1})
	var got []*queuepb.Task
	for range 200 {
		got = append(got, w.take(1)...)
		w.send(&queuepb.WorkRequest{Credits: 1})
	}
	assert.InDelta(t, 50, share(got), 10)
	require.NoError(t, w.CloseSend())
	require.NoError(t, w.end())
}

func TestHigherPrioritiesGoFirst(t *testing.T) {
	s := serve(t, nil)
	for _, p := range []uint32{0, 5, 9, 5, 1} {
		s.enqueue(&queuepb.NewTask{Queue: "q", Priority: p, Payload: fmt.Appendf(nil, "%d", p)})
	}
	assert.Equal(t, []string{"9", "5", "5", "1", "0"}, payloads(s.claimNow(10, "q")))
}

func TestADelayedTaskIsNotReadyBeforeItsTime(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(&queuepb.NewTask{Queue: "later", DelayMs: 3600_000})
	assert.Empty(t, s.claimNow(1, "later"))
	before := time.Now()
	s.enqueue(&queuepb.NewTask{Queue: "q", DelayMs: 100})
	s.claim("q")
	assert.GreaterOrEqual(t, time.Since(before), 99*time.Millisecond)
}

func TestAnExpiredLeaseComesBackWithAnotherTokenAndAttempt(t *testing.T) {
	s := serve(t, nil)
	id := s.enqueue(&queuepb.NewTask{Queue: "q", LeaseMs: 60_000})[0]
	out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, LeaseMs: 30})
	require.NoError(t, err)
	require.Len(t, out.GetTasks(), 1, "the claim's lease overrides the task's")
	again := s.claim("q")
	assert.Equal(t, id, again.GetId())
	assert.EqualValues(t, 2, again.GetAttempt())
	assert.Greater(t, again.GetToken(), out.GetTasks()[0].GetToken())
	assert.Equal(t, "lease expired", again.GetLastError())
	requireItemError(t, s.complete(out.GetTasks()[0]), codeStale, "")
	require.Nil(t, s.complete(again))
}

func TestALargeAnswerToAClaimIsCutNotLost(t *testing.T) {
	s := serve(t, nil)
	const n = 8
	for i := range n {
		s.enqueue(&queuepb.NewTask{Queue: "q", MaxAttempts: 1, Payload: bytes.Repeat([]byte{byte('0' + i)}, 1<<20)})
	}
	// A client with gRPC's default limits accepts each answer. Each task is delivered once, in
	// order, as its first attempt.
	var got []byte
	for len(got) < n {
		out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: n, WaitMs: 10_000})
		require.NoError(t, err)
		require.NotEmpty(t, out.GetTasks())
		for _, task := range out.GetTasks() {
			assert.EqualValues(t, 1, task.GetAttempt())
			got = append(got, task.GetPayload()[0])
			require.Nil(t, s.complete(task))
		}
	}
	assert.Equal(t, "01234567", string(got))
}

func TestBadClaims(t *testing.T) {
	s := serve(t, nil)
	queues := make([]string, 101)
	for i := range queues {
		queues[i] = fmt.Sprint(i)
	}
	for _, c := range []struct {
		field string
		in    *queuepb.ClaimRequest
	}{
		{"tenant", &queuepb.ClaimRequest{Tenant: "?", Queues: []string{"q"}}},
		{"queues", &queuepb.ClaimRequest{}},
		{"queues", &queuepb.ClaimRequest{Queues: queues}},
		{"queues[1]", &queuepb.ClaimRequest{Queues: []string{"q", "no spaces"}}},
		{"queues[2]", &queuepb.ClaimRequest{Queues: []string{"q", "r", "q"}}},
		{"max_tasks", &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 1_001}},
		{"max_tasks", &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 1<<32 - 1}},
		{"lease_ms", &queuepb.ClaimRequest{Queues: []string{"q"}, LeaseMs: 24*3600_000 + 1}},
		{"weights", &queuepb.ClaimRequest{Queues: []string{"q", "r"}, Weights: []uint32{1}}},
		{"weights[1]", &queuepb.ClaimRequest{Queues: []string{"q", "r"}, Weights: []uint32{1, 0}}},
		{"weights[0]", &queuepb.ClaimRequest{Queues: []string{"q"}, Weights: []uint32{101}}},
		{"wait_ms", &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 60_001}},
		{"wait_ms", &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 1<<64 - 1}},
	} {
		_, err := s.Claim(s.ctx, c.in)
		requireField(t, c.field, err)
	}
}
