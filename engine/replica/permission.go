package replica

import (
	"context"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/internal/signal"
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

func (r *Replica) refused() error {
	if r.o.Permission == nil {
		return nil
	}
	return r.o.Permission.Refused()
}

func (r *Replica) renew() error {
	if r.o.Permission == nil {
		return nil
	}
	return r.o.Permission.Renew(r.ctx)
}

// Review makes the replica check whether this node may lead. If the node leads although it must
// not, the replica ends the tenure and hands leadership over. If no other node takes over, it steps
// down.
func (r *Replica) Review() { signal.Send(r.review) }

// stepAside hands leadership over to a node that may lead. The caller has ended the tenure, because
// this node must not lead. If the transfer fails, this node stops sending to its followers. Raft
// then reaches no majority, and steps down when the leader lease ends.
func (r *Replica) stepAside(why error) {
	s, err := r.Status()
	if err != nil {
		return // the replica is stopping
	}
	to, ok := r.successor(s.Members)
	switch {
	case !ok:
		err = errNoSuccessor
	case to.ID == "":
		err = r.raft.LeadershipTransfer().Error()
	default:
		err = r.raft.LeadershipTransferToServer(to.ID, to.Address).Error()
	}
	if err == nil {
		r.o.Log.Info("handed over", "to", string(to.ID), "reason", why)
		return
	}
	r.o.Log.Info("stepping down without a hand-over", "error", err, "reason", why)
	r.silent.Store(true)
}

// successor returns the voter that should lead next, or the zero value if any voter may. It returns
// false if no voter may lead.
func (r *Replica) successor(members []raft.Server) (raft.Server, bool) {
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
