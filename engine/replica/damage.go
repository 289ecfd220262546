package replica

import (
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/storage/disk"
)

// damagedPause is how long a member whose store is damaged waits before it tries again to hand the group over.
const damagedPause = 10 * time.Second

// Damage returns what was found to be damaged of the store, and what to do about that; nil if nothing was. A member finds
// damage when it is to send its store. It goes on to vote and to keep the log, and does not lead if another voter can.
func (r *Replica) Damage() error {
	if found := r.damage.Load(); found != nil {
		return fmt.Errorf("the store in %s is damaged, this node does not send it, and leads only if no other voter can: "+
			"once another node leads, stop this one and start it again with an empty data folder: %w", r.o.Dir, found)
	}
	return nil
}

func (r *Replica) reportDamage(found *disk.DamagedError) {
	if r.damage.CompareAndSwap(nil, found) {
		r.o.Log.Error("the store is damaged", "error", r.Damage())
	}
	signal(r.damaged)
}

// yield hands the group over whenever this member leads with a damaged store.
func (r *Replica) yield() {
	select {
	case <-r.stop:
		return
	case <-r.damaged:
	}
	for {
		if r.Damage() != nil && r.raft.State() == raft.Leader && r.hasSuccessor() {
			if err := r.Transfer(""); err != nil {
				r.o.Log.Warn("the group could not be handed over; it is tried again", "error", err)
			}
		}
		select {
		case <-r.stop:
			return
		case <-r.damaged: // it leads again, and was asked for its store again
		case <-time.After(damagedPause):
		}
	}
}

// hasSuccessor says whether another member has a vote.
func (r *Replica) hasSuccessor() bool {
	s, err := r.Status()
	if err != nil {
		return false // it stops
	}
	for _, m := range s.Members {
		if m.Suffrage == raft.Voter && string(m.ID) != r.o.Node {
			return true
		}
	}
	return false
}
