package call

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage/backup"
	"github.com/pronybench/prony/engine/storage/disk"
)

// ErrUnread means that answers that clients have not read use up their share of the memory.
var ErrUnread = fmt.Errorf("%w: answers are not read", memory.ErrExhausted)

// retryDelay is the delay after which clients should retry when the server is overloaded.
const retryDelay = 100 * time.Millisecond

// These are the reasons of refusals in ItemError and google.rpc.ErrorInfo, and the domain of the
// ErrorInfo.
const (
	reasonDisk   = "disk"  // the disk has too little space
	reasonQuota  = "quota" // a quota of the tenant is used up
	reasonDomain = "prony"
)

// memoryRetryDelay is the retry delay of refusals for lack of memory.
const memoryRetryDelay = time.Second

// refusal describes an error to a client, for a whole call or for one item of a batch.
type refusal struct {
	call  codes.Code
	item  queuepb.ErrorCode
	field *queue.FieldError // the invalid field, or nil
	retry time.Duration     // the retry delay; 0 means none
	// reason is one of the reasons above, or "".
	reason string
	// leader names the shard's leader. It is nil if the error does not concern leadership.
	leader *queuepb.NotLeader
	// unknown means that the call may or may not have taken effect.
	unknown bool
}

// refusals maps errors without parameters to their refusals.
var refusals = []struct {
	err error
	refusal
}{
	{shard.ErrUnknownOutcome, refusal{call: codes.Aborted, item: queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME, unknown: true}},
	{shard.ErrNotLeader, refusal{call: codes.Unavailable, item: queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, leader: &queuepb.NotLeader{}}},
	{shard.ErrRoutesChanged, refusal{call: codes.Unavailable, item: queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, leader: &queuepb.NotLeader{RoutesChanged: true}}},
	{access.ErrNotYet, refusal{call: codes.Unavailable, item: queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, leader: &queuepb.NotLeader{}}},
	{queue.ErrStaleToken, refusal{call: codes.FailedPrecondition, item: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN}},
	{queue.ErrCancelled, refusal{call: codes.FailedPrecondition, item: queuepb.ErrorCode_ERROR_CODE_CANCELLED}},
	{queue.ErrKeyTaken, refusal{call: codes.AlreadyExists, item: queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS}},
	{shard.ErrNotFound, refusal{call: codes.NotFound, item: queuepb.ErrorCode_ERROR_CODE_NOT_FOUND}},
	{shard.ErrNotDead, refusal{call: codes.NotFound, item: queuepb.ErrorCode_ERROR_CODE_NOT_FOUND}},
	{shard.ErrNotWaiting, refusal{call: codes.NotFound, item: queuepb.ErrorCode_ERROR_CODE_NOT_FOUND}},
	{shard.ErrLeased, refusal{call: codes.NotFound, item: queuepb.ErrorCode_ERROR_CODE_NOT_FOUND}},
	{shard.ErrNoQueue, refusal{call: codes.NotFound, item: queuepb.ErrorCode_ERROR_CODE_NOT_FOUND}},
	{shard.ErrNoRecurring, refusal{call: codes.NotFound, item: queuepb.ErrorCode_ERROR_CODE_NOT_FOUND}},
	{access.ErrNotFound, refusal{call: codes.NotFound}},
	{access.ErrPrecondition, refusal{call: codes.FailedPrecondition}},
	{memory.ErrExhausted, refusal{call: codes.ResourceExhausted, item: queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, retry: memoryRetryDelay}},
	{access.ErrTooMany, refusal{call: codes.ResourceExhausted, retry: retryDelay}},
	{shard.ErrOverloaded, refusal{call: codes.ResourceExhausted, item: queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, retry: retryDelay}},
	// There is no retry delay, since waiting does not help.
	{queue.ErrTooManyQueues, refusal{call: codes.ResourceExhausted, item: queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED}},
	{queue.ErrTooManyRecurring, refusal{call: codes.ResourceExhausted, item: queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED}},
	{queue.ErrQueueNotEmpty, refusal{call: codes.FailedPrecondition}},
	{backup.ErrExists, refusal{call: codes.AlreadyExists}},
	{shard.ErrClosed, refusal{call: codes.Unavailable, item: queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE}},
	{context.Canceled, refusal{call: codes.Canceled}},
	{context.DeadlineExceeded, refusal{call: codes.DeadlineExceeded}},
}

func refusalOf(err error) refusal {
	var field *queue.FieldError
	var quota *queue.QuotaError
	var full *disk.FullError
	var elsewhere *MisroutedError
	unauthenticated, denied := isAccessError(err)
	switch {
	case unauthenticated:
		return refusal{call: codes.Unauthenticated}
	case denied:
		return refusal{call: codes.PermissionDenied, item: queuepb.ErrorCode_ERROR_CODE_PERMISSION_DENIED}
	case errors.As(err, &elsewhere):
		return refusal{call: codes.Unavailable, item: queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, leader: elsewhere.Leader}
	case errors.As(err, &field):
		return refusal{call: codes.InvalidArgument, item: queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT, field: field}
	case errors.As(err, &full):
		return refusal{call: codes.ResourceExhausted, item: queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, retry: full.RetryAfter(), reason: reasonDisk}
	case errors.As(err, &quota):
		return refusal{
			call: codes.ResourceExhausted, item: queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED,
			// A delay of 0 would mean no delay.
			retry:  max(time.Millisecond, time.Duration(quota.RetryAfterMs)*time.Millisecond),
			reason: reasonQuota,
		}
	}
	for i := range refusals {
		if errors.Is(err, refusals[i].err) {
			return refusals[i].refusal
		}
	}
	return refusal{call: codes.Internal}
}

// Status converts an error that refuses a whole call to a gRPC status.
func Status(err error) error {
	if err == nil {
		return nil
	}
	r := refusalOf(err)
	s := status.New(r.call, err.Error())
	switch {
	case r.field != nil:
		return withDetail(s, badRequest(r.field.Field, r.field.Problem))
	case r.retry > 0:
		details := []protoadapt.MessageV1{&errdetails.RetryInfo{RetryDelay: durationpb.New(r.retry)}}
		if r.reason != "" {
			details = append(details, &errdetails.ErrorInfo{Reason: r.reason, Domain: reasonDomain})
		}
		return withDetail(s, details...)
	case r.leader != nil:
		return withDetail(s, r.leader)
	case r.unknown:
		return withDetail(s, &queuepb.UnknownOutcome{})
	}
	return s.Err()
}

// Stopped returns the status that ends a stream when a server outside a cluster stops. It has the
// same detail as when a node loses leadership: unanswered frames had no effect, so the client may
// send them again.
func Stopped() error {
	return withDetail(status.New(codes.Unavailable, shard.ErrClosed.Error()), &queuepb.NotLeader{})
}

func badRequest(field, problem string) *errdetails.BadRequest {
	return &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: problem}}}
}

func withDetail(s *status.Status, details ...protoadapt.MessageV1) error {
	if detailed, err := s.WithDetails(details...); err == nil {
		return detailed.Err()
	}
	return s.Err()
}

// ItemError converts an error that refuses one item of a batch to its message.
func ItemError(index int, err error) *queuepb.ItemError {
	r := refusalOf(err)
	e := &queuepb.ItemError{
		Index: uint32(index), Code: r.item, Message: err.Error(), RetryAfterMs: uint64(r.retry.Milliseconds()), Leader: r.leader.GetAddress(),
		Reason: r.reason,
	}
	if r.field != nil {
		e.Field = r.field.Field
	}
	return e
}

// FieldErr converts a nil *queue.FieldError to a nil error.
func FieldErr(e *queue.FieldError) error {
	if e == nil {
		return nil
	}
	return e
}

// fieldOfIDs is the name of the field that the error of a malformed id in a list names.
const fieldOfIDs = "ids"

// IDsError returns the error of a malformed task id in a list of ids.
func IDsError(err error) error { return &queue.FieldError{Field: fieldOfIDs, Problem: err.Error()} }

// IDError returns the error of a malformed task id.
func IDError(err error) error { return &queue.FieldError{Field: "id", Problem: err.Error()} }

// itemCodes maps the status codes of refused calls to the error codes of their items. A call with
// any other code may or may not have taken effect.
var itemCodes = map[codes.Code]queuepb.ErrorCode{
	codes.InvalidArgument:    queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT,
	codes.NotFound:           queuepb.ErrorCode_ERROR_CODE_NOT_FOUND,
	codes.FailedPrecondition: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN,
	codes.AlreadyExists:      queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS,
	codes.ResourceExhausted:  queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED,
	codes.Unavailable:        queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE,
	codes.PermissionDenied:   queuepb.ErrorCode_ERROR_CODE_PERMISSION_DENIED,
	codes.Unauthenticated:    queuepb.ErrorCode_ERROR_CODE_PERMISSION_DENIED,
}

// callCodes maps the error code of a call's only item to the status code of the whole call.
var callCodes = map[queuepb.ErrorCode]codes.Code{
	queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT:   codes.InvalidArgument,
	queuepb.ErrorCode_ERROR_CODE_NOT_FOUND:          codes.NotFound,
	queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN:        codes.FailedPrecondition,
	queuepb.ErrorCode_ERROR_CODE_CANCELLED:          codes.FailedPrecondition,
	queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS:     codes.AlreadyExists,
	queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED: codes.ResourceExhausted,
	queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE:        codes.Unavailable,
	queuepb.ErrorCode_ERROR_CODE_PERMISSION_DENIED:  codes.PermissionDenied,
	queuepb.ErrorCode_ERROR_CODE_NOT_LEADER:         codes.Unavailable,
	queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME:    codes.Aborted,
}

// StatusOfItem returns the status of a call whose only item was refused. The status has the item's
// error as a detail, in addition to the details that Status adds for the same refusal. path is the
// item's path in the request, such as "tasks[0]".
func StatusOfItem(e *queuepb.ItemError, path string) error {
	code, known := callCodes[e.GetCode()]
	if !known {
		code = codes.Internal
	}
	message, details := e.GetMessage(), []protoadapt.MessageV1{}
	if e.GetField() != "" {
		problem := strings.TrimPrefix(message, e.GetField()+": ")
		if e.GetField() != fieldOfIDs {
			path += "." + e.GetField()
		}
		message = path + ": " + problem
		details = append(details, badRequest(path, problem))
	}
	if e.GetRetryAfterMs() > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Duration(e.GetRetryAfterMs()) * time.Millisecond)})
	}
	if e.GetReason() != "" {
		details = append(details, &errdetails.ErrorInfo{Reason: e.GetReason(), Domain: reasonDomain})
	}
	switch e.GetCode() {
	case queuepb.ErrorCode_ERROR_CODE_NOT_LEADER:
		details = append(details, &queuepb.NotLeader{Address: e.GetLeader()})
	case queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME:
		details = append(details, &queuepb.UnknownOutcome{})
	}
	return withDetail(status.New(code, message), append(details, e)...)
}

// ItemOfStatus returns the error of an item of a call that another node refused as a whole.
func ItemOfStatus(index int, err error) *queuepb.ItemError {
	s := status.Convert(err)
	code, refuses := itemCodes[s.Code()]
	if !refuses {
		code = queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME
	}
	e := &queuepb.ItemError{Index: uint32(index), Code: code, Message: s.Message()}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *queuepb.NotLeader:
			e.Code, e.Leader = queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, d.GetAddress()
		case *errdetails.RetryInfo:
			e.RetryAfterMs = uint64(max(1, d.GetRetryDelay().AsDuration().Milliseconds()))
		case *errdetails.ErrorInfo:
			if d.GetDomain() == reasonDomain {
				e.Reason = d.GetReason()
			}
		case *errdetails.BadRequest:
			if v := d.GetFieldViolations(); len(v) > 0 {
				e.Field = v[0].GetField()
			}
		}
	}
	return e
}
