package ui

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

var daily = url.Values{"name": {"daily"}}

// changes are all forms that change something.
var changes = []struct {
	path string
	sure bool
	form url.Values
	want proto.Message
	to   string
	says string
}{
	{"queue/pause", false, nil, &adminpb.PauseQueueRequest{Tenant: "acme", Queue: "mail"}, "/ui/queue?queue=mail&tenant=acme", "is paused"},
	{"queue/resume", false, nil, &adminpb.ResumeQueueRequest{Tenant: "acme", Queue: "mail"}, "/ui/queue?queue=mail&tenant=acme", "is not paused"},
	{"queue/purge", true, nil, &adminpb.PurgeQueueRequest{Tenant: "acme", Queue: "mail"}, "/ui/queue?queue=mail&tenant=acme", "Removed 1,234 tasks"},
	{
		"tasks/cancel", true,
		url.Values{"id": {"1-a", "1-b"}},
		&adminpb.CancelTasksRequest{Tenant: "acme", Ids: []string{"1-a", "1-b"}},
		"/ui/queue?queue=mail&tenant=acme", "Cancelled 1 of 2 tasks. The first refusal: it is done.",
	},
	{
		"dead/redrive", true, url.Values{"reason": {"permanent"}, "kind": {"k"}}, &adminpb.RedriveDeadRequest{
			Tenant: "acme", Queue: "mail", Filter: &adminpb.DeadFilter{Reason: adminpb.DeathReason_DEATH_REASON_PERMANENT, Kind: "k"},
		}, "/ui/dead?kind=k&queue=mail&reason=permanent&tenant=acme", "Redrove 1,234 tasks",
	},
	{
		"dead/purge", true, url.Values{"error": {"e"}, "header": {"trace=7f"}, "from": {"1970-01-01T00:01"}, "before": {"1970-01-01T00:02"}}, &adminpb.PurgeDeadRequest{
			Tenant: "acme", Queue: "mail", Filter: &adminpb.DeadFilter{ErrorContains: "e", Header: &adminpb.HeaderFilter{Key: "trace", Value: "7f"}, DiedFromMs: 60_000, DiedBeforeMs: 120_000},
		}, "/ui/dead?before=1970-01-01T00%3A02&error=e&from=1970-01-01T00%3A01&header=trace%3D7f&queue=mail&tenant=acme", "Removed 1,234 tasks",
	},
	{
		"recurring/pause", false, daily, &adminpb.PauseRecurringRequest{Tenant: "acme", Queue: "mail", Name: "daily"},
		"/ui/recurring/task?name=daily&queue=mail&tenant=acme", "is paused",
	},
	{
		"recurring/resume", false, daily, &adminpb.ResumeRecurringRequest{Tenant: "acme", Queue: "mail", Name: "daily"},
		"/ui/recurring/task?name=daily&queue=mail&tenant=acme", "is not paused",
	},
	{
		"recurring/run", false, daily, &adminpb.RunRecurringRequest{Tenant: "acme", Queue: "mail", Name: "daily"},
		"/ui/recurring/task?name=daily&queue=mail&tenant=acme", "Enqueued task 1-run.",
	},
	{
		"recurring/delete", true, daily, &adminpb.DeleteRecurringRequest{Tenant: "acme", Queue: "mail", Name: "daily"},
		"/ui/recurring?queue=mail&tenant=acme", "Deleted the recurring task daily.",
	},
	// The selection may be empty. These forms must then not change all dead letters of the queue.
	{
		"dead/selected/redrive", false,
		url.Values{"id": {"1-a"}, "kind": {"k"}},
		&adminpb.RedriveDeadRequest{Tenant: "acme", Ids: []string{"1-a"}},
		"/ui/dead?kind=k&queue=mail&tenant=acme", "Redrove 1 of 2 tasks",
	},
	{"dead/selected/redrive", false, nil, &adminpb.RedriveDeadRequest{Tenant: "acme"}, "/ui/dead?queue=mail&tenant=acme", ""},
	{"dead/selected/purge", true, nil, &adminpb.PurgeDeadRequest{Tenant: "acme"}, "/ui/dead?queue=mail&tenant=acme", ""},
	{
		"dead/selected/purge", true,
		url.Values{"id": {"1-a"}},
		&adminpb.PurgeDeadRequest{Tenant: "acme", Ids: []string{"1-a"}},
		"/ui/dead?queue=mail&tenant=acme", "Removed 1 of 2 tasks",
	},
}

func TestChanges(t *testing.T) {
	s := filled(t)
	s.admin.results = []*queuepb.SettleResult{{}, {Error: &queuepb.ItemError{Message: "it is done"}}}
	s.signIn(access.AllTenants, access.AllScopes, "yes")
	for _, c := range changes {
		form := url.Values{"tenant": {"acme"}, "queue": {"mail"}, "sure": {"yes"}}
		for name, values := range c.form {
			form[name] = values
		}
		redirected(t, s.post(Root+c.path, form), c.to)
		assert.True(t, proto.Equal(c.want, last[proto.Message](s)), "%s: %v", c.path, last[proto.Message](s))
		assert.Contains(t, s.get(Root), c.says)
		assert.NotContains(t, s.get(Root), `class="notice"`, "the outcome is shown once")
	}
}

func TestAReadOnlySessionChangesNothing(t *testing.T) {
	for _, open := range []func(*site){
		func(s *site) { s.signIn(access.AllTenants, access.AllScopes, "") },
		func(s *site) { s.signIn("acme", access.Produce|access.Work, "yes") },
	} {
		s := filled(t)
		open(s)
		_, session := s.handler.sessionOf(s.cookieRequest())
		for _, c := range changes {
			w := s.send(http.MethodPost, Root+c.path, url.Values{"form": {session.form}, "tenant": {"acme"}, "queue": {"mail"}, "sure": {"yes"}})
			assert.Equal(t, http.StatusForbidden, w.Code, c.path)
			assert.Contains(t, w.Body.String(), "read-only")
		}
		assert.Empty(t, s.admin.calls)
	}
}

func TestAChangeIsProtected(t *testing.T) {
	s := filled(t)
	s.signIn(access.AllTenants, access.AllScopes, "yes")
	form := s.form()
	s.admin.calls = nil
	for _, c := range changes {
		values := url.Values{"form": {form}, "tenant": {"acme"}, "queue": {"mail"}, "sure": {"yes"}}
		assert.Equal(t, http.StatusForbidden, s.send(http.MethodPost, Root+c.path, values, "Origin: http://evil.example").Code, c.path)
		assert.Equal(t, http.StatusForbidden, s.send(http.MethodPost, Root+c.path, values, "Origin: ").Code, c.path)
		values.Set("form", "x")
		assert.Equal(t, http.StatusForbidden, s.send(http.MethodPost, Root+c.path, values).Code, c.path)
		values.Set("form", form)
		cookies := s.cookies
		s.cookies = nil
		redirected(t, s.send(http.MethodPost, Root+c.path, values), "/ui/login")
		s.cookies = cookies
		assert.Contains(t, []int{http.StatusMethodNotAllowed, http.StatusNotFound}, s.send(http.MethodGet, Root+c.path, nil).Code, c.path)
		if c.sure {
			values.Del("sure")
			assert.Equal(t, http.StatusBadRequest, s.send(http.MethodPost, Root+c.path, values).Code, c.path)
		}
	}
	assert.Empty(t, s.admin.calls)
}

func TestARefusedChangeIsShown(t *testing.T) {
	s := filled(t)
	s.signIn(access.AllTenants, access.AllScopes, "yes")
	form := url.Values{"form": {s.form()}, "tenant": {"acme"}, "queue": {"mail"}, "sure": {"yes"}}
	s.admin.err = status.Error(codes.NotFound, "there is no queue")
	w := s.send(http.MethodPost, Root+"queue/pause", form)
	assert.Equal(t, http.StatusNotFound, w.Code)
	assert.Contains(t, w.Body.String(), "there is no queue")
	s.admin.err = nil
	form.Set("from", "yesterday")
	w = s.send(http.MethodPost, Root+"dead/redrive", form)
	assert.Equal(t, http.StatusBadRequest, w.Code)
	assert.Contains(t, w.Body.String(), "yesterday")
	form.Set("from", "")
	form.Set("reason", "unknown")
	assert.Equal(t, http.StatusBadRequest, s.send(http.MethodPost, Root+"dead/purge", form).Code)
}
