package unary

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/driver"
)

// A task sends its retry settings, a failure its reason, and a delivery has its attempt.
func TestTasksThatAreFailed(t *testing.T) {
	var enqueued *queuepb.EnqueueRequest
	var failed *queuepb.FailRequest
	s := &server{
		enqueue: func(in *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
			enqueued = in
			return &queuepb.EnqueueResponse{Results: []*queuepb.EnqueueResult{{Id: "a"}, {Id: "b"}}}, nil
		},
		claim: func(context.Context, *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
			return &queuepb.ClaimResponse{Tasks: []*queuepb.Task{{Id: "a", Token: 7, Attempt: 2}, {Id: "b", Token: 8, Attempt: 1}}}, nil
		},
		fail: func(in *queuepb.FailRequest) (*queuepb.FailResponse, error) {
			failed = in
			return &queuepb.FailResponse{Results: []*queuepb.SettleResult{{}, {Error: &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN}}}}, nil
		},
	}
	conn := s.dial(t, "")
	p, err := conn.Producer(t.Context(), "t1")
	require.NoError(t, err)
	tasks := []driver.Task{{Queue: "q0", MaxAttempts: 3, Backoff: 20 * time.Millisecond, Delay: time.Second}, {Queue: "q0"}}
	outcomes := make([]error, 2)
	require.NoError(t, p.Enqueue(t.Context(), tasks, outcomes))
	assert.EqualValues(t, 3, enqueued.GetTasks()[0].GetMaxAttempts())
	assert.EqualValues(t, 20, enqueued.GetTasks()[0].GetBackoff().GetInitialMs())
	assert.EqualValues(t, 20, enqueued.GetTasks()[0].GetBackoff().GetMaxMs())
	assert.EqualValues(t, 1000, enqueued.GetTasks()[0].GetDelayMs())
	assert.Nil(t, enqueued.GetTasks()[1].GetBackoff())

	w, err := conn.Worker(t.Context(), "t1", []string{"q0"}, 2)
	require.NoError(t, err)
	into := make([]driver.Delivery, 2)
	_, err = w.Claim(t.Context(), into)
	require.NoError(t, err)
	assert.EqualValues(t, 2, into[0].Attempt)
	require.NoError(t, w.(driver.Failer).Fail(t.Context(), into, outcomes))
	require.NoError(t, outcomes[0])
	require.ErrorIs(t, outcomes[1], driver.ErrLeaseOver)
	assert.Equal(t, "t1", failed.GetTenant())
	assert.Equal(t, "b", failed.GetFailures()[1].GetId())
	assert.EqualValues(t, 8, failed.GetFailures()[1].GetToken())
	assert.Equal(t, driver.FailedBecause, failed.GetFailures()[1].GetError())
}
