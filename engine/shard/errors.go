package shard

import (
	"errors"
	"fmt"
)

var (
	// ErrOverloaded means that the inbox is full. The command had no effect; the caller should try
	// again later.
	ErrOverloaded = errors.New("the shard is overloaded: try again later")
	// ErrClosed means that the shard is stopping or has stopped. The command had no effect.
	ErrClosed = errors.New("the shard is stopping")
	// ErrNotLeader means that another node leads the shard, or that no node leads it at the moment.
	// The command had no effect. The error is a *NotLeaderError.
	ErrNotLeader = errors.New("this node does not lead the shard")
	// ErrUnknownOutcome means that the node lost the leadership during a command. The command may
	// or may not take effect.
	ErrUnknownOutcome = errors.New("leadership was lost during the command: the outcome is unknown")
	// ErrRoutesChanged ends a subscription when the node starts to lead a shard that the
	// subscription does not include.
	ErrRoutesChanged = errors.New("this node leads other shards than before")
	// ErrNotFound means that the tenant has no such task, or that the task is done.
	ErrNotFound = errors.New("no such task, or it is done")
	// ErrNotDead means that the task is not dead.
	ErrNotDead = errors.New("the task is not dead")
	// ErrNotWaiting means that the task is neither ready nor delayed.
	ErrNotWaiting = errors.New("the task is leased or dead")
	// ErrLeased means that the task is leased.
	ErrLeased = errors.New("the task is leased")
	// ErrNoQueue means that the tenant has no such queue.
	ErrNoQueue = errors.New("no such queue")

	// ErrNoRecurring means that the tenant's queue has no recurring task of that name.
	ErrNoRecurring = errors.New("no such recurring task")

	errTooMuchCredit = fmt.Errorf("a subscriber's credit exceeds %d tasks", poolCreditMax)
)

// NotLeaderError names a shard that this node does not lead. A negative Shard means that this node
// leads no shard at all.
type NotLeaderError struct{ Shard int }

func (e *NotLeaderError) Error() string {
	if e.Shard < 0 {
		return "this node leads no shard"
	}
	return fmt.Sprintf("this node does not lead shard %d", e.Shard)
}

// Is reports whether target is ErrNotLeader.
func (e *NotLeaderError) Is(target error) bool { return target == ErrNotLeader }

// notRefused converts the error of a command that partly took effect. It replaces ErrNotLeader,
// which would promise that the command had no effect, with ErrUnknownOutcome.
func notRefused(err error) error {
	if errors.Is(err, ErrNotLeader) {
		return fmt.Errorf("%w: %s", ErrUnknownOutcome, err.Error())
	}
	return err
}
