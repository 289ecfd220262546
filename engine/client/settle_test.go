package client

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/queuepb"
)

// failures records the failures of unary calls.
type failures struct {
	queuepb.QueueServiceClient

	got []*queuepb.Failure
}

func (f *failures) Fail(_ context.Context, in *queuepb.FailRequest, _ ...grpc.CallOption) (*queuepb.FailResponse, error) {
	f.got = append(f.got, in.GetFailures()...)
	return &queuepb.FailResponse{Results: make([]*queuepb.SettleResult, len(in.GetFailures()))}, nil
}

// A session without a link settles with unary calls.
func TestAUnaryFailureSaysThatItIsPermanent(t *testing.T) {
	api := &failures{}
	for _, permanent := range []bool{false, true} {
		s := settlement{
			worker: &Worker{client: &Client{once: api}},
			how:    settling{action: queuepb.SettleAction_SETTLE_ACTION_FAIL, error: "hopeless", permanent: permanent},
		}
		_, err := s.tryUnary(t.Context(), []*queuepb.Task{{Id: "a", Token: 7}})
		require.NoError(t, err)
	}
	require.Len(t, api.got, 2)
	assert.False(t, api.got[0].GetPermanent())
	assert.True(t, api.got[1].GetPermanent())
	assert.Equal(t, "hopeless", api.got[1].GetError())
}
