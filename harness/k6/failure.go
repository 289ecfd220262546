package k6

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/grafana/sobek"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/harness/k6/options"
)

// callError is a call that failed, or that the server refused as a whole.
type callError struct {
	call  string
	field string // the invalid field, if known
	code  string // for the script's error handling
	cause error
}

func (e *callError) Error() string {
	why := strings.TrimPrefix(e.cause.Error(), "prony: ")
	if e.field != "" {
		return fmt.Sprintf("prony: %s: %s: %s", e.call, e.field, why)
	}
	return fmt.Sprintf("prony: %s: %s", e.call, why)
}

func (e *callError) Unwrap() error { return e.cause }

// Codes of errors.
const (
	codeInvalid     = "invalid_argument"
	codeNotFound    = "not_found"
	codeStale       = "stale_token"
	codeOverloaded  = "overloaded"
	codeUnavailable = "unavailable"
	codeUnknown     = "unknown_outcome"
	codeClosed      = "closed"
	codeDenied      = "permission_denied"
	codeTimeout     = "timeout"
	codeFailed      = "failed"
)

// failed converts the error of a call to an error for the script, with its code, field and remedy.
func failed(call string, err error) error {
	var known *callError
	var fault *options.Error
	if errors.As(err, &known) || errors.As(err, &fault) {
		return err
	}
	e := &callError{call: call, code: codeOf(err), cause: err}
	var refused *client.Error
	switch s, isStatus := status.FromError(rootStatus(err)); {
	case errors.As(err, &refused):
		e.field = refused.Field
	case isStatus && (s.Code() == codes.Unauthenticated || s.Code() == codes.PermissionDenied):
		e.field, e.cause = "token", errors.New(s.Message())
		if s.Code() == codes.Unauthenticated {
			e.cause = fmt.Errorf("%s: %s", s.Message(), tokenRemedy)
		}
	case isStatus && s.Code() != codes.Unknown && err.Error() == s.Err().Error():
		// Omit gRPC's prefix, which adds nothing.
		e.cause = errors.New(s.Message())
	}
	if _, why, dialled := strings.Cut(err.Error(), `Error while dialing: `); dialled && e.code == codeUnavailable {
		e.field, e.cause = "address", fmt.Errorf("%s: is the server up, and is this its address?", strings.TrimSuffix(why, `"`))
		if strings.HasPrefix(call, "admin.") {
			e.field = "admin"
		}
	}
	return e
}

// rootStatus returns the gRPC status among an error's causes, or err without one.
func rootStatus(err error) error {
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		return s.GRPCStatus().Err()
	}
	return err
}

// codeOf returns the code of an error.
func codeOf(err error) string {
	var known *callError
	if errors.As(err, &known) {
		return known.code
	}
	if c := status.Code(rootStatus(err)); c == codes.Unauthenticated || c == codes.PermissionDenied {
		return codeDenied // takes precedence over the client's classification
	}
	for _, kind := range []struct {
		is   error
		code string
	}{
		{client.ErrInvalidArgument, codeInvalid},
		{client.ErrNotFound, codeNotFound},
		{client.ErrStaleToken, codeStale},
		{client.ErrOverloaded, codeOverloaded},
		{client.ErrUnknownOutcome, codeUnknown},
		{client.ErrUnavailable, codeUnavailable},
		{client.ErrClosed, codeClosed},
		{context.DeadlineExceeded, codeTimeout},
	} {
		if errors.Is(err, kind.is) {
			return kind.code
		}
	}
	switch status.Code(rootStatus(err)) {
	case codes.InvalidArgument:
		return codeInvalid
	case codes.NotFound:
		return codeNotFound
	case codes.ResourceExhausted:
		return codeOverloaded
	case codes.Unavailable:
		return codeUnavailable
	case codes.DeadlineExceeded:
		return codeTimeout
	}
	return codeFailed
}

// shownMax is the maximum number of refused items in an error.
const shownMax = 3

// refusals returns an error that lists the items of a call that the server refused or whose outcome
// is unknown. It returns nil if there are no such items.
func refusals(call, noun string, outcomes []error) error {
	var shown []string
	var first error
	n := 0
	for at, err := range outcomes {
		if err == nil {
			continue
		}
		if n++; n == 1 {
			first = err
		}
		if len(shown) < shownMax {
			shown = append(shown, fmt.Sprintf("%s %d: %s", noun, at, refusal(err)))
		}
	}
	if n == 0 {
		return nil
	}
	e := &callError{call: call, code: codeOf(first)}
	var refused *client.Error
	if errors.As(first, &refused) {
		e.field = refused.Field
	}
	if len(outcomes) == 1 {
		e.cause, e.field = errors.New(refusal(first)), ""
		return e
	}
	e.cause, e.field = fmt.Errorf("the server refused %d of %d: %s", n, len(outcomes), strings.Join(shown, "; ")), ""
	return e
}

// refusal returns the message of a refusal, with the invalid field if the server named it.
func refusal(err error) string {
	var refused *client.Error
	if errors.As(err, &refused) && refused.Field != "" && !strings.HasPrefix(refused.Message, refused.Field) {
		return refused.Field + ": " + refused.Message
	}
	return err.Error()
}

// errorOf converts an error to a JavaScript Error with the fields call, field and code.
func (i *instance) errorOf(err error) *sobek.Object {
	o := i.vu.Runtime().NewGoError(err)
	fields := map[string]string{}
	var failure *callError
	var fault *options.Error
	switch {
	case errors.As(err, &failure):
		fields = map[string]string{"call": failure.call, "field": failure.field, "code": failure.code}
	case errors.As(err, &fault):
		fields = map[string]string{"call": fault.Call, "field": fault.Field, "code": codeInvalid}
	}
	for name, value := range fields {
		if setErr := o.Set(name, value); setErr != nil {
			return o
		}
	}
	return o
}
