package ui

import (
	"fmt"
	"net/url"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
)

// deadView is a page of a queue's dead letters.
type deadView struct {
	Tenant, Queue string
	Filter        deadFilter
	Reasons       []string
	First         bool
	Tasks         []*adminpb.DeadTask
	Next          string
}

// deadFilter has the fields of the filter as the form has them.
type deadFilter struct {
	Reason, Error, Kind, Header, From, Before string
}

// reasons are the causes of death by their names in the form.
var reasons = map[string]adminpb.DeathReason{
	"":          adminpb.DeathReason_DEATH_REASON_UNSPECIFIED,
	"attempts":  adminpb.DeathReason_DEATH_REASON_ATTEMPTS,
	"expired":   adminpb.DeathReason_DEATH_REASON_EXPIRED,
	"permanent": adminpb.DeathReason_DEATH_REASON_PERMANENT,

	"dependency": adminpb.DeathReason_DEATH_REASON_DEPENDENCY,
}

func deadFilterOf(q url.Values) deadFilter {
	return deadFilter{Reason: q.Get("reason"), Error: q.Get("error"), Kind: q.Get("kind"), Header: q.Get("header"), From: q.Get("from"), Before: q.Get("before")}
}

// Any reports whether the filter excludes any tasks.
func (f deadFilter) Any() bool { return f != deadFilter{} }

// link returns the address of the page with the same filter.
func (f deadFilter) link(tenant, queue, page string) string {
	return link("dead", "tenant", tenant, "queue", queue, "reason", f.Reason, "error", f.Error, "kind", f.Kind, "header", f.Header, "from", f.From, "before", f.Before, "page", page)
}

// Link is link for the template.
func (v deadView) Link(page string) string { return v.Filter.link(v.Tenant, v.Queue, page) }

// message converts the filter. It returns an error for a field that cannot be read.
func (f deadFilter) message() (*adminpb.DeadFilter, error) {
	reason, ok := reasons[f.Reason]
	if !ok {
		return nil, status.Errorf(codes.InvalidArgument, "reason %q is not one of attempts, expired, permanent, dependency", f.Reason)
	}
	header, err := headerOf(f.Header)
	if err != nil {
		return nil, err
	}
	from, err := timeOf("from", f.From)
	if err != nil {
		return nil, err
	}
	before, err := timeOf("before", f.Before)
	if err != nil {
		return nil, err
	}
	return &adminpb.DeadFilter{Reason: reason, ErrorContains: f.Error, Kind: f.Kind, Header: header, DiedFromMs: from, DiedBeforeMs: before}, nil
}

// timeOf converts the value of a field for a time in UTC to Unix milliseconds.
func timeOf(field, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UnixMilli(), nil
		}
	}
	return 0, status.Errorf(codes.InvalidArgument, "%s %q is not a time: write it as in 2026-01-31T15:04", field, text)
}

func (h *handler) dead(r *request) (view, error) {
	q := r.URL.Query()
	v := deadView{
		Tenant: q.Get("tenant"), Queue: q.Get("queue"), Filter: deadFilterOf(q), First: q.Get("page") == "",
		Reasons: []string{"attempts", "expired", "permanent", "dependency"},
	}
	filter, err := v.Filter.message()
	if err != nil {
		return view{}, err
	}
	out, err := h.Admin.ListDead(r.ctx(), &adminpb.ListDeadRequest{Tenant: v.Tenant, Queue: v.Queue, Filter: filter, PageSize: rows, PageToken: q.Get("page")})
	if err != nil {
		return view{}, err
	}
	v.Tasks, v.Next = out.GetTasks(), out.GetNextPageToken()
	return view{"Dead letters of " + v.Queue, "dead", v}, nil
}

// chosen returns the tenant, queue and filter of a form that changes all matching dead letters, and
// the address of the page that shows the rest.
func chosen(r *request) (tenant, queue string, m *adminpb.DeadFilter, to string, err error) {
	filter := deadFilterOf(r.PostForm)
	tenant, queue = r.PostForm.Get("tenant"), r.PostForm.Get("queue")
	m, err = filter.message()
	return tenant, queue, m, filter.link(tenant, queue, ""), err
}

func (h *handler) redriveDead(r *request) (done, to string, err error) {
	tenant, queue, filter, to, err := chosen(r)
	if err != nil {
		return "", "", err
	}
	out, err := h.Admin.RedriveDead(r.ctx(), &adminpb.RedriveDeadRequest{Tenant: tenant, Queue: queue, Filter: filter})
	return fmt.Sprintf("Redrove %s tasks.", count(out.GetRedriven())), to, err
}

func (h *handler) purgeDead(r *request) (done, to string, err error) {
	tenant, queue, filter, to, err := chosen(r)
	if err != nil {
		return "", "", err
	}
	out, err := h.Admin.PurgeDead(r.ctx(), &adminpb.PurgeDeadRequest{Tenant: tenant, Queue: queue, Filter: filter})
	return fmt.Sprintf("Removed %s tasks.", count(out.GetRemoved())), to, err
}

// selected is chosen for a form that changes only the selected dead letters. Without any, the
// service refuses the call, because the call names no queue either.
func selected(r *request) (tenant string, ids []string, to string) {
	f := r.PostForm
	return f.Get("tenant"), f["id"], deadFilterOf(f).link(f.Get("tenant"), f.Get("queue"), "")
}

func (h *handler) redriveSelected(r *request) (done, to string, err error) {
	tenant, ids, to := selected(r)
	out, err := h.Admin.RedriveDead(r.ctx(), &adminpb.RedriveDeadRequest{Tenant: tenant, Ids: ids})
	return outcome("Redrove", out.GetResults()), to, err
}

func (h *handler) purgeSelected(r *request) (done, to string, err error) {
	tenant, ids, to := selected(r)
	out, err := h.Admin.PurgeDead(r.ctx(), &adminpb.PurgeDeadRequest{Tenant: tenant, Ids: ids})
	return outcome("Removed", out.GetResults()), to, err
}
