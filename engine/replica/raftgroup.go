package replica

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// raftGroup is this member's Raft, its connections to the other members, and what its parts share.
type raftGroup struct {
	o         Options
	raft      *raft.Raft
	started   atomic.Bool // true once raft is set
	transport *transport
	count     counters
	// silent makes the transport send nothing to the followers, so that Raft steps down. Only the
	// leadership goroutine sets it.
	silent atomic.Bool
	stop   chan struct{}
	ctx    context.Context // ends when stop is closed
	cancel context.CancelFunc
	asking sync.WaitGroup // waits for the goroutines that ask voters
}

var _ questioned = (*raftGroup)(nil)

func (r *raftGroup) members() []raft.Server { return r.raft.GetConfiguration().Configuration().Servers }

func (r *raftGroup) currentTerm() uint64 {
	// Read the term before the state. If this node then loses leadership, and a later term starts,
	// State no longer returns Leader.
	term := r.raft.CurrentTerm()
	if r.raft.State() != raft.Leader {
		return 0
	}
	return term
}

// heartbeat implements questioned. A member answers heartbeats immediately, even while its disk is
// slow.
func (r *raftGroup) heartbeat(to raft.Server, term uint64) (uint64, error) {
	question := raft.AppendEntriesRequest{RPCHeader: r.transport.header(), Term: term}
	var answer raft.AppendEntriesResponse
	if err := r.transport.AppendEntries(to.ID, to.Address, &question, &answer); err != nil {
		return 0, err
	}
	if !answer.Success && answer.Term <= term {
		return 0, errNotFollowing
	}
	return answer.Term, nil
}

// standing asks a voter for its term and log length. It sends a heartbeat of term 1. This heartbeat
// has no effect, because the leader's term is later. The voter answers immediately, even while it
// waits for its disk.
func (r *raftGroup) standing(m raft.Server) (*raft.AppendEntriesResponse, error) {
	question := raft.AppendEntriesRequest{RPCHeader: r.transport.header(), Term: 1}
	answer := new(raft.AppendEntriesResponse)
	return answer, r.transport.NetworkTransport.AppendEntries(m.ID, m.Address, &question, answer)
}

// askVoters asks all other voters concurrently, except the voter with the ID except. It waits until
// enough(voters, yes) is true or all have answered, and returns that value. voters is the number of
// voters of the group, and yes is the number of positive answers. If most has passed or the replica
// stops, it returns false.
func (r *raftGroup) askVoters(except raft.ServerID, ask func(raft.Server) bool, most time.Duration, enough func(voters, yes int) bool) bool {
	members := r.members()
	answers, voters, asked := make(chan bool, len(members)), 0, 0
	for _, m := range members {
		if m.Suffrage != raft.Voter {
			continue
		}
		if voters++; string(m.ID) == r.o.Node || m.ID == except {
			continue
		}
		asked++
		r.asking.Go(func() { answers <- ask(m) })
	}
	yes, patience := 0, time.After(most)
	for ; asked > 0 && !enough(voters, yes); asked-- {
		select {
		case is := <-answers:
			if is {
				yes++
			}
		case <-patience:
			return false
		case <-r.stop:
			return false
		}
	}
	return enough(voters, yes)
}

func (r *raftGroup) pause(d time.Duration) bool {
	select {
	case <-r.stop:
		return false
	case <-time.After(d):
		return true
	}
}

// Term returns Raft's current term.
func (r *raftGroup) Term() uint64 { return r.raft.CurrentTerm() }

// Leader returns the ID of the group's leader, or "" if unknown.
func (r *raftGroup) Leader() string {
	_, leader := r.raft.LeaderWithID()
	return string(leader)
}

func (r *raftGroup) changed(what, node string, err error) error {
	if err != nil {
		return fmt.Errorf("shard %d: %s node %q: %w", r.o.Shard, what, node, err)
	}
	return nil
}
