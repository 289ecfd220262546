package ui

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// These constants limit what the page shows of a payload or result.
const (
	payloadTextMax = 64 << 10
	payloadHexMax  = 4 << 10
)

// taskView is one task.
type taskView struct {
	*queuepb.Task

	ID, Tenant  string // the filled-in form
	ByTenant    bool
	HeaderNames []string
	Done        *queuepb.AwaitResultResponse // instead of Task, for a task whose result is kept
	Finished    []*adminpb.FinishedTask      // of the queue's history, for a task that is not stored
	Attempts    []*adminpb.Attempt           // the failed ones
	Content     payload                      // the payload or the result

	Dependencies []*queuepb.Dependency // a page of the finished ones
	Next         string                // the token of the next page of dependencies
	First        bool                  // the page of dependencies is the first one
}

// payload is the readable form of a payload or result.
type payload struct {
	Label string
	Kind  string // "JSON", "text" or "bytes"
	Text  string
	Bytes uint64
	Shown string // which part is shown; "" for all
}

func (h *handler) task(r *request) (view, error) {
	q := r.URL.Query()
	v := taskView{ID: strings.TrimSpace(q.Get("id")), Tenant: q.Get("tenant"), ByTenant: r.operator()}
	if v.ID == "" {
		return view{"Find a task", "task", &v}, nil
	}
	out, err := h.Tasks.GetTask(r.ctx(), &queuepb.GetTaskRequest{Tenant: v.Tenant, Id: v.ID})
	switch {
	case status.Code(err) == codes.NotFound:
		v.Done, v.Finished = h.result(r, v.Tenant, v.ID), h.finished(r, v.Tenant, v.ID)
		switch {
		case v.Done != nil:
			v.Content = readable("Result", v.Done.GetResult())
		case v.Finished == nil:
			return view{}, err
		}
	case err != nil:
		return view{}, err
	default:
		v.Task = out.GetTask()
		if v.Attempts, err = h.attempts(r, v.Tenant, v.ID); err != nil {
			return view{}, err
		}
		v.HeaderNames = slices.Sorted(maps.Keys(v.GetHeaders()))
		v.Content = readable("Payload", v.GetPayload())
		if err := h.dependencies(r, &v, q.Get("page")); err != nil {
			return view{}, err
		}
	}
	return view{"Task " + v.ID, "task", &v}, nil
}

// attempts returns the failed attempts of a task. A task that was completed in the meantime has
// none, and neither has a user without the scope admin.
func (h *handler) attempts(r *request, tenant, id string) ([]*adminpb.Attempt, error) {
	out, err := h.Admin.ListAttempts(r.ctx(), &adminpb.ListAttemptsRequest{Tenant: tenant, Id: id})
	if code := status.Code(err); code == codes.NotFound || code == codes.PermissionDenied {
		return nil, nil
	}
	return out.GetAttempts(), err
}

// dependencies sets a page of the finished tasks that a task waited for. A task that was completed in
// the meantime has none, and neither has one of an older node.
func (h *handler) dependencies(r *request, v *taskView, page string) error {
	out, err := h.Tasks.ListDependencies(r.ctx(), &queuepb.ListDependenciesRequest{Tenant: v.Tenant, Id: v.ID, PageSize: rows, PageToken: page})
	if code := status.Code(err); code == codes.NotFound || code == codes.Unimplemented {
		return nil
	}
	v.Dependencies, v.Next, v.First = out.GetDependencies(), out.GetNextPageToken(), page == ""
	return err
}

// Page returns the address of a page of the task's dependencies.
func (v *taskView) Page(page string) string {
	return link("task", "tenant", v.Tenant, "id", v.ID, "page", page)
}

// Result returns the result of a dependency for a line of a table.
func (v *taskView) Result(d *queuepb.Dependency) string {
	if d.GetResultOmitted() {
		return "longer than 4 KiB"
	}
	p := readable("", d.GetResult())
	if p.Kind == "bytes" {
		return bytesText(p.Bytes) + " of bytes"
	}
	return string(d.GetResult())
}

// historyPagesMax limits the pages of a history that are searched for one task. Each page reads up to
// 10,000 entries.
const historyPagesMax = 100

// finished returns the entries of a task in the history of its queue, or nil without one or without
// the permission.
func (h *handler) finished(r *request, tenant, id string) (found []*adminpb.FinishedTask) {
	token := ""
	for range historyPagesMax {
		out, err := h.Admin.ListHistory(r.ctx(), &adminpb.ListHistoryRequest{Tenant: tenant, Id: id, PageSize: rows, PageToken: token})
		if err != nil {
			return found
		}
		found = append(found, out.GetTasks()...)
		if token = out.GetNextPageToken(); token == "" || len(found) >= rows {
			break
		}
	}
	return found
}

// result returns the stored result of a task, or nil without one or without the permission.
func (h *handler) result(r *request, tenant, id string) *queuepb.AwaitResultResponse {
	out, err := h.Tasks.AwaitResult(r.ctx(), &queuepb.AwaitResultRequest{Tenant: tenant, Id: id})
	if err != nil || out.GetState() != queuepb.TaskState_TASK_STATE_DONE {
		return nil
	}
	return out
}

// readable returns the readable form of a payload or result: indented if it is JSON, as it is if it is text,
// and in hexadecimal digits otherwise.
func readable(label string, raw []byte) payload {
	p := payload{Label: label, Kind: "bytes", Bytes: uint64(len(raw))}
	if utf8.Valid(raw) && !strings.ContainsFunc(string(raw[:min(len(raw), payloadTextMax)]), unprintable) {
		p.Kind = "text"
		text := raw
		var indented bytes.Buffer
		if len(raw) <= payloadTextMax && json.Indent(&indented, raw, "", "  ") == nil {
			p.Kind, text = "JSON", indented.Bytes()
		}
		if len(text) > payloadTextMax {
			text = bytes.ToValidUTF8(text[:payloadTextMax], nil)
			p.Shown = fmt.Sprintf("the first %s", bytesText(payloadTextMax))
		}
		p.Text = string(text)
		return p
	}
	if len(raw) > payloadHexMax {
		raw = raw[:payloadHexMax]
		p.Shown = fmt.Sprintf("the first %s", bytesText(payloadHexMax))
	}
	p.Text = hex.Dump(raw)
	return p
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' }
