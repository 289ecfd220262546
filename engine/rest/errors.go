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

// retryDelay is what a handler that has too much under way asks a client to wait.
const retryDelay = time.Second

// WriteError answers with an error: the HTTP status that its gRPC code stands for, and code, message and details as
// JSON. A refusal that says when to try again, and one because another node leads, which is 503, have a Retry-After
// header. A Guard refuses calls with it.
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
		case *queuepb.UnknownOutcome: // as after a time-out, the call may or may not take effect
			return http.StatusGatewayTimeout
		}
	}
	return runtime.HTTPStatusFromCode(s.Code())
}

// httpError has an HTTP status that no gRPC code stands for.
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
	if err != nil { // a detail of a type that is not known here
		answer.Details = nil
		text, _ = marshalOptions.Marshal(answer) // nothing is left that could fail
	}
	header.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(code)
	_, _ = w.Write(text) // an error means that the client's connection is gone
}

// retryAfter returns after how many whole seconds, rounded up, it is worth trying again.
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

// exhausted refuses a call because the server is full just now.
func exhausted(why string) error {
	s := status.New(codes.ResourceExhausted, why+": try again later")
	if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryDelay)}); err == nil {
		s = detailed
	}
	return s.Err()
}

// fieldError refuses a call for one field.
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

// gatewayError answers with an error that the generated code met: the service's, or one of the request.
func gatewayError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, err error) {
	var own *runtime.HTTPStatusError
	if errors.As(err, &own) {
		writeError(w, own.HTTPStatus, status.Error(codes.InvalidArgument, own.Err.Error()))
		return
	}
	WriteError(w, queryError(err))
}

// routingError answers where the gateway's own routing differs from ours: it takes less of a path that is not well formed.
func routingError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, _ int) {
	notFound(w, r)
}

// textBytesMax is how much of a client's text an error repeats.
const textBytesMax = 200

// clip returns the beginning of a text, as valid UTF-8.
func clip(text string) string {
	if len(text) > textBytesMax {
		text = text[:textBytesMax] + "..."
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
