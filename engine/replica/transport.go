package replica

import (
	"sync"

	"github.com/hashicorp/raft"
)

// transport is the transport of a member that requests votes only while it may lead and should
// stand for election. While the member must not lead, it does not send vote requests, but still
// votes and replicates. It then remains a candidate in the current term and does not disturb the
// others, because Raft requests pre-votes before it starts a new term. A silent member sends
// nothing to its followers.
//
// The transport can also deliver a message to this node's own Raft; see deliver.
type transport struct {
	*raft.NetworkTransport

	group   *raftGroup
	rpcs    chan raft.RPC // requests for this node's Raft
	closing sync.Once
	closed  chan struct{}
	running sync.WaitGroup
}

var _ raft.WithPreVote = (*transport)(nil)

func newTransport(r *raftGroup, c *raft.NetworkTransportConfig) *transport {
	t := &transport{NetworkTransport: raft.NewNetworkTransportWithConfig(c), group: r, rpcs: make(chan raft.RPC), closed: make(chan struct{})}
	t.running.Go(t.receive)
	return t
}

// receive forwards requests from other nodes to rpcs. It is needed because Raft's transport offers
// no way to add requests to its own channel.
func (t *transport) receive() {
	for {
		select {
		case rpc := <-t.NetworkTransport.Consumer():
			if !t.pass(rpc) {
				return
			}
		case <-t.closed:
			return
		}
	}
}

func (t *transport) pass(rpc raft.RPC) bool {
	select {
	case t.rpcs <- rpc:
		return true
	case <-t.closed:
		return false
	}
}

// Consumer implements raft.Transport.
func (t *transport) Consumer() <-chan raft.RPC { return t.rpcs }

// deliver passes a message to this node's Raft as if another node had sent it, and waits for the
// answer. It returns false if the transport is closed first.
func (t *transport) deliver(command any) bool {
	answered := make(chan raft.RPCResponse, 1)
	if !t.pass(raft.RPC{Command: command, RespChan: answered}) {
		return false
	}
	select {
	case <-answered:
		return true
	case <-t.closed:
		return false
	}
}

// Close stops the transport. It does not close the connections.
func (t *transport) Close() error {
	t.closing.Do(func() { close(t.closed) })
	t.running.Wait()
	return t.NetworkTransport.Close()
}

func (t *transport) header() raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(t.group.o.Node), Addr: t.EncodePeer(raft.ServerID(t.group.o.Node), t.LocalAddr())}
}

// RequestVote implements raft.Transport.
func (t *transport) RequestVote(id raft.ServerID, at raft.ServerAddress, args *raft.RequestVoteRequest, out *raft.RequestVoteResponse) error {
	if t.group.withholdsVote() {
		out.Term, out.Granted = args.Term, false
		return nil
	}
	return t.NetworkTransport.RequestVote(id, at, args, out)
}

// RequestPreVote implements raft.WithPreVote.
func (t *transport) RequestPreVote(id raft.ServerID, at raft.ServerAddress, args *raft.RequestPreVoteRequest, out *raft.RequestPreVoteResponse) error {
	if t.group.withholdsVote() {
		out.Term, out.Granted = args.Term, false
		return nil
	}
	return t.NetworkTransport.RequestPreVote(id, at, args, out)
}

// AppendEntries implements raft.Transport.
func (t *transport) AppendEntries(id raft.ServerID, at raft.ServerAddress, args *raft.AppendEntriesRequest, out *raft.AppendEntriesResponse) error {
	if t.group.silent.Load() {
		return errSilent
	}
	return t.NetworkTransport.AppendEntries(id, at, args, out)
}

// AppendEntriesPipeline implements raft.Transport.
func (t *transport) AppendEntriesPipeline(id raft.ServerID, at raft.ServerAddress) (raft.AppendPipeline, error) {
	if t.group.silent.Load() {
		return nil, errSilent
	}
	p, err := t.NetworkTransport.AppendEntriesPipeline(id, at)
	if err != nil {
		return nil, err
	}
	return &pipeline{p, t.group}, nil
}

// pipeline sends messages to one follower without waiting for each answer. Sending fails while the
// member is silent.
type pipeline struct {
	raft.AppendPipeline

	group *raftGroup
}

// AppendEntries implements raft.AppendPipeline.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, out *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	if p.group.silent.Load() {
		return nil, errSilent
	}
	return p.AppendPipeline.AppendEntries(args, out)
}
