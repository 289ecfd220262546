package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/replica"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

const (
	// changeMax limits the time of a change of the cluster whose context has no earlier deadline.
	changeMax = 30 * time.Second
	// changePause is the pause before a change looks up a group's leader again.
	changePause = 100 * time.Millisecond
	// behindMax is the maximum number of entries that a member may lack when it receives a vote.
	behindMax = 1_000
)

// Self implements route.Cluster.
func (k *Cluster) Self() string { return k.config.Node }

// Leader implements route.Cluster.
func (k *Cluster) Leader(i int) string {
	if i < 0 || i >= len(k.replicas) {
		return ""
	}
	return k.replicas[i].Leader()
}

// Member implements route.Cluster.
func (k *Cluster) Member(node string) (route.Member, bool) { return k.peers.member(node) }

// Status implements route.Cluster.
func (k *Cluster) Status(ctx context.Context) (route.ClusterStatus, error) {
	infos := k.queryPeers(ctx)
	out := route.ClusterStatus{Node: k.Self()}
	k.peers.mu.Lock()
	for _, m := range k.peers.members {
		out.Members = append(out.Members, m)
	}
	k.peers.mu.Unlock()
	skews := k.Skews()
	for i := range out.Members {
		m := &out.Members[i]
		if s, known := skews[m.Node]; known {
			m.Clock = &s
		} else if m.Node == k.Self() {
			m.Clock = &route.ClockSkew{}
		}
	}
	slices.SortFunc(out.Members, func(a, b route.Member) int { return cmp.Compare(a.Node, b.Node) })
	for i := range k.replicas {
		out.Groups = append(out.Groups, k.groupStatus(i, out.Members, infos))
	}
	if slices.ContainsFunc(out.Groups, func(g route.GroupStatus) bool { return g.Leader == "" }) {
		out.Outage = k.Outage()
	}
	return out, nil
}

func (k *Cluster) groupStatus(i int, members []route.Member, infos map[string]*peerpb.GetInfoResponse) route.GroupStatus {
	out := route.GroupStatus{Shard: i, Leader: k.Leader(i)}
	for _, m := range members {
		groups := infos[m.Node].GetGroups()
		if i >= len(groups) {
			continue
		}
		g := groups[i]
		if m.Node == out.Leader || out.Term == 0 && m.Node == k.Self() {
			out.Term, out.LastIndex, out.CommitIndex = g.GetTerm(), g.GetLastIndex(), g.GetCommitIndex()
		}
		out.Replicas = append(out.Replicas, route.ReplicaStatus{
			Node: m.Node, LastIndex: g.GetLastIndex(), AppliedIndex: g.GetAppliedIndex(), SnapshotIndex: g.GetSnapshotIndex(),
		})
	}
	return out
}

func (k *Cluster) ownInfo() (*peerpb.GetInfoResponse, error) {
	at, reach := k.host.Listeners(), k.config.Reach
	out := &peerpb.GetInfoResponse{
		Node: k.Self(), Address: reach(at.GRPC), Http: reach(at.HTTP), Admin: reach(at.Admin), Version: k.config.Version,
		Shards: uint32(len(k.replicas)), Incarnation: k.identity.get().Incarnation,
		DiskState: uint32(k.space.Own()), DiskFreeBytes: k.space.Usage().Free,
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

// Change implements route.Cluster.
func (k *Cluster) Change(ctx context.Context, c route.ClusterChange) error {
	err := k.change(ctx, c, func(infos map[string]*peerpb.GetInfoResponse) error {
		if c.Kind != route.AddMember {
			return nil
		}
		if err := k.refuseMember(c, infos); err != nil {
			return err
		}
		return k.visit(ctx, c)
	})
	k.logChange(c, err)
	return err
}

// change makes a change unless check returns an error. check is called with the answers of the
// members.
func (k *Cluster) change(ctx context.Context, c route.ClusterChange, check func(map[string]*peerpb.GetInfoResponse) error) error {
	ctx, cancel := context.WithTimeout(ctx, changeMax)
	defer cancel()
	// The directory may be a second old. A member that was removed since then must not be promoted.
	infos := k.queryPeers(ctx)
	if err := k.peers.refusal(c); err != nil {
		return err
	}
	if err := check(infos); err != nil {
		return err
	}
	if c.Kind == route.TransferLeadership && c.Node != "" && !k.clocks.fit(c.Node) {
		return &route.ChangeError{Field: "node", Problem: fmt.Sprintf("the clock of %q differs by more than %v from the median of the voters, so it can't lead: set the clock of its host and restart the node", c.Node, k.config.ClockSkewMax)}
	}
	if c.Shard >= len(k.replicas) {
		return &route.ChangeError{Field: "shard", Problem: fmt.Sprintf("%d is out of range: expected less than %d", c.Shard, len(k.replicas))}
	}
	switch c.Kind {
	case route.AddMember:
		return k.addMember(ctx, c)
	case route.RemoveMember:
		if err := k.inGroups(ctx, route.AllShards, func(i int) *peerpb.ChangeGroupRequest {
			if k.Leader(i) != c.Node {
				return nil
			}
			return &peerpb.ChangeGroupRequest{Change: peerpb.GroupChange_GROUP_CHANGE_TRANSFER}
		}); err != nil {
			return err
		}
		return k.inAllGroups(ctx, peerpb.GroupChange_GROUP_CHANGE_REMOVE, c.Node, "")
	case route.PromoteMember:
		return k.promote(ctx, c)
	case route.DemoteMember:
		return k.inAllGroups(ctx, peerpb.GroupChange_GROUP_CHANGE_DEMOTE, c.Node, "")
	case route.TransferLeadership:
		return k.inGroups(ctx, c.Shard, func(i int) *peerpb.ChangeGroupRequest {
			if leader := k.Leader(i); leader == c.Node || c.Node == "" && c.Shard == route.AllShards && leader != k.Self() {
				return nil
			}
			return &peerpb.ChangeGroupRequest{Change: peerpb.GroupChange_GROUP_CHANGE_TRANSFER, Node: c.Node}
		})
	case route.TakeSnapshot:
		for i, r := range k.replicas {
			if c.Shard == route.AllShards || c.Shard == i {
				if err := r.Snapshot(); err != nil {
					return err
				}
			}
		}
		return nil
	default:
		return fmt.Errorf("change %v is not known", c.Kind)
	}
}

// addMember adds a node without a vote. It gives the node a vote only after the node has caught up,
// because a voter with an empty log would delay the other voters.
func (k *Cluster) addMember(ctx context.Context, c route.ClusterChange) error {
	// Add the node even if it seems to be a member: it may just have been removed. If it is a
	// voter, it keeps its vote.
	if err := k.inAllGroups(ctx, peerpb.GroupChange_GROUP_CHANGE_ADD_NONVOTER, c.Node, c.Address); err != nil {
		return err
	}
	k.queryPeers(ctx)
	if !c.Voter {
		return nil
	}
	return k.promote(ctx, c)
}

// promote waits until a member has caught up, and then gives it a vote. It refuses the change as
// soon as this node knows that the member was removed. This check is repeated, because this node
// may apply a removal later than the leader, and the member may be removed while it catches up.
func (k *Cluster) promote(ctx context.Context, c route.ClusterChange) error {
	node := c.Node
	for !k.caughtUp(ctx, node) {
		k.updateMembers()
		if err := k.peers.refusal(c); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return &route.ChangeError{Problem: fmt.Sprintf("node %q is a member without a vote because it has not caught up in time: promote it later", node)}
		case <-time.After(changePause):
		}
	}
	m, _ := k.peers.member(node)
	return k.inAllGroups(ctx, peerpb.GroupChange_GROUP_CHANGE_ADD_VOTER, node, m.PeerAddress)
}

func (k *Cluster) caughtUp(ctx context.Context, node string) bool {
	theirs, err := k.query(ctx, node)
	if err != nil || len(theirs.GetGroups()) != len(k.replicas) {
		return false
	}
	for i, r := range k.replicas {
		s, err := r.Status()
		if err != nil || theirs.GetGroups()[i].GetAppliedIndex()+behindMax < s.CommitIndex || theirs.GetGroups()[i].GetAppliedIndex() == 0 {
			return false
		}
	}
	return true
}

func (k *Cluster) inAllGroups(ctx context.Context, change peerpb.GroupChange, node, address string) error {
	return k.inGroups(ctx, route.AllShards, func(int) *peerpb.ChangeGroupRequest {
		return &peerpb.ChangeGroupRequest{Change: change, Node: node, Address: address}
	})
}

// inGroups makes the leader of each group apply a change. If one is a shard, it does so only for
// that shard's group. change returns the request for a group, or nil if the group needs no change.
func (k *Cluster) inGroups(ctx context.Context, one int, change func(i int) *peerpb.ChangeGroupRequest) error {
	for i := range k.replicas {
		if one != route.AllShards && one != i {
			continue
		}
		if err := k.changeAtLeader(ctx, i, change); err != nil {
			return err
		}
	}
	return nil
}

// changeAtLeader asks a group's leader to make a change, and retries until it succeeds or ctx ends.
func (k *Cluster) changeAtLeader(ctx context.Context, i int, change func(int) *peerpb.ChangeGroupRequest) error {
	for {
		err := error(&shard.NotLeaderError{Shard: i})
		if leader := k.Leader(i); leader != "" {
			in := change(i)
			if in == nil {
				return nil
			}
			in.Shard = uint32(i)
			err = k.changeAt(ctx, leader, in)
		} else if k.Outage() != "" {
			return err // no node can lead until an operator acts
		}
		if err == nil || !retryable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, ctx.Err())
		case <-time.After(changePause):
		}
	}
}

func (k *Cluster) changeAt(ctx context.Context, leader string, in *peerpb.ChangeGroupRequest) error {
	if leader == k.Self() {
		return k.changeGroup(ctx, in)
	}
	c, err := k.conn(leader)
	if err != nil {
		return err
	}
	_, err = peerpb.NewPeerServiceClient(c).ChangeGroup(ctx, in)
	return err
}

// retryable reports whether a retry of a change may succeed. It may if the node does not lead or is
// unreachable, or if the members changed concurrently.
func retryable(err error) bool {
	return errors.Is(err, shard.ErrNotLeader) || errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) ||
		errors.Is(err, replica.ErrMembersChanged) || status.Code(err) == codes.Unavailable
}

func (k *Cluster) changeGroup(ctx context.Context, in *peerpb.ChangeGroupRequest) error {
	if int(in.GetShard()) >= len(k.replicas) {
		return fmt.Errorf("shard %d is out of range: expected less than %d", in.GetShard(), len(k.replicas))
	}
	r := k.replicas[in.GetShard()]
	switch in.GetChange() {
	case peerpb.GroupChange_GROUP_CHANGE_ADD_VOTER:
		err := r.Promote(ctx, in.GetNode()) // AddVoter could add a removed member again
		if errors.Is(err, replica.ErrNoMember) {
			return &route.ChangeError{Field: "node", Problem: fmt.Sprintf("%q is not a member of the cluster: add it first", in.GetNode())}
		}
		return err
	case peerpb.GroupChange_GROUP_CHANGE_ADD_NONVOTER:
		return r.AddNonvoter(ctx, in.GetNode(), in.GetAddress())
	case peerpb.GroupChange_GROUP_CHANGE_REMOVE:
		return r.Remove(ctx, in.GetNode())
	case peerpb.GroupChange_GROUP_CHANGE_DEMOTE:
		return r.Demote(ctx, in.GetNode())
	case peerpb.GroupChange_GROUP_CHANGE_TRANSFER:
		return r.Transfer(in.GetNode())
	case peerpb.GroupChange_GROUP_CHANGE_SNAPSHOT:
		return r.Snapshot()
	default:
		return fmt.Errorf("change %v is not known", in.GetChange())
	}
}
