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

// retryDelay is the delay that an overloaded handler asks clients to wait.
const retryDelay = time.Second

// WriteError answers with an error: the HTTP status for its gRPC code, and code, message and
// details as JSON. It sets Retry-After on a refusal with a retry delay, and on a 503 because
// another node leads. Guards refuse calls with it.
func WriteError(w http.ResponseWriter, err error) {
	code := statusOf(status.Convert(err))
	var own *httpError
	if errors.As(err, &own) {
		code, err = own.status, own.error
	}
	writeError(w, code, err)
}

// statusOf returns the HTTP status for a refusal.
func statusOf(s *status.Status) int {
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *queuepb.ItemError:
			if d.GetCode() == queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN {
				return http.StatusConflict
			}
		case *queuepb.UnknownOutcome: // like a timeout: the call may or may not take effect
			return http.StatusGatewayTimeout
		}
	}
	return runtime.HTTPStatusFromCode(s.Code())
}

// httpError is an error with an HTTP status that has no gRPC code.
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
	if err != nil { // a detail of an unknown type
		answer.Details = nil
		text, _ = marshalOptions.Marshal(answer) // nothing remains that could fail
	}
	header.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(code)
	_, _ = w.Write(text) // an error means that the client's connection is closed
}

// retryAfter returns the delay before a retry in seconds, rounded up.
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
	return 0, false // waiting does not help
}

// exhausted refuses a call because the server is full at the moment.
func exhausted(why string) error {
	s := status.New(codes.ResourceExhausted, why+": try again later")
	if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryDelay)}); err == nil {
		s = detailed
	}
	return s.Err()
}

// fieldError refuses a call because of one field.
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

// gatewayError answers with an error from the generated code: one of the service, or one in the
// request.
func gatewayError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, err error) {
	var own *runtime.HTTPStatusError
	if errors.As(err, &own) {
		writeError(w, own.HTTPStatus, status.Error(codes.InvalidArgument, own.Err.Error()))
		return
	}
	WriteError(w, queryError(err))
}

// routingError answers requests that our routing accepts but the gateway's rejects: malformed
// paths.
func routingError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, _ int) {
	notFound(w, r)
}

// textBytesMax bounds how much of a client's text an error repeats.
const textBytesMax = 200

// clip returns the beginning of a text as valid UTF-8.
func clip(text string) string {
	if len(text) > textBytesMax {
		text = text[:textBytesMax] + "..."
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
