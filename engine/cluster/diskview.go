package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/storage/disk"
)

// diskView is what a node knows of the voters' disks at one moment.
type diskView struct {
	self   string
	own    disk.SpaceState // of this node's disk
	voters []route.Member
	fit    func(node string) bool // reports whether a node's clock allows the node to lead
}

// spaceOf returns which operations a member's free disk space allows. It uses the member's last
// report or, for this node, the node's own state.
func (v diskView) spaceOf(m route.Member) disk.SpaceState {
	if m.Node == v.self {
		return v.own
	}
	if m.Disk == adminpb.DiskState_DISK_STATE_UNSPECIFIED { // a node of an older version
		return disk.SpaceOK
	}
	return disk.SpaceState(m.Disk - adminpb.DiskState_DISK_STATE_OK)
}

// majority returns which operations the disks of the best majority of voters allow, since all other
// operations could not be committed. It ignores nodes that do not answer. If less than a majority
// answer, it returns no restriction.
func (v diskView) majority() (state disk.SpaceState, why string) {
	answer := slices.DeleteFunc(slices.Clone(v.voters), func(m route.Member) bool { return !m.Reachable && m.Node != v.self })
	slices.SortFunc(answer, func(a, b route.Member) int {
		return cmp.Or(cmp.Compare(v.spaceOf(a), v.spaceOf(b)), cmp.Compare(a.Node, b.Node))
	})
	need := len(v.voters)/2 + 1
	if len(v.voters) == 0 || len(answer) < need {
		return disk.SpaceOK, ""
	}
	state = min(v.spaceOf(answer[need-1]), disk.SpaceCritical)
	if state == disk.SpaceOK {
		return disk.SpaceOK, ""
	}
	var lacking []string
	for _, m := range answer {
		if s := v.spaceOf(m); s > disk.SpaceOK {
			lacking = append(lacking, fmt.Sprintf("%s %s", m.Node, s))
		}
	}
	return state, "too few nodes have enough disk space: " + strings.Join(lacking, ", ")
}

// yields reports whether another voter should lead because more space is free on its disk.
func (v diskView) yields() bool {
	return slices.ContainsFunc(v.voters, func(m route.Member) bool { return v.better(m, v.own) })
}

// better reports whether a member other than this node answers, has a better disk state than the
// given one, and may lead according to its clock.
func (v diskView) better(m route.Member, than disk.SpaceState) bool {
	return m.Node != v.self && m.Reachable && v.spaceOf(m) < than && v.fit(m.Node)
}

// successor returns the voter that should lead when this node stops, or "" if any voter may lead.
func (v diskView) successor() string {
	if !slices.ContainsFunc(v.voters, func(m route.Member) bool { return m.Node != v.self && v.spaceOf(m) > disk.SpaceOK }) {
		return ""
	}
	i := slices.IndexFunc(v.voters, func(m route.Member) bool { return v.better(m, disk.SpaceLow) })
	if i < 0 {
		return ""
	}
	return v.voters[i].Node
}

// destination returns the voter with the most free space, and among equals the one that leads the
// fewest groups. It returns "" if no voter's disk is better than this node's. led contains the
// numbers of groups that the nodes lead.
func (v diskView) destination(led map[string]int) (to string) {
	var best disk.SpaceState
	for _, m := range v.voters {
		s := v.spaceOf(m)
		if v.better(m, v.own) && (to == "" || s < best || s == best && led[m.Node] < led[to]) {
			to, best = m.Node, s
		}
	}
	return to
}
