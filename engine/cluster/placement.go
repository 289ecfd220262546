package cluster

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/storage"
)

// spreadEvery is how often a node compares the number of groups that it leads with the
// numbers of the other nodes.
const spreadEvery = 5 * time.Second

// balance hands leadership over to other nodes: to those that lead fewer groups, to those with more
// disk space, and to any when this node stops.
type balance struct {
	groups  *groups
	peers   *peers
	clocks  *clocks
	space   *storage.Space
	log     *slog.Logger
	closing atomic.Bool // true once HandOver was called
}

// spreadLeadership hands over the leadership of groups while another voter leads at least two
// groups fewer than this node.
func (b *balance) spreadLeadership(ctx context.Context) {
	tick := time.NewTicker(spreadEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if i, to := surplus(b.groups.node, b.groups.leaders(), b.candidates); to != "" && !b.closing.Load() {
			if err := b.groups.replicas[i].Transfer(to); err != nil {
				b.log.Info("could not hand a shard's leadership over; the node tries again", "shard", i, "to", to, "error", err)
			} else {
				b.log.Info("handed a shard's leadership over to a node that leads fewer", "shard", i, "to", to)
			}
		}
	}
}

// surplus returns a group that this node leads, and the node that should lead the group instead. to
// is "" if no group should be handed over. leaders are the leaders of the groups. candidates
// returns the voters of a group that may lead it.
func surplus(self string, leaders []string, candidates func(i int) []string) (i int, to string) {
	led := countLed(leaders)
	if led[self] == 0 || led[""] > 0 {
		return 0, "" // this node leads nothing, or an election is in progress
	}
	for i = len(leaders) - 1; leaders[i] != self; {
		i--
	}
	for _, id := range candidates(i) {
		if led[id]+1 < led[self] && (to == "" || led[id] < led[to]) {
			to = id
		}
	}
	return i, to
}

// countLed returns the number of groups that each node leads, and at "" the number of groups whose
// leader is unknown.
func countLed(leaders []string) map[string]int {
	led := map[string]int{}
	for _, leader := range leaders {
		led[leader]++
	}
	return led
}

// candidates returns the voters of a group that may lead according to their disks and clocks.
func (b *balance) candidates(i int) (ids []string) {
	s, err := b.groups.replicas[i].Status()
	if err != nil {
		return nil // the replica is stopping
	}
	for _, m := range s.Members {
		id := string(m.ID)
		if m.Suffrage == raft.Voter && b.peers.hasSpace(id) && b.clocks.fit(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// HandOver hands over the leadership of all groups. It must be called before the node stops, so
// that other nodes lead without waiting for the election timeout.
func (b *balance) HandOver() {
	b.closing.Store(true)
	var all sync.WaitGroup
	for _, r := range b.groups.replicas {
		all.Go(func() {
			if err := r.Transfer(b.view().successor()); err != nil {
				b.log.Info("stopping without handing leadership over", "error", err)
			}
		})
	}
	all.Wait()
}
