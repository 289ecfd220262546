package k6

import (
	"cmp"
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

// mistake returns the error of a call at the wrong time.
func mistake(call string, cause error) error { return &options.Error{Call: call, Cause: cause} }

// errInit is the error of a call in the init context.
var errInit = errors.New("not available in the init context: call it in setup, in teardown, or in a VU's function")

// errAside is the error of a call of load.next in setup or teardown.
var errAside = errors.New("not available in setup and teardown, which are outside of the load: call it in a VU's function")

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
	var known *options.Error
	if errors.As(err, &known) {
		return err
	}
	e := &options.Error{Call: call, Code: codeOf(err), Cause: err}
	var refused *client.Error
	var root interface{ GRPCStatus() *status.Status } // without the texts of the errors around it
	if errors.As(err, &refused) {
		e.Field = refused.Field
	} else if errors.As(err, &root) {
		switch s := root.GRPCStatus(); {
		case s.Code() == codes.Unauthenticated:
			e.Field, e.Cause = "token", fmt.Errorf("%s: %s", s.Message(), tokenRemedy)
		case s.Code() == codes.PermissionDenied:
			e.Field, e.Cause = "token", errors.New(s.Message())
		case s.Code() != codes.Unknown && err.Error() == s.Err().Error(): // omit gRPC's prefix, which adds nothing
			e.Cause = errors.New(s.Message())
		}
	}
	if _, why, dialled := strings.Cut(err.Error(), `Error while dialing: `); dialled && e.Code == codeUnavailable {
		e.Field, e.Cause = "address", fmt.Errorf("%s: is the server up, and is this its address?", strings.TrimSuffix(why, `"`))
		if strings.HasPrefix(call, "admin.") {
			e.Field = "admin"
		}
	}
	return e
}

// codeOf returns the code of an error.
func codeOf(err error) string {
	var known *options.Error
	if errors.As(err, &known) {
		return cmp.Or(known.Code, codeInvalid)
	}
	s := status.Code(err)
	if s == codes.Unauthenticated || s == codes.PermissionDenied {
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
	code := map[codes.Code]string{
		codes.InvalidArgument: codeInvalid, codes.NotFound: codeNotFound, codes.ResourceExhausted: codeOverloaded,
		codes.Unavailable: codeUnavailable, codes.DeadlineExceeded: codeTimeout,
	}[s]
	return cmp.Or(code, codeFailed)
}

// shownMax is the maximum number of refused items in an error.
const shownMax = 3

// refusals returns an error that lists the items of a call that the server refused or whose outcome
// is unknown. It returns nil if there are no such items.
func refusals(call string, outcomes []error) error {
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
		if n <= shownMax {
			shown = append(shown, fmt.Sprintf("task %d: %s", at, refusal(err)))
		}
	}
	switch {
	case n == 0:
		return nil
	case len(outcomes) == 1:
		return &options.Error{Call: call, Code: codeOf(first), Cause: errors.New(refusal(first))}
	}
	return &options.Error{Call: call, Code: codeOf(first), Cause: fmt.Errorf("the server refused %d of %d: %s", n, len(outcomes), strings.Join(shown, "; "))}
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
	var failure *options.Error
	if errors.As(err, &failure) {
		// A new object is writable.
		_, _, _ = o.Set("call", failure.Call), o.Set("field", failure.Field), o.Set("code", codeOf(failure))
	}
	return o
}
