package cluster

import (
	"cmp"
	"context"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/peerpb"
)

// firstMembers returns the first members of groups that this node creates. It returns nil if this
// node must ask for membership instead.
func (a *admission) firstMembers() []raft.Server {
	c := a.config
	if len(c.Join) > 0 || a.identity.get().Wiped {
		return nil
	}
	if len(c.Peers) == 0 {
		return []raft.Server{{ID: raft.ServerID(c.Node), Address: raft.ServerAddress(a.mux.Addr())}}
	}
	var servers []raft.Server
	for id, address := range c.Peers {
		if id == c.Node {
			address = a.mux.Addr()
		}
		servers = append(servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(address)})
	}
	slices.SortFunc(servers, func(a, b raft.Server) int { return cmp.Compare(a.ID, b.ID) })
	return servers
}

// join asks the configured nodes for membership, if this node must join. It returns true if this
// node is now a member or need not join.
func (a *admission) join(member bool) (joined bool) {
	wiped := a.identity.get().Wiped
	if len(a.config.Join) == 0 && !wiped || !a.isAdmitted() {
		return false
	}
	// Do not rely on member for a wiped node: its log may end before the entry that removed it.
	if member && !wiped {
		return true
	}
	for _, t := range a.targets() {
		err := a.joinAt(t)
		if err == nil && wiped { // from now on it is an ordinary member
			if err := a.identity.change(false, true); err != nil {
				a.host.Fail(err)
			}
		}
		if err == nil {
			break
		}
		if a.ctx.Err() == nil {
			a.log.Info("could not join the cluster; the node tries again", "at", t, "error", err)
		}
	}
	return false
}

func (a *admission) joinAt(t target) error {
	return a.callAt(t, changeMax, func(ctx context.Context, to peerpb.PeerServiceClient) error {
		_, err := to.Join(ctx, &peerpb.JoinRequest{Node: a.groups.node, Address: a.mux.Addr()})
		return err
	})
}
