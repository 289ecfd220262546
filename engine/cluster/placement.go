package cluster

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// spreadEvery is how often a node compares the number of groups that it leads with the
// numbers of the other nodes.
const spreadEvery = 5 * time.Second

// spreadLeadership hands over the leadership of groups while another voter leads at least two
// groups fewer than this node.
func (k *Cluster) spreadLeadership() {
	tick := time.NewTicker(spreadEvery)
	defer tick.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-tick.C:
		}
		if i, to := k.surplus(); to != "" && !k.closing.Load() {
			if err := k.replicas[i].Transfer(to); err != nil {
				k.log.Info("could not hand a shard's leadership over; the node tries again", "shard", i, "to", to, "error", err)
			} else {
				k.log.Info("handed a shard's leadership over to a node that leads fewer", "shard", i, "to", to)
			}
		}
	}
}

// surplus returns a group that this node leads, and the node that should lead the group instead. to
// is "" if no group should be handed over.
func (k *Cluster) surplus() (i int, to string) {
	self := k.Self()
	led := map[string]int{}
	own := -1
	for i, r := range k.replicas {
		leader := r.Leader()
		led[leader]++
		if leader == self {
			own = i
		}
	}
	if own < 0 || led[""] > 0 {
		return 0, "" // this node leads nothing, or an election is in progress
	}
	s, err := k.replicas[own].Status()
	if err != nil {
		return 0, ""
	}
	for _, m := range s.Members {
		id := string(m.ID)
		if m.Suffrage == raft.Voter && k.peers.hasSpace(id) && k.clocks.fit(id) && led[id]+1 < led[self] && (to == "" || led[id] < led[to]) {
			to = id
		}
	}
	return own, to
}

// HandOver hands over the leadership of all groups. It must be called before the node stops, so
// that other nodes lead without waiting for the election timeout.
func (k *Cluster) HandOver() {
	k.closing.Store(true)
	var all sync.WaitGroup
	for _, r := range k.replicas {
		all.Go(func() {
			if err := r.Transfer(k.voterWithSpace()); err != nil {
				k.log.Info("stopping without handing leadership over", "error", err)
			}
		})
	}
	all.Wait()
}
