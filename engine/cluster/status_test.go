package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/rpc/route"
)

// The status of a group has the leader's indexes if the leader has answered, and otherwise those of
// the node that was asked.
func TestStatusOfAGroup(t *testing.T) {
	at := func(term, last, commit, applied, snapshot uint64) *peerpb.GetInfoResponse {
		return infoOf(&peerpb.Group{}, &peerpb.Group{Term: term, LastIndex: last, CommitIndex: commit, AppliedIndex: applied, SnapshotIndex: snapshot})
	}
	members := []route.Member{{Node: "n1"}, {Node: "n2"}, {Node: "n3"}}
	infos := map[string]*peerpb.GetInfoResponse{"n1": at(4, 10, 9, 8, 1), "n2": at(5, 20, 19, 18, 2)}
	replicas := []route.ReplicaStatus{
		{Node: "n1", LastIndex: 10, AppliedIndex: 8, SnapshotIndex: 1},
		{Node: "n2", LastIndex: 20, AppliedIndex: 18, SnapshotIndex: 2},
	}
	ofSelf := route.GroupStatus{Shard: 1, Term: 4, LastIndex: 10, CommitIndex: 9, Replicas: replicas}
	ofLeader := route.GroupStatus{Shard: 1, Leader: "n2", Term: 5, LastIndex: 20, CommitIndex: 19, Replicas: replicas}
	assert.Equal(t, ofLeader, groupStatus(1, "n2", "n1", members, infos))
	assert.Equal(t, ofSelf, groupStatus(1, "", "n1", members, infos))
	ofSelf.Leader = "n3"
	assert.Equal(t, ofSelf, groupStatus(1, "n3", "n1", members, infos), "the leader does not answer")
	ofLeader.Leader = "n1"
	ofLeader.Term, ofLeader.LastIndex, ofLeader.CommitIndex = 4, 10, 9
	assert.Equal(t, ofLeader, groupStatus(1, "n1", "n2", members, infos), "the leader precedes this node in the list")
	assert.Equal(t, route.GroupStatus{Shard: 2}, groupStatus(2, "", "n1", members, infos), "no member has the shard")
}
