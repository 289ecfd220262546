package cluster

import (
	"context"
	"time"

	"github.com/pronybench/prony/engine/adminpb"
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
func (b *balance) watchSpaces(ctx context.Context) {
	tick := time.NewTicker(spaceEvery)
	defer tick.Stop()
	cutAt := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		b.space.Floor(b.view().majority())
		if b.space.Own() == disk.SpaceOK {
			continue
		}
		if time.Since(cutAt) > spreadEvery {
			for _, r := range b.groups.replicas {
				r.CutLog()
			}
			cutAt = time.Now()
		}
		b.leaveLeadership()
	}
}

// DiskState converts the state of a disk to the constant of the admin service.
func DiskState(s disk.SpaceState) adminpb.DiskState {
	return adminpb.DiskState(s) + adminpb.DiskState_DISK_STATE_OK
}

// leaveLeadership hands the groups that this node leads over to voters with more disk space.
func (b *balance) leaveLeadership() {
	led := countLed(b.groups.leaders())
	for i, r := range b.groups.replicas {
		if r.Leader() != b.groups.node || b.closing.Load() {
			continue
		}
		to := b.view().destination(led)
		if to == "" {
			return
		}
		if err := r.Transfer(to); err != nil {
			b.log.Info("could not hand a shard's leadership over to a node with more disk space; the node tries again", "shard", i, "to", to, "error", err)
			continue
		}
		led[to]++
		b.log.Info("handed a shard's leadership over to a node with more disk space", "shard", i, "to", to)
	}
}

// view returns what this node knows of the voters' disks now.
func (b *balance) view() diskView {
	return diskView{self: b.groups.node, own: b.space.Own(), voters: b.peers.voters(), fit: b.clocks.fit}
}

// yields reports whether another voter should lead because more space is free on its disk.
func (b *balance) yields() bool { return b.space.Own() > disk.SpaceOK && b.view().yields() }
