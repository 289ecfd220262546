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
func (s *localStore) Damage() error {
	if found := s.damage.Load(); found != nil {
		return fmt.Errorf("the store in %s is damaged: this node does not send it, and leads only if no other voter can: "+
			"once another node leads, stop this node and start it again with an empty data folder: %w", s.options.Dir, found)
	}
	return nil
}

func (s *localStore) reportDamage(found *disk.DamagedError) {
	if s.damage.CompareAndSwap(nil, found) {
		s.options.Log.Error("the store is damaged", "error", s.Damage())
	}
	signal.Send(s.damaged)
}

// yieldLeadership waits until damage is found. From then on it hands leadership over whenever this
// member leads.
func (l *leadership) yieldLeadership() {
	select {
	case <-l.stop:
		return
	case <-l.content.damaged:
	}
	for {
		if l.content.Damage() != nil && l.raft.State() == raft.Leader && l.hasSuccessor() {
			if err := l.Transfer(""); err != nil {
				l.o.Log.Warn("could not hand leadership over; this node tries again", "error", err)
			}
		}
		select {
		case <-l.stop:
			return
		case <-l.content.damaged: // this node leads again, and a follower requested its store again
		case <-time.After(damagedPause):
		}
	}
}

func (l *leadership) hasSuccessor() bool {
	s, err := l.membership.Status()
	if err != nil {
		return false // the replica is stopping
	}
	for _, m := range s.Members {
		if m.Suffrage == raft.Voter && string(m.ID) != l.o.Node {
			return true
		}
	}
	return false
}
