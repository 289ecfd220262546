package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/storage/disk"
)

const (
	// spaceEvery is how often a node checks whether its disk has enough space to lead,
	// and whether the disks of a majority have enough space to store more.
	spaceEvery = 500 * time.Millisecond
	// fullWaitMax is the maximum time that a write waits for space on a full disk. After that, the
	// node stops. While the write waits, the node's groups cannot elect another leader.
	fullWaitMax = 10 * time.Second
)

// watchSpaces hands leadership over to nodes with more disk space. It refuses changes if no
// majority of the voters has the space for them.
func (k *Cluster) watchSpaces() {
	tick := time.NewTicker(spaceEvery)
	defer tick.Stop()
	cutAt := time.Now()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-tick.C:
		}
		k.space.Floor(k.majoritySpace())
		if k.space.Own() == disk.SpaceOK {
			continue
		}
		if time.Since(cutAt) > spreadEvery {
			for _, r := range k.replicas {
				r.CutLog()
			}
			cutAt = time.Now()
		}
		k.leaveLeadership()
	}
}

// DiskState converts the state of a disk to the constant of the admin service.
func DiskState(s disk.SpaceState) adminpb.DiskState {
	return adminpb.DiskState(s) + adminpb.DiskState_DISK_STATE_OK
}

// spaceOf returns which operations a member's free disk space allows. It uses the member's last
// report or, for this node, the node's own state.
func (k *Cluster) spaceOf(m route.Member) disk.SpaceState {
	if m.Node == k.Self() {
		return k.space.Own()
	}
	if m.Disk == adminpb.DiskState_DISK_STATE_UNSPECIFIED { // a node of an older version
		return disk.SpaceOK
	}
	return disk.SpaceState(m.Disk - adminpb.DiskState_DISK_STATE_OK)
}

func (k *Cluster) voters() (voters []route.Member) {
	k.peers.mu.Lock()
	defer k.peers.mu.Unlock()
	for _, m := range k.peers.members {
		if m.Voter {
			voters = append(voters, m)
		}
	}
	return voters
}

// majoritySpace returns which operations the disks of the best majority of voters allow, since all
// other operations could not be committed. It ignores nodes that do not answer. If less than a
// majority answer, it returns no restriction.
func (k *Cluster) majoritySpace() (state disk.SpaceState, why string) {
	voters := k.voters()
	answer := slices.DeleteFunc(slices.Clone(voters), func(m route.Member) bool { return !m.Reachable && m.Node != k.Self() })
	slices.SortFunc(answer, func(a, b route.Member) int {
		return cmp.Or(cmp.Compare(k.spaceOf(a), k.spaceOf(b)), cmp.Compare(a.Node, b.Node))
	})
	need := len(voters)/2 + 1
	if len(voters) == 0 || len(answer) < need {
		return disk.SpaceOK, ""
	}
	state = min(k.spaceOf(answer[need-1]), disk.SpaceCritical)
	if state == disk.SpaceOK {
		return disk.SpaceOK, ""
	}
	var lacking []string
	for _, m := range answer {
		if s := k.spaceOf(m); s > disk.SpaceOK {
			lacking = append(lacking, fmt.Sprintf("%s %s", m.Node, s))
		}
	}
	return state, "too few nodes have enough disk space: " + strings.Join(lacking, ", ")
}

// yields reports whether another voter should lead because more space is free on its disk.
func (k *Cluster) yields() bool {
	own := k.space.Own()
	return own > disk.SpaceOK && slices.ContainsFunc(k.voters(), func(m route.Member) bool { return k.better(m, own) })
}

// better reports whether a member other than this node answers, has a better disk state than the
// given one, and may lead according to its clock.
func (k *Cluster) better(m route.Member, than disk.SpaceState) bool {
	return m.Node != k.Self() && m.Reachable && k.spaceOf(m) < than && k.clocks.fit(m.Node)
}

// voterWithSpace returns the voter that should lead when this node stops, or "" if any voter may
// lead.
func (k *Cluster) voterWithSpace() string {
	voters := k.voters()
	if !slices.ContainsFunc(voters, func(m route.Member) bool { return m.Node != k.Self() && k.spaceOf(m) > disk.SpaceOK }) {
		return ""
	}
	i := slices.IndexFunc(voters, func(m route.Member) bool { return k.better(m, disk.SpaceLow) })
	if i < 0 {
		return ""
	}
	return voters[i].Node
}

func (k *Cluster) leaveLeadership() {
	own := k.space.Own()
	led := map[string]int{}
	for _, r := range k.replicas {
		led[r.Leader()]++
	}
	for i, r := range k.replicas {
		if r.Leader() != k.Self() || k.closing.Load() {
			continue
		}
		var to string
		var best disk.SpaceState
		for _, m := range k.voters() {
			s := k.spaceOf(m)
			if k.better(m, own) && (to == "" || s < best || s == best && led[m.Node] < led[to]) {
				to, best = m.Node, s
			}
		}
		if to == "" {
			return
		}
		if err := r.Transfer(to); err != nil {
			k.log.Info("could not hand a shard's leadership over to a node with more disk space; the node tries again", "shard", i, "to", to, "error", err)
			continue
		}
		led[to]++
		k.log.Info("handed a shard's leadership over to a node with more disk space", "shard", i, "to", to)
	}
}
