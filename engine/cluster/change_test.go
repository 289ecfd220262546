package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/rpc/route"
)

func TestChangesThatTheMembersDoNotAllow(t *testing.T) {
	of := func(members ...route.Member) *directory {
		d := newDirectory()
		for _, m := range members {
			d.members[m.Node] = m
		}
		return &d
	}
	n1, n2, copies := route.Member{Node: "n1", PeerAddress: "a:1", Voter: true}, route.Member{Node: "n2", PeerAddress: "b:1", Voter: true}, route.Member{Node: "n3", PeerAddress: "c:1"}
	for _, c := range []struct {
		members     *directory
		change      route.ClusterChange
		field, says string
	}{
		{of(n1, n2), route.ClusterChange{Kind: route.AddMember, Node: "n4", Address: "b:1"}, "address", `"b:1" is the address of node n2: each node needs its own`},
		{of(n1, n2), route.ClusterChange{Kind: route.RemoveMember, Node: "n4"}, "node", `"n4" is not a member of the cluster: expected one of n1, n2`},
		{of(n1, n2), route.ClusterChange{Kind: route.TransferLeadership, Node: "n4"}, "node", `"n4" is not a member`},
		{of(n1, n2, copies), route.ClusterChange{Kind: route.TransferLeadership, Node: "n3"}, "node", `"n3" has no vote, and can't lead: promote it first`},
		{of(n1, copies), route.ClusterChange{Kind: route.RemoveMember, Node: "n1"}, "", "node n1 is the only voter: add or promote another first"},
		{of(n1, copies), route.ClusterChange{Kind: route.DemoteMember, Node: "n1"}, "", "node n1 is the only voter"},

		{of(n1, n2), route.ClusterChange{Kind: route.AddMember, Node: "n4", Address: "d:1"}, "", ""},
		{of(n1, n2), route.ClusterChange{Kind: route.AddMember, Node: "n2", Address: "b:1"}, "", ""},
		{of(n1, n2), route.ClusterChange{Kind: route.AddMember, Node: "n2", Address: "b:2"}, "", ""},
		{of(n1, copies), route.ClusterChange{Kind: route.RemoveMember, Node: "n3"}, "", ""},
		{of(n1, copies), route.ClusterChange{Kind: route.DemoteMember, Node: "n3"}, "", ""},
		{of(n1, copies), route.ClusterChange{Kind: route.PromoteMember, Node: "n3"}, "", ""},
		{of(n1, n2), route.ClusterChange{Kind: route.RemoveMember, Node: "n1"}, "", ""},
		{of(n1, n2), route.ClusterChange{Kind: route.TransferLeadership, Node: "n2"}, "", ""},
		{of(n1), route.ClusterChange{Kind: route.TransferLeadership}, "", ""},
		{of(n1), route.ClusterChange{Kind: route.TakeSnapshot}, "", ""},
	} {
		err := c.members.refusal(c.change)
		if c.says == "" {
			assert.NoError(t, err, "%+v", c.change)
			continue
		}
		var refused *route.ChangeError
		require.ErrorAs(t, err, &refused, "%+v", c.change)
		assert.Equal(t, c.field, refused.Field)
		assert.Contains(t, refused.Problem, c.says)
	}
}

// remove removes a member. On a busy host, this may need a retry if the member has become a leader.
func remove(ctx context.Context, t *testing.T, k *Cluster, node string) {
	t.Helper()
	require.Eventually(t, func() bool {
		err := k.Change(ctx, route.ClusterChange{Kind: route.RemoveMember, Node: node})
		var refused *route.ChangeError
		return err == nil || errors.As(err, &refused) // an earlier attempt removed it
	}, patience, 10*time.Millisecond)
}

// A node may learn of a member's removal while the member's promotion waits for it to catch up.
func TestAPromotionEndsWhenItsMemberIsRemoved(t *testing.T) {
	nodes := startNodes(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	k := nodes[0]
	remove(ctx, t, k, "n2")
	require.Eventually(t, func() bool {
		k.updateMembers()
		_, member := k.Member("n2")
		return !member
	}, patience, 10*time.Millisecond)
	var refused *route.ChangeError
	require.Eventually(t, func() bool { // an election on a busy host causes another error
		return errors.As(k.promote(ctx, route.ClusterChange{Kind: route.PromoteMember, Node: "n2"}), &refused)
	}, patience, 10*time.Millisecond)
	assert.Equal(t, `"n2" is not a member of the cluster: expected one of n0, n1`, refused.Problem)
}

// A node may not know of a member's removal when it asks the leader to give the member a vote.
func TestAPromotionOfARemovedMemberAddsNobody(t *testing.T) {
	nodes := startNodes(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	remove(ctx, t, nodes[0], "n2")
	for _, n := range nodes[:2] { // one of them leads
		n.updateMembers()
		require.Eventually(t, func() bool { // an election on a busy host causes another error
			err := n.inAllGroups(ctx, peerpb.GroupChange_GROUP_CHANGE_ADD_VOTER, "n2", "127.0.0.1:1")
			return assert.Error(t, err) && strings.Contains(err.Error(), `node: "n2" is not a member of the cluster: add it first`)
		}, patience, 10*time.Millisecond)
	}
	members, _ := nodes[0].currentMembers()
	assert.NotContains(t, members, "n2")
}
