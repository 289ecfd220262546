package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

// The errors of calls and sessions; test for them with errors.Is. The first five are what an Error matches.
var (
	// ErrInvalidArgument says that a field has a value that the server or the client does not accept. Error.Field names the field.
	ErrInvalidArgument = errors.New("invalid argument")
	// ErrNotFound says that the task, or its result, does not exist any more, or belongs to another tenant.
	ErrNotFound = errors.New("not found")
	// ErrStaleToken says that the lease is over: it expired, or the task was settled before.
	ErrStaleToken = errors.New("stale token")
	// ErrOverloaded says that the server or a quota of the tenant has no room. Error.RetryAfter says when to try again.
	ErrOverloaded = errors.New("overloaded")
	// ErrUnavailable says that no node could execute the call. Nothing was done.
	ErrUnavailable = errors.New("unavailable")
	// ErrClosed says that the session was closed.
	ErrClosed = errors.New("the session is closed")
	// ErrUnknownOutcome says that the session broke before the server answered: the call may or may not have taken effect.
	ErrUnknownOutcome = errors.New("the outcome is unknown")
	// ErrLeaseExpired says that the server refused to settle or extend a task whose lease had expired by the client's clock: the task
	// is ready again, or another worker has leased it. An error that is ErrLeaseExpired is also ErrStaleToken or ErrNotFound.
	ErrLeaseExpired = errors.New("the lease expired before the task was settled")

	// errNoAnswer is an answer that does not say what came of each item.
	errNoAnswer = errors.New("the server's answer is not about all that was sent")
)

// Error is the server's refusal of one item.
type Error struct {
	Code    queuepb.ErrorCode
	Field   string // at fault, where there is one
	Message string
	// RetryAfter is, with ErrOverloaded, when it is worth trying again.
	RetryAfter time.Duration
	// Reason is, with ErrOverloaded, "disk" if the server's disk has too little space, "quota" if a quota of the tenant is used up.
	Reason string
	// Leader is where the node that leads is reached, if that is why the item was refused, and is known.
	Leader string
}

func (e *Error) Error() string { return e.Message }

// Is makes errors.Is match the code.
func (e *Error) Is(target error) bool {
	switch e.Code {
	case queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT:
		return target == ErrInvalidArgument
	case queuepb.ErrorCode_ERROR_CODE_NOT_FOUND:
		return target == ErrNotFound
	case queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN:
		return target == ErrStaleToken
	case queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED:
		return target == ErrOverloaded
	case queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE, queuepb.ErrorCode_ERROR_CODE_NOT_LEADER:
		return target == ErrUnavailable
	case queuepb.ErrorCode_ERROR_CODE_UNSPECIFIED:
	}
	return false
}

func itemError(e *queuepb.ItemError) error {
	if e.GetCode() == queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME { // which is no refusal
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
