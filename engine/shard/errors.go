package shard

import (
	"errors"
	"fmt"
)

// ErrNotLeader says that another node leads the shard, or none does at the moment. Nothing was done. The error is a
// *NotLeaderError.
var ErrNotLeader = errors.New("this node does not lead the shard")

// NotLeaderError says which shard this node does not lead.
type NotLeaderError struct{ Shard int }

func (e *NotLeaderError) Error() string {
	return fmt.Sprintf("this node does not lead shard %d", e.Shard)
}

// Is makes it an ErrNotLeader.
func (e *NotLeaderError) Is(target error) bool { return target == ErrNotLeader }

// ErrUnknownOutcome says that leadership was lost while a command was under way: it may or may not take effect.
var ErrUnknownOutcome = errors.New("leadership was lost meanwhile: the outcome is unknown")

// ErrRoutesChanged ends a subscription when the node comes to lead a shard that the subscription does not draw from.
var ErrRoutesChanged = errors.New("this node leads other shards than before")

// notRefused returns the error of a command a part of which took effect. ErrNotLeader would say that nothing was done.
func notRefused(err error) error {
	if errors.Is(err, ErrNotLeader) {
		return fmt.Errorf("%w: %s", ErrUnknownOutcome, err.Error())
	}
	return err
}
