package replica

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// changeMax limits the time of a membership change whose context has no earlier deadline.
const changeMax = 10 * time.Second

// Status is the state of the group as this member knows it.
type Status struct {
	Leader                                          string // "" if unknown
	Term, LastIndex, CommitIndex, Applied, Snapshot uint64
	Members                                         []raft.Server
}

// membership reads and changes the members of the group.
type membership struct {
	*raftGroup

	content    *localStore
	configured atomic.Pointer[configured] // the last applied configuration entry; nil if none
}

// Status returns the state of the group as this member knows it. It reads only memory.
func (m *membership) Status() (Status, error) {
	_, leader := m.raft.LeaderWithID()
	s := Status{
		Leader: string(leader), Term: m.raft.CurrentTerm(), LastIndex: m.raft.LastIndex(), CommitIndex: m.raft.CommitIndex(), Applied: m.raft.AppliedIndex(),
	}
	if taken := m.content.snapshots.latest(); taken != nil {
		s.Snapshot = taken.Meta.Index
	}
	members := m.raft.GetConfiguration()
	if err := members.Error(); err != nil {
		return s, fmt.Errorf("read the members of shard %d: %w", m.o.Shard, err)
	}
	s.Members = members.Configuration().Servers
	return s, nil
}

// AddVoter adds a member with a vote, or gives a vote to an existing member. It fails unless this
// node leads.
func (m *membership) AddVoter(ctx context.Context, node, address string) error {
	return m.changed("add", node, m.raft.AddVoter(raft.ServerID(node), raft.ServerAddress(address), 0, left(ctx)).Error())
}

// configured is the configuration in an entry of the log, and the entry's index.
type configured struct {
	raft.Configuration
	index uint64
}

// Promote gives a vote to an existing member. It fails unless this node leads. If the node is not a
// member, Promote returns ErrNoMember, in contrast to AddVoter.
func (m *membership) Promote(ctx context.Context, node string) error {
	c, err := m.currentMembers(ctx)
	if err == nil {
		err = m.promote(ctx, node, c)
	}
	return m.changed("promote", node, err)
}

// currentMembers returns the members after all changes that were committed before the call. It
// fails unless this node leads.
func (m *membership) currentMembers(ctx context.Context) (configured, error) {
	if err := m.raft.Barrier(left(ctx)).Error(); err != nil {
		return configured{}, err
	}
	var c configured
	if applied := m.configured.Load(); applied != nil {
		c = *applied
	}
	if s := m.content.snapshots.latest(); s != nil && s.Meta.ConfigurationIndex > c.index {
		c = configured{s.Meta.Configuration, s.Meta.ConfigurationIndex}
	}
	return c, nil
}

// promote gives a vote to a member. It fails if the members have changed since c.
func (m *membership) promote(ctx context.Context, node string, c configured) error {
	i := slices.IndexFunc(c.Servers, func(s raft.Server) bool { return string(s.ID) == node })
	if i < 0 {
		return ErrNoMember
	}
	err := m.raft.AddVoter(c.Servers[i].ID, c.Servers[i].Address, c.index, left(ctx)).Error()
	if err == nil {
		return nil
	}
	if now, unknown := m.currentMembers(ctx); unknown == nil && now.index != c.index {
		return fmt.Errorf("%w: %w", ErrMembersChanged, err)
	}
	return err
}

// AddNonvoter adds a member that receives the log and has no vote.
func (m *membership) AddNonvoter(ctx context.Context, node, address string) error {
	return m.changed("add", node, m.raft.AddNonvoter(raft.ServerID(node), raft.ServerAddress(address), 0, left(ctx)).Error())
}

// Remove removes a member.
func (m *membership) Remove(ctx context.Context, node string) error {
	return m.changed("remove", node, m.raft.RemoveServer(raft.ServerID(node), 0, left(ctx)).Error())
}

// Demote removes a member's vote.
func (m *membership) Demote(ctx context.Context, node string) error {
	return m.changed("demote", node, m.raft.DemoteVoter(raft.ServerID(node), 0, left(ctx)).Error())
}

func left(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(changeMax, max(time.Millisecond, time.Until(deadline)))
	}
	return changeMax
}
