package cluster

import (
	"slices"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/replica"
)

// groups are the Raft groups of the shards, as this node's replicas know them. The replicas are set
// before the cluster's opened channel is closed. Afterwards its methods are safe for concurrent
// use.
type groups struct {
	node     string             // this node's ID
	replicas []*replica.Replica // one per shard
}

// Self implements route.Cluster.
func (g *groups) Self() string { return g.node }

// Leader implements route.Cluster.
func (g *groups) Leader(i int) string {
	if i < 0 || i >= len(g.replicas) {
		return ""
	}
	return g.replicas[i].Leader()
}

// Replicas returns this node's replicas, indexed by shard.
func (g *groups) Replicas() []*replica.Replica { return g.replicas }

// leaders returns the leader of each shard, or "" if it is unknown.
func (g *groups) leaders() []string {
	out := make([]string, len(g.replicas))
	for i := range out {
		out[i] = g.Leader(i)
	}
	return out
}

// currentMembers returns the addresses of the members of any group, by ID, and the members that
// have a vote in any group.
func (g *groups) currentMembers() (members map[string]string, voters []string) {
	members = map[string]string{}
	for _, r := range g.replicas {
		if r == nil {
			continue // the replica could not be opened
		}
		s, err := r.Status()
		if err != nil {
			continue // the replica is stopping
		}
		for _, m := range s.Members {
			id := string(m.ID)
			members[id] = string(m.Address)
			if m.Suffrage == raft.Voter && !slices.Contains(voters, id) {
				voters = append(voters, id)
			}
		}
	}
	return members, voters
}
