package rpc

import (
	"context"
	"errors"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

// retryDelay is what an overloaded server asks a client to wait.
const retryDelay = 100 * time.Millisecond

// statusOf turns an error that refuses a whole call into a gRPC status.
func statusOf(err error) error {
	if err == nil {
		return nil
	}
	var field *queue.FieldError
	var quota *queue.QuotaError
	unauthenticated, denied := isAccessError(err)
	switch {
	case unauthenticated:
		return status.Error(codes.Unauthenticated, err.Error())
	case denied:
		return status.Error(codes.PermissionDenied, err.Error())
	case errors.As(err, &quota):
		return withDetail(status.New(codes.ResourceExhausted, err.Error()),
			&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Duration(quota.RetryAfterMs) * time.Millisecond)})
	case errors.As(err, &field):
		return withDetail(status.New(codes.InvalidArgument, err.Error()), &errdetails.BadRequest{
			FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field.Field, Description: field.Problem}},
		})
	case errors.Is(err, shard.ErrOverloaded), errors.Is(err, queue.ErrTooManyQueues), errors.Is(err, access.ErrTooMany):
		return withDetail(status.New(codes.ResourceExhausted, err.Error()),
			&errdetails.RetryInfo{RetryDelay: durationpb.New(retryDelay)})
	case errors.Is(err, shard.ErrClosed):
		return status.Error(codes.Unavailable, err.Error())
	case errors.Is(err, shard.ErrNotFound), errors.Is(err, access.ErrNotFound):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, access.ErrPrecondition):
		return status.Error(codes.FailedPrecondition, err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	return status.Error(codes.Internal, err.Error())
}

func withDetail(s *status.Status, detail protoadapt.MessageV1) error {
	if detailed, err := s.WithDetails(detail); err == nil {
		return detailed.Err()
	}
	return s.Err()
}

// itemError turns an error that refuses one item of a batch into its message.
func itemError(index int, err error) *queuepb.ItemError {
	e := &queuepb.ItemError{Index: uint32(index), Message: err.Error()}
	var field *queue.FieldError
	var quota *queue.QuotaError
	switch {
	case errors.As(err, &quota):
		e.Code, e.RetryAfterMs = queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, quota.RetryAfterMs
	case errors.As(err, &field):
		e.Code, e.Field = queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT, field.Field
	case errors.Is(err, queue.ErrStaleToken):
		e.Code = queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN
	case errors.Is(err, shard.ErrNotFound):
		e.Code = queuepb.ErrorCode_ERROR_CODE_NOT_FOUND
	case errors.Is(err, shard.ErrOverloaded), errors.Is(err, queue.ErrTooManyQueues):
		e.Code, e.RetryAfterMs = queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, uint64(retryDelay.Milliseconds())
	case errors.Is(err, shard.ErrClosed):
		e.Code = queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE
	}
	return e
}

// fieldErr keeps a nil *queue.FieldError from becoming a non-nil error.
func fieldErr(e *queue.FieldError) error {
	if e == nil {
		return nil
	}
	return e
}

func idError(err error) error { return &queue.FieldError{Field: "id", Problem: err.Error()} }
