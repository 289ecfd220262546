package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/rpc/route"
)

// NotReady returns the reason why this node is not ready to serve clients, or "".
func (k *Cluster) NotReady() string {
	if why := k.admission.missing(); why != "" {
		return why
	}
	if err := k.clocks.Refused(); err != nil {
		return err.Error()
	}
	for i, r := range k.replicas {
		if err := r.Damage(); err != nil {
			return fmt.Sprintf("shard %d: %v", i, err)
		}
		if r.Leader() == "" {
			return cmp.Or(k.Outage(), fmt.Sprintf("no leader of shard %d is known", i))
		}
	}
	return ""
}

// MayLead reports whether this node's clock allows it to lead.
func (k *Cluster) MayLead() bool { return k.clocks.Refused() == nil }

// Skews returns the clock skew of each node that answers, relative to this node's clock.
func (k *Cluster) Skews() map[string]route.ClockSkew {
	skews, _ := k.clocks.skews()
	out := make(map[string]route.ClockSkew, len(skews))
	for id, s := range skews {
		out[id] = route.ClockSkew{Ahead: s.ahead, Error: s.wrong}
	}
	return out
}

// Status implements route.Cluster.
func (k *Cluster) Status(ctx context.Context) (route.ClusterStatus, error) {
	infos := k.queryPeers(ctx)
	out := route.ClusterStatus{Node: k.node, Members: k.allMembers()}
	skews := k.Skews()
	for i := range out.Members {
		m := &out.Members[i]
		if s, known := skews[m.Node]; known {
			m.Clock = &s
		} else if m.Node == k.node {
			m.Clock = &route.ClockSkew{}
		}
	}
	slices.SortFunc(out.Members, func(a, b route.Member) int { return cmp.Compare(a.Node, b.Node) })
	for i, leader := range k.leaders() {
		out.Groups = append(out.Groups, groupStatus(i, leader, k.node, out.Members, infos))
	}
	if slices.ContainsFunc(out.Groups, func(g route.GroupStatus) bool { return g.Leader == "" }) {
		out.Outage = k.Outage()
	}
	return out, nil
}

// groupStatus returns the status of the group of shard i according to the members' answers. The
// term and the indexes are those of the leader, or of this node if the leader did not answer.
func groupStatus(i int, leader, self string, members []route.Member, infos map[string]*peerpb.GetInfoResponse) route.GroupStatus {
	out := route.GroupStatus{Shard: i, Leader: leader}
	for _, m := range members {
		groups := infos[m.Node].GetGroups()
		if i >= len(groups) {
			continue
		}
		g := groups[i]
		if m.Node == out.Leader || out.Term == 0 && m.Node == self {
			out.Term, out.LastIndex, out.CommitIndex = g.GetTerm(), g.GetLastIndex(), g.GetCommitIndex()
		}
		out.Replicas = append(out.Replicas, route.ReplicaStatus{
			Node: m.Node, LastIndex: g.GetLastIndex(), AppliedIndex: g.GetAppliedIndex(), SnapshotIndex: g.GetSnapshotIndex(),
		})
	}
	return out
}

func (k *Cluster) ownInfo() (*peerpb.GetInfoResponse, error) {
	at, reach := k.config.Host.Listeners(), k.config.Reach
	out := &peerpb.GetInfoResponse{
		Node: k.node, Address: reach(at.GRPC), Http: reach(at.HTTP), Admin: reach(at.Admin), Version: k.config.Version,
		Shards: uint32(len(k.replicas)), Incarnation: k.identity.get().Incarnation,
		DiskState: uint32(k.config.Store.Space.Own()), DiskFreeBytes: k.config.Store.Space.Usage().Free,
	}
	if err := k.clocks.Refused(); err != nil {
		out.ClockProblem = err.Error()
	}
	for i, r := range k.replicas {
		s, err := r.Status()
		if err != nil {
			return nil, err
		}
		g := &peerpb.Group{
			Shard: uint32(i), Leader: s.Leader, Term: s.Term, LastIndex: s.LastIndex, CommitIndex: s.CommitIndex, AppliedIndex: s.Applied, SnapshotIndex: s.Snapshot,
		}
		for _, m := range s.Members {
			g.Members = append(g.Members, &peerpb.GroupMember{Node: string(m.ID), Address: string(m.Address), Voter: m.Suffrage == raft.Voter})
		}
		out.Groups = append(out.Groups, g)
	}
	return out, nil
}
