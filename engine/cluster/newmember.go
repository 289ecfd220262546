package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/rpc/route"
)

// visitMax limits the time to check a node that an operator wants to add.
const visitMax = 3 * time.Second

// takeIn makes a node a member at the node's own request. The node may already be a member, since
// it asks until it knows that it is one.
func (m *membership) takeIn(ctx context.Context, in *peerpb.JoinRequest) error {
	c := route.ClusterChange{
		Kind: route.AddMember, Node: in.GetNode(), Address: in.GetAddress(), Voter: true, Shard: route.AllShards,
		By: route.Caller{Token: "the node itself"},
	}
	err := m.change(ctx, c, func(map[string]*peerpb.GetInfoResponse) error { return nil })
	m.logChange(c, err)
	return err
}

// refuseMember refuses to add a node that is already a member of all groups according to the
// groups' leaders. If the node is a member of only some groups, an earlier change has failed
// half-way, and this change continues it.
func refuseMember(c route.ClusterChange, leaders []string, infos map[string]*peerpb.GetInfoResponse) error {
	var member *peerpb.GroupMember
	votes := true
	for i, leader := range leaders {
		groups := infos[leader].GetGroups()
		if i >= len(groups) {
			return nil
		}
		if member = memberOf(groups[i], c.Node); member == nil {
			return nil
		}
		votes = votes && member.GetVoter()
	}
	problem := fmt.Sprintf("%q is already a member, at %s", c.Node, member.GetAddress())
	switch {
	case member.GetAddress() != c.Address:
		problem += ": remove it first, and add it with the new address"
	case c.Voter && !votes:
		problem += fmt.Sprintf(", without a vote: promote it with 'queued cluster promote %s'", c.Node)
	}
	return &route.ChangeError{Field: "node", Problem: problem}
}

func memberOf(g *peerpb.Group, node string) *peerpb.GroupMember {
	for _, m := range g.GetMembers() {
		if m.GetNode() == node {
			return m
		}
	}
	return nil
}

// visit returns an error unless the node to add answers at its address, has the expected ID, and
// does not belong to another cluster.
func (m *membership) visit(ctx context.Context, c route.ClusterChange) error {
	ctx, cancel := context.WithTimeout(ctx, visitMax)
	defer cancel()
	info, err := m.infoAt(ctx, c.Address)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("no answer within %v: %w", visitMax, err)
	}
	if err != nil {
		return &route.ChangeError{Field: "address", Problem: fmt.Sprintf("no node of this cluster answers at %s: %v. "+
			"Nothing was added: start the node first, with a certificate of this cluster's CA and --cluster-join", c.Address, err)}
	}
	return m.peers.unsuitable(c, info, len(m.groups.replicas))
}

// unsuitable returns the reason why the node that answered must not be added, or nil.
func (d *directory) unsuitable(c route.ClusterChange, info *peerpb.GetInfoResponse, shards int) error {
	switch {
	case info.GetNode() != c.Node:
		return &route.ChangeError{Field: "address", Problem: fmt.Sprintf("found node %s at %s instead of node %s", info.GetNode(), c.Address, c.Node)}
	case int(info.GetShards()) != shards:
		return &route.ChangeError{Field: "node", Problem: fmt.Sprintf("%q has %d shards: start it with --shards %d and an empty data folder", c.Node, info.GetShards(), shards)}
	case d.elsewhere(info):
		return &route.ChangeError{Field: "node", Problem: fmt.Sprintf("%q, at %s, is a member of another cluster: start it with an empty data folder and --cluster-join", c.Node, c.Address)}
	}
	return nil
}

// elsewhere reports whether a node is a member of a group that has no other member in common with
// this cluster. A new node is in no group. A removed node still knows its former members.
func (d *directory) elsewhere(info *peerpb.GetInfoResponse) bool {
	known := false
	for _, g := range info.GetGroups() {
		for _, m := range g.GetMembers() {
			if m.GetNode() == info.GetNode() {
				continue
			}
			if ours, is := d.Member(m.GetNode()); is && ours.PeerAddress == m.GetAddress() {
				return false
			}
		}
		known = known || len(g.GetMembers()) > 0
	}
	return known
}

// infoAt asks the node at an address for its state. It dials the address once and directly, because
// the error of a dial is more informative than the error of a call.
func (m *membership) infoAt(ctx context.Context, address string) (_ *peerpb.GetInfoResponse, err error) {
	made, err := m.peers.mux.DialCalls(ctx, "", address)
	if err != nil {
		return nil, err
	}
	conns := make(chan net.Conn, 1)
	conns <- made
	c, err := newConn(func(context.Context) (net.Conn, error) {
		select {
		case conn := <-conns:
			return conn, nil
		default:
			return nil, errors.New("the connection broke")
		}
	})
	if err != nil {
		return nil, errors.Join(err, made.Close())
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	info, err := peerpb.NewPeerServiceClient(c).GetInfo(ctx, &peerpb.GetInfoRequest{})
	if err != nil {
		return nil, errors.New(status.Convert(err).Message())
	}
	return info, nil
}

// readmit removes a node with a new data folder from all groups, at that node's request. The node
// does not take part in the cluster before this has succeeded.
func (m *membership) readmit(ctx context.Context, node, incarnation string) error {
	ctx, cancel := context.WithTimeout(ctx, readmitMax)
	defer cancel()
	if !m.admission.isAdmitted() {
		return errors.New("this node does not take part in the cluster either")
	}
	if node == m.groups.node || m.peers.identity.seen(node) == incarnation { // that node already takes part
		return fmt.Errorf("node %q has no new data folder", node)
	}
	// Do not use Change: the groups' leaders know best whether the node is a member, and removing a
	// node that is not a member has no effect.
	if err := m.inAllGroups(ctx, peerpb.GroupChange_GROUP_CHANGE_REMOVE, node, ""); err != nil {
		return err
	}
	m.log.Info("removed a node with a new data folder at its request", "peer", node)
	return nil
}
