package call

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
	"github.com/pronybench/prony/engine/storage/disk"
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
		{queue.ErrQueueNotEmpty, codes.FailedPrecondition, queuepb.ErrorCode_ERROR_CODE_UNSPECIFIED},
		{shard.ErrClosed, codes.Unavailable, queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE},
		{shard.ErrNotFound, codes.NotFound, queuepb.ErrorCode_ERROR_CODE_NOT_FOUND},
		{queue.ErrStaleToken, codes.FailedPrecondition, queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN},
		{queue.ErrCancelled, codes.FailedPrecondition, queuepb.ErrorCode_ERROR_CODE_CANCELLED},
		{queue.ErrKeyTaken, codes.AlreadyExists, queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS},
		{shard.ErrNotDead, codes.NotFound, queuepb.ErrorCode_ERROR_CODE_NOT_FOUND},
		{shard.ErrNotWaiting, codes.NotFound, queuepb.ErrorCode_ERROR_CODE_NOT_FOUND},
		{shard.ErrLeased, codes.NotFound, queuepb.ErrorCode_ERROR_CODE_NOT_FOUND},
		{shard.ErrNoQueue, codes.NotFound, queuepb.ErrorCode_ERROR_CODE_NOT_FOUND},
		{&queue.QuotaError{Tenant: "t", Quota: "q"}, codes.ResourceExhausted, queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED},
		{&shard.NotLeaderError{Shard: 1}, codes.Unavailable, queuepb.ErrorCode_ERROR_CODE_NOT_LEADER},
		{shard.ErrRoutesChanged, codes.Unavailable, queuepb.ErrorCode_ERROR_CODE_NOT_LEADER},
		{shard.ErrUnknownOutcome, codes.Aborted, queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME},
		{errors.Join(shard.ErrClosed, shard.ErrUnknownOutcome), codes.Aborted, queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME},
		{context.Canceled, codes.Canceled, queuepb.ErrorCode_ERROR_CODE_UNSPECIFIED},
		{context.DeadlineExceeded, codes.DeadlineExceeded, queuepb.ErrorCode_ERROR_CODE_UNSPECIFIED},
		{errors.New("disk"), codes.Internal, queuepb.ErrorCode_ERROR_CODE_UNSPECIFIED},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			s := status.Convert(Status(err))
			assert.Equal(t, c.status, s.Code(), "%v", err)
			if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
				assert.Equal(t, err.Error(), s.Message())
			}
			item := ItemError(3, err)
			assert.Equal(t, c.item, item.GetCode(), "%v", err)
			assert.EqualValues(t, 3, item.GetIndex())
			switch {
			case errors.Is(err, queue.ErrTooManyQueues):
				assert.Zero(t, item.GetRetryAfterMs(), "a permanent limit has no retry delay")
				assert.Empty(t, s.Details())
			case c.status == codes.ResourceExhausted: // the error has a retry delay
				assert.Positive(t, item.GetRetryAfterMs())
				require.NotEmpty(t, s.Details())
				assert.Equal(t, int64(item.GetRetryAfterMs()), s.Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration().Milliseconds())
			default:
				assert.Zero(t, item.GetRetryAfterMs())
			}
		}
	}
	assert.NoError(t, Status(nil))
	assert.NoError(t, FieldErr(nil))
}

// A refusal for lack of disk space has its reason and a retry delay, over gRPC and as an item of a
// batch.
func TestFullDisksAreNamed(t *testing.T) {
	err := fmt.Errorf("enqueue: %w", &disk.FullError{State: disk.SpaceLow})
	s := status.Convert(Status(err))
	require.Equal(t, codes.ResourceExhausted, s.Code())
	require.Len(t, s.Details(), 2)
	assert.Equal(t, disk.SpaceRetry, s.Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration())
	assert.Equal(t, "disk", s.Details()[1].(*errdetails.ErrorInfo).GetReason())
	item := ItemError(3, err)
	assert.Equal(t, queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, item.GetCode())
	assert.EqualValues(t, disk.SpaceRetry.Milliseconds(), item.GetRetryAfterMs())
	assert.Equal(t, "disk", item.GetReason())
	forwarded := ItemOfStatus(3, Status(err))
	assert.Equal(t, item.GetRetryAfterMs(), forwarded.GetRetryAfterMs())
	assert.Equal(t, item.GetReason(), forwarded.GetReason())
}

func TestUsedUpQuotasAreNamed(t *testing.T) {
	err := fmt.Errorf("enqueue: %w", &queue.QuotaError{Tenant: "t", Quota: "tasks_max"})
	s := status.Convert(Status(err))
	require.Len(t, s.Details(), 2)
	assert.Equal(t, "quota", s.Details()[1].(*errdetails.ErrorInfo).GetReason())
	assert.Equal(t, "quota", ItemError(3, err).GetReason())
	assert.Equal(t, "quota", ItemOfStatus(3, Status(err)).GetReason(), "also for a forwarded call")
	assert.Empty(t, ItemError(3, shard.ErrOverloaded).GetReason())
}

// Each settlement is checked for an error: the check must not allocate if there is none.
func TestNoErrorIsNotLeadership(t *testing.T) {
	require.Zero(t, testing.AllocsPerRun(100, func() { require.False(t, IsMisrouted(nil)) }))
}

// The status of an item's error has the same content as that of Status for the same refusal.
func TestAStatusOfAnItemIsThatOfItsError(t *testing.T) {
	for _, err := range []error{
		&queue.FieldError{Field: "f", Problem: "p"}, shard.ErrOverloaded, queue.ErrTooManyQueues, shard.ErrClosed, shard.ErrNotFound, queue.ErrStaleToken, queue.ErrCancelled,
		&queue.QuotaError{Tenant: "t", Quota: "q", RetryAfterMs: 7}, &disk.FullError{}, shard.ErrNotLeader, shard.ErrUnknownOutcome, errors.New("disk"),
	} {
		item := ItemError(0, err)
		want, got := status.Convert(Status(err)), status.Convert(StatusOfItem(item, "tasks[0]"))
		assert.Equal(t, want.Code(), got.Code(), "%v", err)
		details := got.Details()
		require.Len(t, details, len(want.Details())+1, "%v: %v", err, details)
		for i, d := range want.Details() {
			assert.IsType(t, d, details[i], "%v", err)
		}
		assert.Equal(t, item.GetCode(), details[len(details)-1].(*queuepb.ItemError).GetCode())
		if item.GetField() == "" {
			assert.Equal(t, want.Message(), got.Message())
		}
	}
	got := status.Convert(StatusOfItem(ItemError(0, &queue.FieldError{Field: "f", Problem: "p"}), "tasks[0]"))
	assert.Equal(t, "tasks[0].f: p", got.Message())
	assert.Equal(t, "tasks[0].f", got.Details()[0].(*errdetails.BadRequest).GetFieldViolations()[0].GetField())
	got = status.Convert(StatusOfItem(ItemError(0, IDsError(errors.New("p"))), "ids[0]"))
	assert.Equal(t, "ids[0]: p", got.Message())
}
