package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// A queue's limits apply to the tasks of a group, whose header names it.
func TestAGroupIsLimited(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	policy := &adminpb.QueuePolicy{
		Limit:      &adminpb.Limit{LeasedMax: 100, RatePerS: 2_000.5, Burst: 7},
		GroupLimit: &adminpb.Limit{LeasedMax: 1},
	}
	out, err := admin.ConfigureQueue(s.ctx, &adminpb.ConfigureQueueRequest{Queue: "q", Policy: policy})
	require.NoError(t, err)
	policy.Placement = adminpb.Placement_PLACEMENT_SPREAD
	assert.True(t, proto.Equal(policy, out.GetQueue().GetPolicy()), "%v", out.GetQueue().GetPolicy())
	ofGroup := func(name string) *queuepb.NewTask {
		return &queuepb.NewTask{Queue: "q", Headers: map[string]string{"group": name}}
	}
	ids := s.enqueue(ofGroup("a"), ofGroup("a"), ofGroup("b"), ofGroup("a"))
	first, second := s.claim("q"), s.claim("q")
	assert.Equal(t, []string{ids[0], ids[2]}, []string{first.GetId(), second.GetId()})
	assert.Empty(t, s.claimNow(10, "q"))
	got, err := admin.GetQueue(s.ctx, &adminpb.GetQueueRequest{Queue: "q"})
	require.NoError(t, err)
	assert.EqualValues(t, 2, got.GetQueue().GetReady())
	assert.EqualValues(t, 2, got.GetQueue().GetParked())
	require.Nil(t, s.complete(first))
	assert.Equal(t, ids[1], s.claim("q").GetId())

	for field, p := range map[string]*adminpb.QueuePolicy{
		"policy.limit.burst":            {Limit: &adminpb.Limit{Burst: 1}},
		"policy.group_limit.rate_per_s": {GroupLimit: &adminpb.Limit{RatePerS: -1}},
	} {
		_, err := admin.ConfigureQueue(s.ctx, &adminpb.ConfigureQueueRequest{Queue: "q", Policy: p})
		assert.ErrorContains(t, err, field)
	}
}
