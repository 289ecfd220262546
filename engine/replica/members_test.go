package replica

import (
	"context"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Promote is called for a member that was removed, before and after the leader has read the
// members, and for a member without a vote.
func TestAPromotionAddsNobody(t *testing.T) {
	g := newGroup(t, slowElections)
	leader := g.elect()
	g.fill(3)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var other string
	for id := range g.members {
		if id != leader.id {
			other = id
		}
	}
	member := func() (raft.Server, bool) {
		s, err := leader.Status()
		require.NoError(t, err)
		for _, m := range s.Members {
			if string(m.ID) == other {
				return m, true
			}
		}
		return raft.Server{}, false
	}
	read, err := leader.currentMembers(ctx)
	require.NoError(t, err)
	require.Len(t, read.Servers, 3)
	require.NoError(t, leader.Remove(ctx, other))
	require.ErrorIs(t, leader.promote(ctx, other, read), ErrMembersChanged)
	require.ErrorIs(t, leader.Promote(ctx, other), ErrNoMember)
	_, still := member()
	assert.False(t, still, "the removed member was added again")

	require.NoError(t, leader.AddNonvoter(ctx, other, other+":1"))
	require.NoError(t, leader.Promote(ctx, other))
	m, _ := member()
	assert.Equal(t, raft.Voter, m.Suffrage)
	require.NoError(t, leader.raft.Snapshot().Error(), "the members then come from the snapshot")
	leader.configured.Store(nil)
	require.NoError(t, leader.Promote(ctx, other))
}
