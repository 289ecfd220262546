package replica

import (
	"context"
	"time"

	"github.com/hashicorp/raft"
)

// Permission decides, based on this node's clock, whether this node may lead. Its methods are safe
// for concurrent use.
type Permission interface {
	// Refused returns the reason why this node must not lead, or nil. It does not block.
	Refused() error
	// Renew checks again whether this node may lead, and returns the new value of Refused. The time
	// it takes is limited. It is called before each tenure.
	Renew(ctx context.Context) error
	// Successor returns the voter that should lead next, or "" if any of the voters may. ok is
	// false if no voter may lead.
	Successor(voters []string) (node string, ok bool)
}

// refusedPause is the time after which a leader that must not lead checks again.
const refusedPause = time.Second

func (r *raftGroup) refused() error {
	if r.o.Permission == nil {
		return nil
	}
	return r.o.Permission.Refused()
}

func (r *raftGroup) renew() error {
	if r.o.Permission == nil {
		return nil
	}
	return r.o.Permission.Renew(r.ctx)
}

// successor returns the voter that should lead next, or the zero value if any voter may. It returns
// false if no voter may lead.
func (r *raftGroup) successor(members []raft.Server) (raft.Server, bool) {
	if r.o.Permission == nil {
		return raft.Server{}, true
	}
	var voters []string
	for _, m := range members {
		if m.Suffrage == raft.Voter && string(m.ID) != r.o.Node {
			voters = append(voters, string(m.ID))
		}
	}
	id, ok := r.o.Permission.Successor(voters)
	for _, m := range members {
		if id != "" && string(m.ID) == id {
			return m, ok
		}
	}
	return raft.Server{}, ok
}

// reluctantElections is the number of election timeouts, counted from the last contact with a
// leader, before a reluctant node stands for election. It stands in the end, because the other
// nodes may be unable to win.
const reluctantElections = 10

// reluctant reports whether this node should let other nodes win elections, because its disk lacks
// space and theirs do not.
func (r *raftGroup) reluctant() bool {
	if r.o.Reluctant == nil || !r.started.Load() || !r.o.Reluctant() {
		return false
	}
	return time.Since(r.raft.LastContact()) < reluctantElections*r.o.ElectionTimeout
}

func (r *raftGroup) withholdsVote() bool { return r.refused() != nil || r.reluctant() }
