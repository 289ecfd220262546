package call

import (
	"errors"
	"fmt"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

// MisroutedError means that this node does not lead a shard. It names the leader, if known.
type MisroutedError struct {
	Leader *queuepb.NotLeader
	Err    error // the reason why this node refuses the call
	// Outage explains why no node can lead, and the remedy. It is "" if a majority of the voters
	// answers.
	Outage string
}

func (e *MisroutedError) Error() string {
	if e.Leader.GetNode() == "" && e.Outage != "" {
		return "no shard has a leader: " + e.Outage
	}
	if e.Leader.GetNode() == "" {
		return fmt.Sprintf("%v, and the leader is unknown: try again later", e.Err)
	}
	if e.Leader.GetAddress() == "" {
		return fmt.Sprintf("%v: node %s does", e.Err, e.Leader.GetNode())
	}
	return fmt.Sprintf("%v: node %s at %s does", e.Err, e.Leader.GetNode(), e.Leader.GetAddress())
}

func (e *MisroutedError) Unwrap() error { return e.Err }

// IsMisrouted reports whether an error means that other nodes lead and the call therefore had no
// effect.
func IsMisrouted(err error) bool {
	if err == nil {
		return false // return early to avoid allocating e
	}
	var e *MisroutedError
	return errors.As(err, &e) || errors.Is(err, shard.ErrNotLeader) || errors.Is(err, shard.ErrRoutesChanged)
}
