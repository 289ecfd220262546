package replica

import (
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/storage/disk"
)

// damagedPause is the pause between two attempts to transfer leadership away from a member with a
// damaged store.
const damagedPause = 10 * time.Second

// Damage returns an error that describes the damage found in the store and the remedy, or nil. A
// member checks its store when it sends it to another member. A member with a damaged store still
// votes and stores the log. It leads only if no other voter can.
func (r *Replica) Damage() error {
	if found := r.damage.Load(); found != nil {
		return fmt.Errorf("the store in %s is damaged: this node does not send it, and leads only if no other voter can: "+
			"once another node leads, stop this node and start it again with an empty data folder: %w", r.o.Dir, found)
	}
	return nil
}

func (r *Replica) reportDamage(found *disk.DamagedError) {
	if r.damage.CompareAndSwap(nil, found) {
		r.o.Log.Error("the store is damaged", "error", r.Damage())
	}
	signal.Send(r.damaged)
}

// yieldLeadership waits until damage is found. From then on it hands leadership over whenever this
// member leads.
func (r *Replica) yieldLeadership() {
	select {
	case <-r.stop:
		return
	case <-r.damaged:
	}
	for {
		if r.Damage() != nil && r.raft.State() == raft.Leader && r.hasSuccessor() {
			if err := r.Transfer(""); err != nil {
				r.o.Log.Warn("could not hand leadership over; this node tries again", "error", err)
			}
		}
		select {
		case <-r.stop:
			return
		case <-r.damaged: // this node leads again, and a follower requested its store again
		case <-time.After(damagedPause):
		}
	}
}

func (r *Replica) hasSuccessor() bool {
	s, err := r.Status()
	if err != nil {
		return false // the replica is stopping
	}
	for _, m := range s.Members {
		if m.Suffrage == raft.Voter && string(m.ID) != r.o.Node {
			return true
		}
	}
	return false
}
