package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pronybench/prony/engine/rpc/route"
)

// refusal returns the reason why a change is not possible with the current members, or nil. The
// errors of the groups would name no remedy, or would occur only after some groups have changed.
func (d *directory) refusal(c route.ClusterChange) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, member := d.members[c.Node]
	if c.Kind == route.AddMember {
		for _, other := range d.members {
			if other.Node != c.Node && other.PeerAddress == c.Address {
				return &route.ChangeError{Field: "address", Problem: fmt.Sprintf("%q is the address of node %s: each node needs its own", c.Address, other.Node)}
			}
		}
		return nil
	}
	if c.Node == "" { // "" means any node, or the node that receives the request
		return nil
	}
	if !member {
		ids := strings.Join(slices.Sorted(maps.Keys(d.members)), ", ")
		return &route.ChangeError{Field: "node", Problem: fmt.Sprintf("%q is not a member of the cluster: expected one of %s", c.Node, ids)}
	}
	switch {
	case c.Kind == route.TransferLeadership && !m.Voter:
		return &route.ChangeError{Field: "node", Problem: fmt.Sprintf("%q has no vote, and can't lead: promote it first", c.Node)}
	case (c.Kind == route.RemoveMember || c.Kind == route.DemoteMember) && m.Voter && d.votersLocked() == 1:
		return &route.ChangeError{Problem: fmt.Sprintf("node %s is the only voter: add or promote another first", c.Node)}
	}
	return nil
}

func (d *directory) votersLocked() (n int) {
	for _, m := range d.members {
		if m.Voter {
			n++
		}
	}
	return n
}
