package route

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
)

// members is a cluster in which this node is n1, n2 leads shard 0, n3 leads shard 1, and shard 2
// has no leader.
type members struct{ Cluster }

func (members) Self() string { return "n1" }

func (members) Leader(i int) string {
	if i < 0 {
		return ""
	}
	return []string{"n2", "n3", "", "n1"}[i]
}

func (members) Member(node string) (Member, bool) {
	if node == "n2" {
		return Member{Node: node, Address: "n2:7070"}, true
	}
	return Member{}, false
}

func (members) Outage() string { return "" }

// outage is a cluster without a majority.
type outage struct{ members }

func (outage) Leader(int) string { return "" }

func (outage) Outage() string { return "1 of 3 nodes is there (n1)" }

// Without a majority, every refusal reports that. No refusal names a shard that does not exist.
func TestRefusalsSayThatTheMajorityIsMissing(t *testing.T) {
	for _, refused := range []error{&shard.NotLeaderError{Shard: 1}, &shard.NotLeaderError{Shard: AnyShard}, shard.ErrClosed} {
		err := Explain(outage{}, refused)
		assert.EqualError(t, err, "no shard has a leader: 1 of 3 nodes is there (n1)")
		assert.Equal(t, err.Error(), status.Convert(call.Status(err)).Message())
		assert.Equal(t, err.Error(), call.ItemError(0, err).GetMessage())
	}
	err := Misrouted(members{}, AnyShard, &shard.NotLeaderError{Shard: AnyShard})
	assert.EqualError(t, err, "this node leads no shard, and the leader is unknown: try again later")
}

func TestRefusalsSayWhoLeads(t *testing.T) {
	for _, c := range []struct {
		err  error
		want *queuepb.NotLeader
	}{
		{&shard.NotLeaderError{Shard: 0}, &queuepb.NotLeader{Node: "n2", Address: "n2:7070"}},
		{&shard.NotLeaderError{Shard: 1}, &queuepb.NotLeader{Shard: 1, Node: "n3"}},
		{&shard.NotLeaderError{Shard: 2}, &queuepb.NotLeader{Shard: 2}},
		// This node believes that it leads, but does not serve yet.
		{&shard.NotLeaderError{Shard: 3}, &queuepb.NotLeader{Shard: 3}},
		{shard.ErrRoutesChanged, &queuepb.NotLeader{RoutesChanged: true}},
		{shard.ErrClosed, &queuepb.NotLeader{}},
	} {
		err := Explain(members{}, fmt.Errorf("wrapped: %w", c.err))
		assert.Equal(t, Explain(members{}, err), err)
		s := status.Convert(call.Status(err))
		assert.Equal(t, codes.Unavailable, s.Code())
		require.Len(t, s.Details(), 1)
		assert.Equal(t, c.want.String(), s.Details()[0].(*queuepb.NotLeader).String())
		e := call.ItemError(4, err)
		assert.Equal(t, queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, e.GetCode())
		assert.Equal(t, c.want.GetAddress(), e.GetLeader())
		assert.ErrorIs(t, err, c.err)
	}
	for _, err := range []error{nil, shard.ErrUnknownOutcome, shard.ErrOverloaded, errors.Join(shard.ErrClosed, shard.ErrUnknownOutcome)} {
		assert.Equal(t, err, Explain(members{}, err))
		assert.Equal(t, err, Explain(nil, err))
	}
	assert.Equal(t, shard.ErrClosed, Explain(nil, shard.ErrClosed))
}
