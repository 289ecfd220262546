package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// membership changes the members of the groups, and moves their leadership, at the request of
// operators and other nodes.
type membership struct {
	groups    *groups
	peers     *peers
	clocks    *clocks
	admission *admission
	log       *slog.Logger
}

// Change implements route.Cluster.
func (m *membership) Change(ctx context.Context, c route.ClusterChange) error {
	err := m.change(ctx, c, func(infos map[string]*peerpb.GetInfoResponse) error {
		if c.Kind != route.AddMember {
			return nil
		}
		if err := refuseMember(c, m.groups.leaders(), infos); err != nil {
			return err
		}
		return m.visit(ctx, c)
	})
	m.logChange(c, err)
	return err
}

// change makes a change unless check returns an error. check is called with the answers of the
// members.
func (m *membership) change(ctx context.Context, c route.ClusterChange, check func(map[string]*peerpb.GetInfoResponse) error) error {
	ctx, cancel := context.WithTimeout(ctx, changeMax)
	defer cancel()
	// The directory may be a second old. A member that was removed since then must not be promoted.
	infos := m.peers.queryPeers(ctx)
	if err := m.peers.refusal(c); err != nil {
		return err
	}
	if err := check(infos); err != nil {
		return err
	}
	if c.Kind == route.TransferLeadership && c.Node != "" && !m.clocks.fit(c.Node) {
		return &route.ChangeError{Field: "node", Problem: fmt.Sprintf("the clock of %q differs by more than %v from the median of the voters, so it can't lead: set the clock of its host and restart the node", c.Node, m.clocks.skewMax)}
	}
	if c.Shard >= len(m.groups.replicas) {
		return &route.ChangeError{Field: "shard", Problem: fmt.Sprintf("%d is out of range: expected less than %d", c.Shard, len(m.groups.replicas))}
	}
	handOver := func(i int) *peerpb.ChangeGroupRequest { return handOverRequest(c, m.groups.Leader(i), m.groups.node) }
	switch c.Kind {
	case route.AddMember:
		return m.addMember(ctx, c)
	case route.RemoveMember:
		if err := m.inGroups(ctx, route.AllShards, handOver); err != nil {
			return err
		}
		return m.inAllGroups(ctx, peerpb.GroupChange_GROUP_CHANGE_REMOVE, c.Node, "")
	case route.PromoteMember:
		return m.promote(ctx, c)
	case route.DemoteMember:
		return m.inAllGroups(ctx, peerpb.GroupChange_GROUP_CHANGE_DEMOTE, c.Node, "")
	case route.TransferLeadership:
		return m.inGroups(ctx, c.Shard, handOver)
	case route.TakeSnapshot:
		for i, r := range m.groups.replicas {
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

// handOverRequest returns the request to hand over the leadership of a group with the given leader,
// or nil if the change does not require this. A member that is removed leads no group. A transfer
// of all groups to any node concerns only the groups that this node leads.
func handOverRequest(c route.ClusterChange, leader, self string) *peerpb.ChangeGroupRequest {
	out := &peerpb.ChangeGroupRequest{Change: peerpb.GroupChange_GROUP_CHANGE_TRANSFER}
	if c.Kind == route.RemoveMember {
		if leader != c.Node {
			return nil
		}
		return out
	}
	if leader == c.Node || c.Node == "" && c.Shard == route.AllShards && leader != self {
		return nil
	}
	out.Node = c.Node
	return out
}

// addMember adds a node without a vote. It gives the node a vote only after the node has caught up,
// because a voter with an empty log would delay the other voters.
func (m *membership) addMember(ctx context.Context, c route.ClusterChange) error {
	// Add the node even if it seems to be a member: it may just have been removed. If it is a
	// voter, it keeps its vote.
	if err := m.inAllGroups(ctx, peerpb.GroupChange_GROUP_CHANGE_ADD_NONVOTER, c.Node, c.Address); err != nil {
		return err
	}
	m.peers.queryPeers(ctx)
	if !c.Voter {
		return nil
	}
	return m.promote(ctx, c)
}

// promote waits until a member has caught up, and then gives it a vote. It refuses the change as
// soon as this node knows that the member was removed. This check is repeated, because this node
// may apply a removal later than the leader, and the member may be removed while it catches up.
func (m *membership) promote(ctx context.Context, c route.ClusterChange) error {
	node := c.Node
	for !m.caughtUp(ctx, node) {
		m.peers.updateMembers()
		if err := m.peers.refusal(c); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return &route.ChangeError{Problem: fmt.Sprintf("node %q is a member without a vote because it has not caught up in time: promote it later", node)}
		case <-time.After(changePause):
		}
	}
	known, _ := m.peers.Member(node)
	return m.inAllGroups(ctx, peerpb.GroupChange_GROUP_CHANGE_ADD_VOTER, node, known.PeerAddress)
}

func (m *membership) caughtUp(ctx context.Context, node string) bool {
	theirs, err := m.peers.query(ctx, node)
	if err != nil {
		return false
	}
	var committed []uint64
	for _, r := range m.groups.replicas {
		s, err := r.Status()
		if err != nil {
			return false
		}
		committed = append(committed, s.CommitIndex)
	}
	return mayVote(theirs.GetGroups(), committed)
}

// mayVote reports whether a member has applied nearly all entries of each group. committed contains
// the indexes of the groups' last committed entries, as this node knows them.
func mayVote(member []*peerpb.Group, committed []uint64) bool {
	if len(member) != len(committed) {
		return false
	}
	for i, g := range member {
		if g.GetAppliedIndex() == 0 || g.GetAppliedIndex()+behindMax < committed[i] {
			return false
		}
	}
	return true
}

func (m *membership) inAllGroups(ctx context.Context, change peerpb.GroupChange, node, address string) error {
	return m.inGroups(ctx, route.AllShards, func(int) *peerpb.ChangeGroupRequest {
		return &peerpb.ChangeGroupRequest{Change: change, Node: node, Address: address}
	})
}

// inGroups makes the leader of each group apply a change. If one is a shard, it does so only for
// that shard's group. change returns the request for a group, or nil if the group needs no change.
func (m *membership) inGroups(ctx context.Context, one int, change func(i int) *peerpb.ChangeGroupRequest) error {
	for i := range m.groups.replicas {
		if one != route.AllShards && one != i {
			continue
		}
		if err := m.changeAtLeader(ctx, i, change); err != nil {
			return err
		}
	}
	return nil
}

// changeAtLeader asks a group's leader to make a change, and retries until it succeeds or ctx ends.
func (m *membership) changeAtLeader(ctx context.Context, i int, change func(int) *peerpb.ChangeGroupRequest) error {
	for {
		err := error(&shard.NotLeaderError{Shard: i})
		if leader := m.groups.Leader(i); leader != "" {
			in := change(i)
			if in == nil {
				return nil
			}
			in.Shard = uint32(i)
			err = m.changeAt(ctx, leader, in)
		} else if m.peers.Outage() != "" {
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

func (m *membership) changeAt(ctx context.Context, leader string, in *peerpb.ChangeGroupRequest) error {
	if leader == m.groups.node {
		return m.changeGroup(ctx, in)
	}
	c, err := m.peers.conn(leader)
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

func (m *membership) changeGroup(ctx context.Context, in *peerpb.ChangeGroupRequest) error {
	if int(in.GetShard()) >= len(m.groups.replicas) {
		return fmt.Errorf("shard %d is out of range: expected less than %d", in.GetShard(), len(m.groups.replicas))
	}
	r := m.groups.replicas[in.GetShard()]
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
