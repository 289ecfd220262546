package replica

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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

// Status returns the state of the group as this member knows it. It reads only memory.
func (r *Replica) Status() (Status, error) {
	_, leader := r.raft.LeaderWithID()
	s := Status{
		Leader: string(leader), Term: r.raft.CurrentTerm(), LastIndex: r.raft.LastIndex(), CommitIndex: r.raft.CommitIndex(), Applied: r.raft.AppliedIndex(),
	}
	if taken := r.snapshots.latest(); taken != nil {
		s.Snapshot = taken.Meta.Index
	}
	members := r.raft.GetConfiguration()
	if err := members.Error(); err != nil {
		return s, fmt.Errorf("read the members of shard %d: %w", r.o.Shard, err)
	}
	s.Members = members.Configuration().Servers
	return s, nil
}

// Term returns Raft's current term.
func (r *Replica) Term() uint64 { return r.raft.CurrentTerm() }

// Leader returns the ID of the group's leader, or "" if unknown.
func (r *Replica) Leader() string {
	_, leader := r.raft.LeaderWithID()
	return string(leader)
}

// AddVoter adds a member with a vote, or gives a vote to an existing member. It fails unless this
// node leads.
func (r *Replica) AddVoter(ctx context.Context, node, address string) error {
	return r.changed("add", node, r.raft.AddVoter(raft.ServerID(node), raft.ServerAddress(address), 0, left(ctx)).Error())
}

// configured is the configuration in an entry of the log, and the entry's index.
type configured struct {
	raft.Configuration
	index uint64
}

// Promote gives a vote to an existing member. It fails unless this node leads. If the node is not a
// member, Promote returns ErrNoMember, in contrast to AddVoter.
func (r *Replica) Promote(ctx context.Context, node string) error {
	c, err := r.currentMembers(ctx)
	if err == nil {
		err = r.promote(ctx, node, c)
	}
	return r.changed("promote", node, err)
}

// currentMembers returns the members after all changes that were committed before the call. It
// fails unless this node leads.
func (r *Replica) currentMembers(ctx context.Context) (configured, error) {
	if err := r.raft.Barrier(left(ctx)).Error(); err != nil {
		return configured{}, err
	}
	var c configured
	if applied := r.configured.Load(); applied != nil {
		c = *applied
	}
	if s := r.snapshots.latest(); s != nil && s.Meta.ConfigurationIndex > c.index {
		c = configured{s.Meta.Configuration, s.Meta.ConfigurationIndex}
	}
	return c, nil
}

// promote gives a vote to a member. It fails if the members have changed since c.
func (r *Replica) promote(ctx context.Context, node string, c configured) error {
	i := slices.IndexFunc(c.Servers, func(s raft.Server) bool { return string(s.ID) == node })
	if i < 0 {
		return ErrNoMember
	}
	err := r.raft.AddVoter(c.Servers[i].ID, c.Servers[i].Address, c.index, left(ctx)).Error()
	if err == nil {
		return nil
	}
	if now, unknown := r.currentMembers(ctx); unknown == nil && now.index != c.index {
		return fmt.Errorf("%w: %w", ErrMembersChanged, err)
	}
	return err
}

// AddNonvoter adds a member that receives the log and has no vote.
func (r *Replica) AddNonvoter(ctx context.Context, node, address string) error {
	return r.changed("add", node, r.raft.AddNonvoter(raft.ServerID(node), raft.ServerAddress(address), 0, left(ctx)).Error())
}

// Remove removes a member.
func (r *Replica) Remove(ctx context.Context, node string) error {
	return r.changed("remove", node, r.raft.RemoveServer(raft.ServerID(node), 0, left(ctx)).Error())
}

// Demote removes a member's vote.
func (r *Replica) Demote(ctx context.Context, node string) error {
	return r.changed("demote", node, r.raft.DemoteVoter(raft.ServerID(node), 0, left(ctx)).Error())
}

// Transfer hands leadership over to the given node, or to any voter if node is "". It returns after
// this node has lost leadership. It does nothing if this node does not lead.
func (r *Replica) Transfer(node string) error {
	if r.raft.State() != raft.Leader || node == r.o.Node {
		return nil
	}
	s, err := r.Status()
	if err != nil {
		return err
	}
	if node == "" {
		to, ok := r.successor(s.Members)
		if !ok {
			return r.changed("hand over to", "any", errNoSuccessor)
		}
		node = string(to.ID)
	}
	var voters []raft.Server
	for _, m := range s.Members {
		if m.Suffrage == raft.Voter && string(m.ID) != r.o.Node && (node == "" || string(m.ID) == node) {
			voters = append(voters, m)
		}
	}
	if len(voters) > 0 || node == "" {
		return r.changed("hand over to", cmp.Or(node, "any"), r.requestHandOver(voters))
	}
	// Return before the tenure ends, since the transfer would fail.
	return fmt.Errorf("shard %d: hand over to node %q: it is not a voter", r.o.Shard, node)
}

func (r *Replica) changed(what, node string, err error) error {
	if err != nil {
		return fmt.Errorf("shard %d: %s node %q: %w", r.o.Shard, what, node, err)
	}
	return nil
}

func left(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(changeMax, max(time.Millisecond, time.Until(deadline)))
	}
	return changeMax
}
