package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/config"
	"github.com/pronybench/prony/engine/queuepb"
)

// failure is an error as commands report it: as text, or as JSON with this shape.
type failure struct {
	// Code is a word for programs. It is "usage", "configuration", "unreachable", "failed",
	// "interrupted", or the server's error code, such as "not_found".
	Code         string           `json:"code"`
	Message      string           `json:"message"`
	Field        string           `json:"field,omitempty"` // name of the invalid field, or ""
	RetryAfterMs uint64           `json:"retry_after_ms,omitempty"`
	Problems     []config.Problem `json:"problems,omitempty"` // problems of a configuration

	remedy string // what the user can do; shown only as text
	exit   int
}

// usageError is the error of an invalid command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// badFileError is the error of a configuration file whose problems were already printed to standard
// output.
type badFileError struct{ error }

func (e badFileError) Unwrap() error { return e.error }

// itemError is the server's refusal of one item of a call.
type itemError struct{ *queuepb.ItemError }

func (e itemError) Error() string { return e.GetMessage() }

// failureOf converts err to the form that commands report.
func failureOf(err error) failure {
	f := failure{Code: "failed", Message: err.Error(), exit: exitFailed}
	var problems *config.Problems
	var item itemError
	var lines refusedLinesError
	var helped remedied
	if errors.As(err, &helped) {
		f.remedy = helped.remedy
	}
	switch {
	case errors.As(err, &problems):
		f.Code, f.Problems, f.exit = "configuration", problems.List, exitUsage
	case errors.As(err, new(badFileError)):
		f.Code, f.exit = "configuration", exitUsage
	case errors.As(err, new(usageError)):
		f.Code, f.exit = "usage", exitUsage
	case errors.As(err, new(unreachableError)):
		f.Code, f.exit = "unreachable", exitUnreachable
	case errors.As(err, &item):
		f.Code, f.exit = codeName(item.GetCode()), exitOfItem(item.GetCode())
		f.Field, f.RetryAfterMs = item.GetField(), item.GetRetryAfterMs()
	case errors.As(err, &lines):
		f.Code, f.exit = codeName(lines.code), exitOfItem(lines.code)
	default:
		if s := statusOf(err); s != nil {
			f.refused(s)
			f.Message = strings.Replace(f.Message, s.Err().Error(), s.Message(), 1)
		}
	}
	return f
}

func statusOf(err error) *status.Status {
	var refused interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &refused) {
		return nil
	}
	return refused.GRPCStatus()
}

// refusesToLead reports whether the server answered that it does not lead. The server was then
// reached.
func refusesToLead(s *status.Status) bool {
	return slices.ContainsFunc(s.Details(), func(d any) bool { _, is := d.(*queuepb.NotLeader); return is })
}

// refused fills in the failure from the status of a call that the server refused.
func (f *failure) refused(s *status.Status) {
	f.Code = snake(s.Code().String())
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.BadRequest:
			if v := d.GetFieldViolations(); len(v) > 0 {
				f.Field = v[0].GetField()
			}
		case *errdetails.RetryInfo:
			f.RetryAfterMs = uint64(d.GetRetryDelay().AsDuration().Milliseconds())
		}
	}
	f.exit = exitOf(s.Code())
	switch s.Code() {
	case codes.Unauthenticated:
		f.remedy = "pass --token or --token-file, or set QUEUED_TOKEN; the server keeps its operator token in DATA/admin.token"
	case codes.Unimplemented:
		f.remedy = "the server does not implement this call: is it older than this program, or is --server or --admin-server another program's address?"
	default:
	}
}

func exitOf(code codes.Code) int {
	switch code {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented:
		return exitUsage
	case codes.Unavailable:
		return exitUnreachable
	default:
		return exitFailed
	}
}

// exitOfItem returns the exit code for a refused item. For a lease that has ended it is exitUsage,
// since its token never becomes valid again.
func exitOfItem(code queuepb.ErrorCode) int {
	switch code {
	case queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT, queuepb.ErrorCode_ERROR_CODE_NOT_FOUND, queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN,
		queuepb.ErrorCode_ERROR_CODE_CANCELLED, queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS, queuepb.ErrorCode_ERROR_CODE_PERMISSION_DENIED:
		return exitUsage
	case queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE, queuepb.ErrorCode_ERROR_CODE_NOT_LEADER:
		return exitUnreachable
	default:
		return exitFailed
	}
}

// timeoutError means that a server was reached but did not answer in time. It wraps an error with
// the status.
type timeoutError struct {
	error
	text string
}

func (e timeoutError) Error() string { return e.text }
func (e timeoutError) Unwrap() error { return e.error }

// remedied is an error with a remedy.
type remedied struct {
	error
	remedy string
}

func (e remedied) Unwrap() error { return e.error }

func codeName(code queuepb.ErrorCode) string {
	return strings.ToLower(strings.TrimPrefix(code.String(), "ERROR_CODE_"))
}

func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// report writes a failure to standard error, as text or JSON.
func (a *app) report(f failure) {
	if f.exit == exitInterrupted && a.output != formatJSON {
		a.note("%s\n", f.Message)
		return
	}
	if a.output == formatJSON {
		text, err := json.Marshal(map[string]failure{"error": f})
		if err == nil {
			a.note("%s\n", text)
			return
		}
	}
	message := f.Message
	if f.Code == "configuration" && strings.Contains(message, "\n") {
		message = "the configuration is wrong:\n  " + strings.ReplaceAll(message, "\n", "\n  ")
	}
	a.note("queued: %s\n", message)
	if f.remedy != "" {
		a.note("  %s\n", f.remedy)
	}
}
