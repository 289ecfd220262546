package ui

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pronybench/prony/engine/adminpb"
)

// recurringListView is a page of a tenant's recurring tasks.
type recurringListView struct {
	Tenant, Queue string // the filter
	ByTenant      bool   // the user may choose the tenant
	First         bool
	Rows          []*adminpb.Recurring
	Next          string
}

// recurringView is one recurring task.
type recurringView struct {
	*adminpb.Recurring

	HeaderNames []string
	Content     payload
}

func (h *handler) recurringList(r *request) (view, error) {
	q := r.URL.Query()
	v := recurringListView{Tenant: q.Get("tenant"), Queue: q.Get("queue"), ByTenant: r.operator(), First: q.Get("page") == ""}
	out, err := h.Admin.ListRecurring(r.ctx(), &adminpb.ListRecurringRequest{Tenant: v.Tenant, Queue: v.Queue, PageSize: rows, PageToken: q.Get("page")})
	if err != nil {
		return view{}, err
	}
	v.Rows, v.Next = out.GetRecurring(), out.GetNextPageToken()
	return view{"Recurring tasks", "recurring", v}, nil
}

func (h *handler) recurring(r *request) (view, error) {
	q := r.URL.Query()
	out, err := h.Admin.GetRecurring(r.ctx(), &adminpb.GetRecurringRequest{Tenant: q.Get("tenant"), Queue: q.Get("queue"), Name: q.Get("name")})
	if err != nil {
		return view{}, err
	}
	v := recurringView{Recurring: out.GetRecurring()}
	task := v.GetSpec().GetTask()
	v.HeaderNames, v.Content = slices.Sorted(maps.Keys(task.GetHeaders())), readable("Payload", task.GetPayload())
	return view{"Recurring task " + v.GetName(), "recurring-task", v}, nil
}

// schedule describes the due times of a recurring task.
func schedule(s *adminpb.RecurringSpec) string {
	switch {
	case s.GetCron() == "":
		return "every " + age(s.GetIntervalMs())
	case s.GetTimeZone() == "":
		return s.GetCron() + " (UTC)"
	default:
		return fmt.Sprintf("%s (%s)", s.GetCron(), s.GetTimeZone())
	}
}

// ofForm returns the recurring task that a form names, and the address of its page.
func ofForm(r *request) (tenant, queue, name, to string) {
	f := r.PostForm
	tenant, queue, name = f.Get("tenant"), f.Get("queue"), f.Get("name")
	return tenant, queue, name, link("recurring/task", "tenant", tenant, "queue", queue, "name", name)
}

func (h *handler) pauseRecurring(r *request) (done, to string, err error) {
	tenant, queue, name, to := ofForm(r)
	_, err = h.Admin.PauseRecurring(r.ctx(), &adminpb.PauseRecurringRequest{Tenant: tenant, Queue: queue, Name: name})
	return "The recurring task is paused.", to, err
}

func (h *handler) resumeRecurring(r *request) (done, to string, err error) {
	tenant, queue, name, to := ofForm(r)
	_, err = h.Admin.ResumeRecurring(r.ctx(), &adminpb.ResumeRecurringRequest{Tenant: tenant, Queue: queue, Name: name})
	return "The recurring task is not paused.", to, err
}

func (h *handler) runRecurring(r *request) (done, to string, err error) {
	tenant, queue, name, to := ofForm(r)
	out, err := h.Admin.RunRecurring(r.ctx(), &adminpb.RunRecurringRequest{Tenant: tenant, Queue: queue, Name: name})
	return fmt.Sprintf("Enqueued task %s.", out.GetId()), to, err
}

func (h *handler) deleteRecurring(r *request) (done, to string, err error) {
	tenant, queue, name, _ := ofForm(r)
	_, err = h.Admin.DeleteRecurring(r.ctx(), &adminpb.DeleteRecurringRequest{Tenant: tenant, Queue: queue, Name: name})
	return fmt.Sprintf("Deleted the recurring task %s.", name), link("recurring", "tenant", tenant, "queue", queue), err
}
