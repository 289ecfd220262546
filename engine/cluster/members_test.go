package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/replica"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

func TestLeadershipIsHandedOverWhereAChangeNeedsIt(t *testing.T) {
	remove := route.ClusterChange{Kind: route.RemoveMember, Node: "n2", Shard: route.AllShards}
	to := func(node string, shard int) route.ClusterChange {
		return route.ClusterChange{Kind: route.TransferLeadership, Node: node, Shard: shard}
	}
	for name, c := range map[string]struct {
		change route.ClusterChange
		leader string
		needed bool
		node   string
	}{
		"the removed member leads":         {remove, "n2", true, ""},
		"another leads":                    {remove, "n1", false, ""},
		"to a node":                        {to("n2", 0), "n1", true, "n2"},
		"to the leader":                    {to("n2", 0), "n2", false, ""},
		"all to a node":                    {to("n2", route.AllShards), "n3", true, "n2"},
		"one shard of this node to any":    {to("", 0), "n1", true, ""},
		"one shard of another node to any": {to("", 0), "n3", true, ""},
		"all of this node to any":          {to("", route.AllShards), "n1", true, ""},
		"all, led by another, to any":      {to("", route.AllShards), "n3", false, ""},
	} {
		in := handOverRequest(c.change, c.leader, "n1")
		if !c.needed {
			assert.Nil(t, in, name)
			continue
		}
		require.NotNil(t, in, name)
		assert.Equal(t, peerpb.GroupChange_GROUP_CHANGE_TRANSFER, in.GetChange(), name)
		assert.Equal(t, c.node, in.GetNode(), name)
	}
}

// A member receives a vote once it lacks at most behindMax entries of each group.
func TestAMemberVotesOnceItHasCaughtUp(t *testing.T) {
	for name, c := range map[string]struct {
		applied, committed []uint64
		want               bool
	}{
		"all entries":         {[]uint64{5, 7}, []uint64{5, 7}, true},
		"ahead of this node":  {[]uint64{50, 70}, []uint64{5, 7}, true},
		"at the bound":        {[]uint64{1, 7}, []uint64{1 + behindMax, 7}, true},
		"beyond the bound":    {[]uint64{5, 1}, []uint64{5, 2 + behindMax}, false},
		"nothing in a group":  {[]uint64{5, 0}, []uint64{5, 0}, false},
		"other shards":        {[]uint64{5}, []uint64{5, 7}, false},
		"more shards":         {[]uint64{5, 7, 9}, []uint64{5, 7}, false},
		"the first is behind": {[]uint64{1, 7}, []uint64{2 + behindMax, 7}, false},
	} {
		var member []*peerpb.Group
		for _, index := range c.applied {
			member = append(member, &peerpb.Group{AppliedIndex: index})
		}
		assert.Equal(t, c.want, mayVote(member, c.committed), name)
	}
}

// The code of an answer to another node states whether a retry may succeed. The other node decides
// alike by the code alone.
func TestChangesAreRetriedWhereARetryMaySucceed(t *testing.T) {
	for _, c := range []struct {
		err  error
		code codes.Code
	}{
		{&shard.NotLeaderError{Shard: 1}, codes.Unavailable},
		{raft.ErrNotLeader, codes.Unavailable},
		{fmt.Errorf("hand over: %w", raft.ErrLeadershipTransferInProgress), codes.Unavailable},
		{replica.ErrMembersChanged, codes.Unavailable},
		{status.Error(codes.Unavailable, "the connection broke"), codes.Unavailable},
		{replica.ErrNoMember, codes.Internal},
		{raft.ErrLeadershipLost, codes.Internal},
		{errors.New("the disk is full"), codes.Internal},
		{&route.ChangeError{Field: "node", Problem: "it is not a member"}, codes.FailedPrecondition},
	} {
		assert.Equal(t, c.code == codes.Unavailable, retryable(c.err), c.err)
		answer := peerError(c.err)
		assert.Equal(t, c.code, status.Code(answer), c.err)
		assert.Equal(t, c.code == codes.Unavailable, retryable(answer), c.err)
		assert.Contains(t, answer.Error(), status.Convert(c.err).Message())
	}
	assert.False(t, retryable(nil))
	assert.NoError(t, peerError(nil))
}

func TestChangesAreLogged(t *testing.T) {
	for _, c := range []struct {
		change route.ClusterChange
		err    error
		want   string
	}{
		{
			route.ClusterChange{Kind: route.AddMember, Node: "n4", Address: "d:1", Shard: route.AllShards, By: route.Caller{Token: "ops", Address: "h:9"}},
			nil,
			`level=INFO msg="changed the cluster" change="` + route.AddMember.String() + `" peer=n4 address=d:1 by=ops from=h:9`,
		},
		{
			route.ClusterChange{Kind: route.TransferLeadership, Shard: 3},
			errors.New("no answer"),
			`level=WARN msg="could not change the cluster" change="` + route.TransferLeadership.String() + `" shard=3 error="no answer"`,
		},
		{
			route.ClusterChange{Kind: route.RemoveMember, Node: "n4", Shard: route.AllShards},
			&route.ChangeError{Problem: "it is the only voter"},
			`level=INFO msg="refused a change of the cluster" change="` + route.RemoveMember.String() + `" peer=n4 error="it is the only voter"`,
		},
	} {
		var out bytes.Buffer
		(&membership{log: textLog(&out)}).logChange(c.change, c.err)
		assert.Equal(t, c.want+"\n", out.String())
	}
}
