package rpc

import (
	"errors"
	"fmt"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

// elsewhereError says that this node does not lead a shard, and who does.
type elsewhereError struct {
	leader *queuepb.NotLeader
	err    error // why this node refuses
}

func (e *elsewhereError) Error() string {
	if e.leader.GetNode() == "" {
		return fmt.Sprintf("%v, and it is not known which node does: try again later", e.err)
	}
	if e.leader.GetAddress() == "" {
		return fmt.Sprintf("%v: node %s does", e.err, e.leader.GetNode())
	}
	return fmt.Sprintf("%v: node %s at %s does", e.err, e.leader.GetNode(), e.leader.GetAddress())
}

func (e *elsewhereError) Unwrap() error { return e.err }

// explain adds to an error of leadership which node leads, as far as the cluster knows. A shard that takes nothing more
// since this node stops is one that others are about to lead. Without a cluster the error stays as it is.
func explain(c Cluster, err error) error {
	if c == nil || err == nil {
		return err
	}
	var known *elsewhereError
	var lost *shard.NotLeaderError
	switch {
	case errors.As(err, &known), errors.Is(err, shard.ErrUnknownOutcome):
		return err
	case errors.As(err, &lost):
		return elsewhere(c, lost.Shard, err)
	case errors.Is(err, shard.ErrRoutesChanged):
		return &elsewhereError{leader: &queuepb.NotLeader{RoutesChanged: true}, err: err}
	case errors.Is(err, shard.ErrNotLeader), errors.Is(err, shard.ErrClosed):
		return &elsewhereError{leader: &queuepb.NotLeader{}, err: err}
	}
	return err
}

// elsewhere refuses what is for a shard that this node does not lead.
func elsewhere(c Cluster, n int, err error) error {
	leader := &queuepb.NotLeader{Shard: uint32(max(0, n))}
	if node := c.Leader(n); node != c.Self() { // which knows that it does, and is not ready yet or is no longer
		leader.Node = node
		m, _ := c.Member(node)
		leader.Address = m.Address
	}
	return &elsewhereError{leader: leader, err: err}
}

// isLeadership tells whether an error says that other nodes lead: nothing was done.
func isLeadership(err error) bool {
	if err == nil {
		return false // before e, which is on the heap
	}
	var e *elsewhereError
	return errors.As(err, &e) || errors.Is(err, shard.ErrNotLeader) || errors.Is(err, shard.ErrRoutesChanged)
}
