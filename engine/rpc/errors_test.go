package rpc

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

func TestErrorsBecomeTheirCodes(t *testing.T) {
	for _, c := range []struct {
		err    error
		status codes.Code
		item   queuepb.ErrorCode
	}{
		{&queue.FieldError{Field: "f", Problem: "p"}, codes.InvalidArgument, queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT},
		{shard.ErrOverloaded, codes.ResourceExhausted, queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED},
		{queue.ErrTooManyQueues, codes.ResourceExhausted, queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED},
		{shard.ErrClosed, codes.Unavailable, queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE},
		{shard.ErrNotFound, codes.NotFound, queuepb.ErrorCode_ERROR_CODE_NOT_FOUND},
		{queue.ErrStaleToken, codes.FailedPrecondition, queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN},
		{shard.ErrNotDead, codes.NotFound, queuepb.ErrorCode_ERROR_CODE_NOT_FOUND},
		{shard.ErrNoQueue, codes.NotFound, queuepb.ErrorCode_ERROR_CODE_NOT_FOUND},
		{&queue.QuotaError{Tenant: "t", Quota: "q"}, codes.ResourceExhausted, queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED},
		{context.Canceled, codes.Canceled, queuepb.ErrorCode_ERROR_CODE_UNSPECIFIED},
		{context.DeadlineExceeded, codes.DeadlineExceeded, queuepb.ErrorCode_ERROR_CODE_UNSPECIFIED},
		{errors.New("disk"), codes.Internal, queuepb.ErrorCode_ERROR_CODE_UNSPECIFIED},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			s := status.Convert(statusOf(err))
			assert.Equal(t, c.status, s.Code(), "%v", err)
			if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
				assert.Equal(t, err.Error(), s.Message())
			}
			item := itemError(3, err)
			assert.Equal(t, c.item, item.GetCode(), "%v", err)
			assert.EqualValues(t, 3, item.GetIndex())
			if c.status == codes.ResourceExhausted { // a client is always told when to try again
				assert.Positive(t, item.GetRetryAfterMs())
				require.Len(t, s.Details(), 1)
				assert.Equal(t, int64(item.GetRetryAfterMs()), s.Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration().Milliseconds())
			} else {
				assert.Zero(t, item.GetRetryAfterMs())
			}
		}
	}
	assert.NoError(t, statusOf(nil))
	assert.NoError(t, fieldErr(nil))
}
