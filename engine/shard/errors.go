package shard

import (
	"errors"
	"fmt"
)

var (
	// ErrOverloaded says that the inbox is full; the caller should try again later. Nothing was done.
	ErrOverloaded = errors.New("the shard has too much waiting: try again later")
	// ErrClosed says that the shard is stopping, or stopped. Nothing was done.
	ErrClosed = errors.New("the shard is stopping")
	// ErrNotLeader says that another node leads the shard, or that no node does at the moment. Nothing was done. The error is a
	// *NotLeaderError.
	ErrNotLeader = errors.New("this node does not lead the shard")
	// ErrUnknownOutcome says that leadership was lost while a command was under way: the command may or may not take effect.
	ErrUnknownOutcome = errors.New("leadership was lost meanwhile: the outcome is unknown")
	// ErrRoutesChanged ends a subscription when the node begins to lead a shard that the subscription does not draw from.
	ErrRoutesChanged = errors.New("this node leads other shards than before")
	// ErrNotFound says that the tenant has no such task, or that the task is done.
	ErrNotFound = errors.New("no such task, or it is done")
	// ErrNotDead says that a task is not dead.
	ErrNotDead = errors.New("the task is not dead")
	// ErrNoQueue says that the tenant has no such queue.
	ErrNoQueue = errors.New("no such queue")

	errTooMuchCredit = fmt.Errorf("a subscriber's credit is above %d", poolCreditMax)
)

// NotLeaderError says which shard this node does not lead; a negative Shard stands for any: this node leads none.
type NotLeaderError struct{ Shard int }

func (e *NotLeaderError) Error() string {
	if e.Shard < 0 {
		return "this node leads no shard"
	}
	return fmt.Sprintf("this node does not lead shard %d", e.Shard)
}

// Is makes it an ErrNotLeader.
func (e *NotLeaderError) Is(target error) bool { return target == ErrNotLeader }

// notRefused returns the error of a command that partly took effect. It replaces ErrNotLeader, which would say that nothing was
// done.
func notRefused(err error) error {
	if errors.Is(err, ErrNotLeader) {
		return fmt.Errorf("%w: %s", ErrUnknownOutcome, err.Error())
	}
	return err
}
