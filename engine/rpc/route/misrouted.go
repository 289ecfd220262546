package route

import (
	"errors"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
)

// Explain adds the known leader to an error about leadership. A shard that is closed because this
// node stops gets another leader soon, so Explain treats the error of a closed shard in the same
// way. Without a cluster, Explain returns the error unchanged.
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
		return &call.MisroutedError{Leader: &queuepb.NotLeader{}, Err: err, Outage: c.Outage()}
	}
	return err
}

// Misrouted returns the error for a call to a shard that this node does not lead.
func Misrouted(c Cluster, n int, err error) error {
	leader := &queuepb.NotLeader{Shard: uint32(max(0, n))}
	// Naming this node would claim that it leads the shard, but it does not serve the shard now.
	if node := c.Leader(n); node != c.Self() {
		leader.Node = node
		m, _ := c.Member(node)
		leader.Address = m.Address
	}
	return &call.MisroutedError{Leader: leader, Err: err, Outage: c.Outage()}
}
