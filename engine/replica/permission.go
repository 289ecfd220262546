package replica

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

// Permission says whether this node may lead, which its clock decides. Its methods are safe for concurrent use.
type Permission interface {
	// Refused returns why this node must not lead, or nil. It answers from memory.
	Refused() error
	// Renew finds out anew whether this node may lead, in bounded time, and returns what Refused would. It is called before each
	// lead begins.
	Renew(ctx context.Context) error
	// Successor returns which of some voters is to lead next; "" if any may. It returns false if none of the others may.
	Successor(voters []string) (node string, ok bool)
}

// refusedPause is how long a node that leads the group and must not waits before it looks again.
const refusedPause = time.Second

// refused returns why this node must not lead, or nil.
func (r *Replica) refused() error {
	if r.o.Permission == nil {
		return nil
	}
	return r.o.Permission.Refused()
}

// renew finds out anew why this node must not lead, or returns nil.
func (r *Replica) renew() error {
	if r.o.Permission == nil {
		return nil
	}
	return r.o.Permission.Renew(r.ctx)
}

// Review has the replica look whether this node may lead. If it leads and must not, it ends the lead and hands over, or steps down
// if nobody takes over.
func (r *Replica) Review() { signal(r.review) }

// stepAside hands the group over to a node that may lead, for a node that must not, whose lead has ended. If there is none, or it does
// not take over, the node is silent from then on: Raft steps down when it reaches no majority for half an election timeout.
func (r *Replica) stepAside(why error) {
	s, err := r.Status()
	if err != nil {
		return // it stops
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
	r.o.Log.Info("stepping down without having handed over", "error", err, "reason", why)
	r.silent.Store(true)
}

// successor returns the voter that is to lead next; the zero value if any may, and false if none may.
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

// transport is the transport of a member that asks for votes only while it may lead, and should. One that must not stays a candidate in
// the term that is, and disturbs nobody: Raft asks for pre-votes before it begins a term. It votes for others, and copies. One
// that is silent sends its followers nothing.
type transport struct {
	*raft.NetworkTransport

	replica *Replica
}

var _ raft.WithPreVote = (*transport)(nil)

// withholdsVote reports whether this node does not ask for votes.
func (r *Replica) withholdsVote() bool { return r.refused() != nil || r.reluctant() }

// RequestVote implements raft.Transport.
func (t *transport) RequestVote(id raft.ServerID, at raft.ServerAddress, args *raft.RequestVoteRequest, out *raft.RequestVoteResponse) error {
	if t.replica.withholdsVote() {
		out.Term, out.Granted = args.Term, false
		return nil
	}
	return t.NetworkTransport.RequestVote(id, at, args, out)
}

// RequestPreVote implements raft.WithPreVote.
func (t *transport) RequestPreVote(id raft.ServerID, at raft.ServerAddress, args *raft.RequestPreVoteRequest, out *raft.RequestPreVoteResponse) error {
	if t.replica.withholdsVote() {
		out.Term, out.Granted = args.Term, false
		return nil
	}
	return t.NetworkTransport.RequestPreVote(id, at, args, out)
}

// errSilent says why nothing is sent to the followers.
var errSilent = errors.New("this node must not lead, and steps down")

// AppendEntries implements raft.Transport.
func (t *transport) AppendEntries(id raft.ServerID, at raft.ServerAddress, args *raft.AppendEntriesRequest, out *raft.AppendEntriesResponse) error {
	if t.replica.silent.Load() {
		return errSilent
	}
	return t.NetworkTransport.AppendEntries(id, at, args, out)
}

// AppendEntriesPipeline implements raft.Transport.
func (t *transport) AppendEntriesPipeline(id raft.ServerID, at raft.ServerAddress) (raft.AppendPipeline, error) {
	if t.replica.silent.Load() {
		return nil, errSilent
	}
	p, err := t.NetworkTransport.AppendEntriesPipeline(id, at)
	if err != nil {
		return nil, err
	}
	return &pipeline{p, t.replica}, nil
}

// pipeline is the messages to one follower, several of which are on their way at once.
type pipeline struct {
	raft.AppendPipeline

	replica *Replica
}

// AppendEntries implements raft.AppendPipeline.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, out *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	if p.replica.silent.Load() {
		return nil, errSilent
	}
	return p.AppendPipeline.AppendEntries(args, out)
}
