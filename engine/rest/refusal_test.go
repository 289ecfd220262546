package rest

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// itemRefusals are refusals of an item, and the refusals of a call with only that item.
var itemRefusals = []struct {
	item       *queuepb.ItemError
	status     int
	code       codes.Code
	retryAfter string
}{
	{&queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT, Field: "f", Message: "f: is wrong"}, 400, codes.InvalidArgument, ""},
	{&queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_NOT_FOUND, Message: "m"}, 404, codes.NotFound, ""},
	{&queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN, Message: "m"}, 409, codes.FailedPrecondition, ""},
	{&queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_CANCELLED, Message: "m"}, 409, codes.FailedPrecondition, ""},
	{&queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS, Message: "m"}, 409, codes.AlreadyExists, ""},
	{&queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, Message: "m", RetryAfterMs: 1_500, Reason: "quota"}, 429, codes.ResourceExhausted, "2"},
	{&queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, Message: "waiting does not help"}, 429, codes.ResourceExhausted, ""},
	{&queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE, Message: "m"}, 503, codes.Unavailable, ""},
	{&queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_PERMISSION_DENIED, Message: "m"}, 403, codes.PermissionDenied, ""},
	{&queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, Message: "m", Leader: "n2:7070"}, 503, codes.Unavailable, "1"},
	{&queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME, Message: "m"}, 504, codes.Aborted, ""},
	{&queuepb.ItemError{Message: "m"}, 500, codes.Internal, ""},
}

// A refused item refuses the call if it is the only item; otherwise only the item is refused.
func TestARefusalOfTheOnlyItemRefusesTheCall(t *testing.T) {
	var refused *queuepb.ItemError
	items := 1
	observed := newCalls()
	a := serve(t, &fakeQueue{
		enqueue: func(context.Context, *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
			return &queuepb.EnqueueResponse{Results: append([]*queuepb.EnqueueResult{{Error: refused}}, make([]*queuepb.EnqueueResult, items-1)...)}, nil
		},
		settle: func() []*queuepb.SettleResult {
			return append([]*queuepb.SettleResult{{Error: refused}}, make([]*queuepb.SettleResult, items-1)...)
		},
		claim: func(context.Context, *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
			return &queuepb.ClaimResponse{Results: []*queuepb.SettleResult{{Error: refused}}}, nil
		},
	}, Options{Observe: observed.observe})
	for call, path := range map[string]string{
		"enqueue": "tasks[0].", "complete": "completions[0].", "fail": "failures[0].", "extend": "extensions[0].", "release": "releases[0].",
	} {
		for _, c := range itemRefusals {
			refused, items = c.item, 1
			got := a.post("/v1/tasks:"+call, "{}")
			assert.Equal(t, c.status, got.status, "%s: %v", call, c.item)
			assert.Equal(t, int(c.code), got.Code)
			assert.Equal(t, c.retryAfter, got.header.Get("Retry-After"), "%v", c.item)
			if c.item.GetField() != "" {
				assert.Equal(t, path+"f", got.field())
				assert.Equal(t, path+"f: is wrong", got.Message)
			} else {
				assert.Equal(t, c.item.GetMessage(), got.Message)
			}
			last := got.Details[len(got.Details)-1]
			assert.Equal(t, "type.googleapis.com/prony.queue.v1.ItemError", last.Type, "the details contain the item's error as in a batch")
			assert.Equal(t, c.item.GetCode().String(), last.Code)
			assert.Equal(t, c.item.GetMessage(), last.Message)
			seen := observed.next(t)
			assert.NotNil(t, seen.Response, "its items are counted")
			assert.Equal(t, c.code, status.Code(seen.Err))

			items = 2
			got = a.post("/v1/tasks:"+call, "{}")
			assert.Equal(t, http.StatusOK, got.status, call)
			assert.Contains(t, got.text, c.item.GetCode().String())
			require.NoError(t, observed.next(t).Err)
		}
	}
	assert.Equal(t, http.StatusOK, a.post("/v1/tasks:claim", "{}").status, "the claim is not refused")
}

// The items of a call are the request's list whose elements have one result each.
func TestTheItemsOfCalls(t *testing.T) {
	got := map[string]string{}
	for service, h := range newBoth(t, Options{}) {
		for _, r := range h.routes {
			if r.items != "" {
				got[r.rpc[len(service):]] = r.items
			}
		}
	}
	assert.Equal(t, map[string]string{
		"Enqueue": "tasks", "Complete": "completions", "Fail": "failures", "Extend": "extensions", "Release": "releases",
		"CancelTasks": "ids", "RescheduleTasks": "ids", "PrioritizeTasks": "ids", "RedriveDead": "ids", "PurgeDead": "ids",
	}, got)
}
