package historytest

import (
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

// of returns the outcome that a session's error implies. In doubt it returns Unknown.
func of(err error) Outcome {
	var refusal *client.Error
	switch {
	case err == nil:
		return OK
	case errors.Is(err, client.ErrUnknownOutcome):
		return Unknown
	case errors.Is(err, client.ErrStaleToken), errors.Is(err, client.ErrNotFound):
		return Stale
	case errors.As(err, &refusal):
		return ofItem(refusal.Code)
	}
	return Unknown
}

// ofStatus returns the outcome that the status of a unary call implies for all items of the call.
func ofStatus(err error) Outcome {
	s := status.Convert(err)
	switch s.Code() {
	case codes.OK:
		return OK
	case codes.InvalidArgument, codes.ResourceExhausted, codes.Unauthenticated, codes.PermissionDenied, codes.FailedPrecondition:
		return Refused
	case codes.NotFound:
		return Stale
	case codes.Unavailable:
		for _, d := range s.Details() {
			if _, ok := d.(*queuepb.NotLeader); ok {
				return Refused
			}
		}
		if strings.HasPrefix(s.Message(), "connection error:") {
			return Refused // the call was never sent
		}
		return Unknown // the connection broke, possibly after the call was executed
	}
	return Unknown
}

func ofItem(code queuepb.ErrorCode) Outcome {
	switch code {
	case queuepb.ErrorCode_ERROR_CODE_NOT_FOUND, queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN, queuepb.ErrorCode_ERROR_CODE_CANCELLED:
		return Stale
	case queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT, queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS, queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED,
		queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE, queuepb.ErrorCode_ERROR_CODE_PERMISSION_DENIED, queuepb.ErrorCode_ERROR_CODE_NOT_LEADER:
		return Refused
	case queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME, queuepb.ErrorCode_ERROR_CODE_UNSPECIFIED:
	}
	return Unknown
}
