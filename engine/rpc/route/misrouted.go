package route

import (
	"errors"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
)

// Explain adds to an error of leadership which node leads, as far as the cluster knows. A shard that takes nothing more
// since this node stops is one that others are about to lead. Without a cluster the error stays as it is.
func Explain(c Cluster, err error) error {
	if c == nil || err == nil {
		return err
	}
	var known *call.MisroutedError
	var lost *shard.NotLeaderError
	switch {
	case errors.As(err, &known), errors.Is(err, shard.ErrUnknownOutcome):
		return err
	case errors.As(err, &lost):
		return Misrouted(c, lost.Shard, err)
	case errors.Is(err, shard.ErrRoutesChanged):
		return &call.MisroutedError{Leader: &queuepb.NotLeader{RoutesChanged: true}, Err: err}
	case errors.Is(err, shard.ErrNotLeader), errors.Is(err, shard.ErrClosed):
		return &call.MisroutedError{Leader: &queuepb.NotLeader{}, Err: err}
	}
	return err
}

// Misrouted refuses what is for a shard that this node does not lead.
func Misrouted(c Cluster, n int, err error) error {
	leader := &queuepb.NotLeader{Shard: uint32(max(0, n))}
	if node := c.Leader(n); node != c.Self() { // which knows that it does, and is not ready yet or is no longer
		leader.Node = node
		m, _ := c.Member(node)
		leader.Address = m.Address
	}
	return &call.MisroutedError{Leader: leader, Err: err}
}
