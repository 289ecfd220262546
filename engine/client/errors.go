package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

// These are the errors of calls and sessions. Test for them with errors.Is. An Error matches one of
// the first seven, or both ErrCancelled and ErrStaleToken.
var (
	// ErrInvalidArgument means that the server or the client refuses the value of a field.
	// Error.Field names the field.
	ErrInvalidArgument = errors.New("invalid argument")
	// ErrNotFound means that the task or its result does not exist or no longer exists, or that the
	// task belongs to another tenant.
	ErrNotFound = errors.New("not found")
	// ErrStaleToken means that the lease has ended: it has expired, or the task was already
	// settled.
	ErrStaleToken = errors.New("stale token")
	// ErrCancelled means that the task was cancelled while its lease was current, and that no
	// settlement of this lease has taken effect. The server forgets this after a while, at a restart
	// and when another node leads, and then returns ErrStaleToken. An error that matches
	// ErrCancelled also matches ErrStaleToken.
	ErrCancelled = errors.New("the task was cancelled")
	// ErrKeyTaken means that another task of the queue holds the task's unique key.
	ErrKeyTaken = errors.New("another task holds the key")
	// ErrOverloaded means that the server has no room, or that a quota of the tenant is used up.
	// Error.RetryAfter is the delay before a retry.
	ErrOverloaded = errors.New("overloaded")
	// ErrUnavailable means that no node could execute the call. The call had no effect.
	ErrUnavailable = errors.New("unavailable")
	// ErrClosed means that the session was closed.
	ErrClosed = errors.New("the session is closed")
	// ErrUnknownOutcome means that the session broke before the server answered. The call may or
	// may not have taken effect.
	ErrUnknownOutcome = errors.New("the outcome is unknown")
	// ErrLeaseExpired means that the server refused to settle or extend a task, and that by the
	// client's clock the task's lease had expired. The task is ready again, or another worker has
	// leased it. An error that matches ErrLeaseExpired also matches ErrStaleToken or ErrNotFound.
	ErrLeaseExpired = errors.New("the lease expired before the task was settled")

	// errNoAnswer means that an answer does not have exactly one outcome for each item.
	errNoAnswer = errors.New("the server's answer does not match the items sent")
)

// Error is the server's refusal of one item.
type Error struct {
	Code    queuepb.ErrorCode
	Field   string // name of the invalid field, or ""
	Message string
	// RetryAfter is the delay before a retry. It is set with ErrOverloaded.
	RetryAfter time.Duration
	// Reason is set with ErrOverloaded: "disk" means that the server's disk has too little space,
	// "quota" that a quota of the tenant is used up.
	Reason string
	// Leader is the address of the leading node. It is set if that address is known and the item
	// was refused because that node leads.
	Leader string
}

func (e *Error) Error() string { return e.Message }

// Is reports whether target is the error that corresponds to the code.
func (e *Error) Is(target error) bool {
	switch e.Code {
	case queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT:
		return target == ErrInvalidArgument
	case queuepb.ErrorCode_ERROR_CODE_NOT_FOUND:
		return target == ErrNotFound
	case queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN:
		return target == ErrStaleToken
	case queuepb.ErrorCode_ERROR_CODE_CANCELLED:
		return target == ErrCancelled || target == ErrStaleToken
	case queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS:
		return target == ErrKeyTaken
	case queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED:
		return target == ErrOverloaded
	case queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE, queuepb.ErrorCode_ERROR_CODE_NOT_LEADER:
		return target == ErrUnavailable
	case queuepb.ErrorCode_ERROR_CODE_UNSPECIFIED:
	}
	return false
}

func itemError(e *queuepb.ItemError) error {
	if e.GetCode() == queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME { // this is not a refusal
		return fmt.Errorf("%w: %s", ErrUnknownOutcome, e.GetMessage())
	}
	return &Error{
		Code: e.GetCode(), Field: e.GetField(), Message: e.GetMessage(),
		RetryAfter: time.Duration(e.GetRetryAfterMs()) * time.Millisecond, Reason: e.GetReason(), Leader: e.GetLeader(),
	}
}

func unknownOutcome(cause error) error {
	if cause == nil {
		return ErrUnknownOutcome
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, cause)
}
