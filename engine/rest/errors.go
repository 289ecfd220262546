package rest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/pronybench/prony/engine/queuepb"
)

// retryDelay is the delay after which clients should retry when the handler is overloaded.
const retryDelay = time.Second

// WriteError answers with an error. The answer has the HTTP status for the error's gRPC code, and
// the code, message and details as JSON. The header Retry-After is set if the error has a retry
// delay, or if the status is 503 because another node leads. Guards use WriteError to refuse calls.
func WriteError(w http.ResponseWriter, err error) {
	code := statusOf(status.Convert(err))
	var own *httpError
	if errors.As(err, &own) {
		code, err = own.status, own.error
	}
	writeError(w, code, err)
}

// statusOf returns the HTTP status for the gRPC status of a refusal.
func statusOf(s *status.Status) int {
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *queuepb.ItemError:
			switch d.GetCode() {
			case queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN, queuepb.ErrorCode_ERROR_CODE_CANCELLED:
				return http.StatusConflict
			default:
			}
		case *queuepb.UnknownOutcome: // as after a timeout, the effect is unknown
			return http.StatusGatewayTimeout
		}
	}
	return runtime.HTTPStatusFromCode(s.Code())
}

// httpError is an error with an HTTP status for which there is no gRPC code.
type httpError struct {
	status int
	error
}

func (e *httpError) Unwrap() error { return e.error }

func writeError(w http.ResponseWriter, code int, err error) {
	if w, ok := w.(*response); ok {
		w.err = err
	}
	s := status.Convert(err)
	header := w.Header()
	header.Set("Content-Type", jsonType)
	switch code {
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", "Bearer")
	case http.StatusUnsupportedMediaType:
		header.Set("Accept-Encoding", "identity")
	}
	if seconds, ok := retryAfter(s); ok {
		header.Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	answer := s.Proto()
	answer.Message = strings.ToValidUTF8(answer.GetMessage(), "\uFFFD")
	text, err := marshalOptions.Marshal(answer)
	if err != nil { // a detail has an unknown type
		answer.Details = nil
		text, _ = marshalOptions.Marshal(answer) // cannot fail without details
	}
	header.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(code)
	_, _ = w.Write(text) // fails only if the client has closed the connection
}

// retryAfter returns the delay before a retry in seconds, rounded up. ok is false if there is no
// delay.
func retryAfter(s *status.Status) (seconds int64, ok bool) {
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.RetryInfo:
			delay := d.GetRetryDelay().AsDuration()
			return max(1, int64((delay+time.Second-1)/time.Second)), true
		case *queuepb.NotLeader:
			return 1, true
		}
	}
	return 0, false // a retry would not help
}

// exhausted returns the error of a call that is refused because the server has no room at the
// moment.
func exhausted(why string) error {
	s := status.New(codes.ResourceExhausted, why+": try again later")
	if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryDelay)}); err == nil {
		s = detailed
	}
	return s.Err()
}

// fieldError returns the error of a call that is refused because of one field.
func fieldError(field, problem string) error {
	s := status.New(codes.InvalidArgument, field+": "+problem)
	detailed, err := s.WithDetails(&errdetails.BadRequest{
		FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: problem}},
	})
	if err == nil {
		s = detailed
	}
	return s.Err()
}

// gatewayError answers with an error from the generated code. Either the service returned the
// error, or the request is invalid.
func gatewayError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, err error) {
	var own *runtime.HTTPStatusError
	if errors.As(err, &own) {
		writeError(w, own.HTTPStatus, status.Error(codes.InvalidArgument, own.Err.Error()))
		return
	}
	WriteError(w, queryError(err))
}

// routingError answers requests that this package routes to the gateway but the gateway cannot
// route: those with malformed paths.
func routingError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, _ int) {
	notFound(w, r)
}

// textBytesMax is the maximum number of bytes of a client's text that an error repeats.
const textBytesMax = 200

func clip(text string) string {
	if len(text) > textBytesMax {
		text = text[:textBytesMax] + "..."
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
