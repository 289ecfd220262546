package call

import (
	"errors"
	"fmt"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

// MisroutedError says that this node does not lead a shard, and who does.
type MisroutedError struct {
	Leader *queuepb.NotLeader
	Err    error // why this node refuses
	// Outage says why no node can lead, and what to do; "" if a majority of the voters answers.
	Outage string
}

func (e *MisroutedError) Error() string {
	if e.Leader.GetNode() == "" && e.Outage != "" {
		return "no shard has a leader: " + e.Outage
	}
	if e.Leader.GetNode() == "" {
		return fmt.Sprintf("%v, and it is not known which node does: try again later", e.Err)
	}
	if e.Leader.GetAddress() == "" {
		return fmt.Sprintf("%v: node %s does", e.Err, e.Leader.GetNode())
	}
	return fmt.Sprintf("%v: node %s at %s does", e.Err, e.Leader.GetNode(), e.Leader.GetAddress())
}

func (e *MisroutedError) Unwrap() error { return e.Err }

// IsMisrouted reports whether an error says that other nodes lead. Then nothing was done.
func IsMisrouted(err error) bool {
	if err == nil {
		return false // before e, which is on the heap
	}
	var e *MisroutedError
	return errors.As(err, &e) || errors.Is(err, shard.ErrNotLeader) || errors.Is(err, shard.ErrRoutesChanged)
}
