package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/rpc/route"
)

func groupOf(members ...*peerpb.GroupMember) *peerpb.Group { return &peerpb.Group{Members: members} }

func infoOf(groups ...*peerpb.Group) *peerpb.GetInfoResponse {
	return &peerpb.GetInfoResponse{Node: "n4", Shards: 2, Groups: groups}
}

// A node is added again only if an earlier attempt has not reached all groups. The leaders of the
// groups know best.
func TestAMemberIsNotAddedAgain(t *testing.T) {
	n1 := &peerpb.GroupMember{Node: "n1", Address: "a:1", Voter: true}
	n4 := &peerpb.GroupMember{Node: "n4", Address: "d:1", Voter: true}
	copies := &peerpb.GroupMember{Node: "n4", Address: "d:1"}
	elsewhere := &peerpb.GroupMember{Node: "n4", Address: "d:9", Voter: true}
	both := func(first, second *peerpb.Group) map[string]*peerpb.GetInfoResponse {
		return map[string]*peerpb.GetInfoResponse{"n1": infoOf(first, groupOf(n1, n4)), "n2": infoOf(groupOf(n1, n4), second)}
	}
	const again = `"n4" is already a member, at `
	for name, c := range map[string]struct {
		infos map[string]*peerpb.GetInfoResponse
		voter bool
		want  string
	}{
		"in no group":               {both(groupOf(n1), groupOf(n1)), true, ""},
		"in the first group only":   {both(groupOf(n1, n4), groupOf(n1)), true, ""},
		"in the second group only":  {both(groupOf(n1), groupOf(n1, n4)), true, ""},
		"in both":                   {both(groupOf(n1, n4), groupOf(n1, n4)), true, again + "d:1"},
		"at another address":        {both(groupOf(n1, elsewhere), groupOf(n1, elsewhere)), true, again + "d:9: remove it first, and add it with the new address"},
		"without a vote":            {both(groupOf(n1, copies), groupOf(n1, copies)), true, again + "d:1, without a vote: promote it with 'queued cluster promote n4'"},
		"without a vote in one":     {both(groupOf(n1, copies), groupOf(n1, n4)), true, again + "d:1, without a vote: promote it with 'queued cluster promote n4'"},
		"no vote was requested":     {both(groupOf(n1, copies), groupOf(n1, copies)), false, again + "d:1"},
		"a leader does not answer":  {map[string]*peerpb.GetInfoResponse{"n1": infoOf(groupOf(n1, n4), groupOf(n1, n4))}, true, ""},
		"a leader has fewer shards": {map[string]*peerpb.GetInfoResponse{"n1": infoOf(groupOf(n1, n4)), "n2": infoOf(groupOf(n1, n4))}, true, ""},
	} {
		err := refuseMember(route.ClusterChange{Kind: route.AddMember, Node: "n4", Address: "d:1", Voter: c.voter}, []string{"n1", "n2"}, c.infos)
		if c.want == "" {
			assert.NoError(t, err, name)
			continue
		}
		var refused *route.ChangeError
		require.ErrorAs(t, err, &refused, name)
		assert.Equal(t, route.ChangeError{Field: "node", Problem: c.want}, *refused, name)
	}
}

func TestUnsuitableNodesAreRefused(t *testing.T) {
	// An earlier attempt has added n4 to some groups.
	d := directoryOf(map[string]string{"n1": "a:1", "n2": "b:1", "n4": "d:1"})
	n4, n1 := &peerpb.GroupMember{Node: "n4", Address: "d:1"}, &peerpb.GroupMember{Node: "n1", Address: "a:1"}
	other := &peerpb.GroupMember{Node: "n7", Address: "x:1"}
	sameName := &peerpb.GroupMember{Node: "n1", Address: "x:2"}
	shards := func(n uint32) *peerpb.GetInfoResponse {
		out := infoOf()
		out.Shards = n
		return out
	}
	named := infoOf()
	named.Node = "n5"
	for name, c := range map[string]struct {
		info        *peerpb.GetInfoResponse
		field, says string
	}{
		"new":                          {infoOf(), "", ""},
		"new, with empty groups":       {infoOf(groupOf(), groupOf()), "", ""},
		"a former member":              {infoOf(groupOf(n1, n4), groupOf(n1, n4)), "", ""},
		"a former member of one group": {infoOf(groupOf(n4, other), groupOf(n1)), "", ""},
		"another node":                 {named, "address", "found node n5 at d:1 instead of node n4"},
		"fewer shards":                 {shards(1), "node", `"n4" has 1 shards: start it with --shards 2 and an empty data folder`},
		"more shards":                  {shards(4), "node", `"n4" has 4 shards`},
		"alone":                        {infoOf(groupOf(n4)), "node", `"n4", at d:1, is a member of another cluster`},
		"with others":                  {infoOf(groupOf(n4, other)), "node", "is a member of another cluster"},
		"with a node of the same name": {infoOf(groupOf(n4, sameName)), "node", "is a member of another cluster"},
	} {
		err := d.unsuitable(route.ClusterChange{Kind: route.AddMember, Node: "n4", Address: "d:1"}, c.info, 2)
		if c.says == "" {
			assert.NoError(t, err, name)
			continue
		}
		var refused *route.ChangeError
		require.ErrorAs(t, err, &refused, name)
		assert.Equal(t, c.field, refused.Field, name)
		assert.Contains(t, refused.Problem, c.says, name)
	}
}
