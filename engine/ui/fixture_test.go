package ui

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
)

// host is the Host of all requests of the tests.
const host = "127.0.0.1:7071"

// noStore is the store of a registry that forgets.
type noStore struct{}

func (noStore) Load(context.Context) ([]access.Record, error)         { return nil, nil }
func (noStore) Save(context.Context, []access.Record, []string) error { return nil }

// site is a handler with fake services and a browser's cookies.
type site struct {
	t        *testing.T
	handler  *handler
	registry *access.Registry
	admin    *fakeAdmin
	tasks    *fakeTasks
	now      time.Time
	cookies  []*http.Cookie
}

func newSite(t *testing.T, change func(*Options)) *site {
	t.Helper()
	s := &site{t: t, registry: access.New(access.Options{}), admin: &fakeAdmin{}, tasks: &fakeTasks{}, now: time.UnixMilli(1_790_000_000_000)}
	t.Cleanup(s.registry.Close)
	require.NoError(t, s.registry.Load(t.Context(), noStore{}))
	o := Options{
		Admin: s.admin, Tasks: s.tasks, Guard: call.NewAuth(s.registry).Guard, Name: "7071", Now: func() time.Time { return s.now },
	}
	if change != nil {
		change(&o)
	}
	if o.Open {
		o.Guard = call.NoAuth().Guard
	}
	s.handler = New(o).(*handler)
	return s
}

// token makes a token and returns its id and secret.
func (s *site) token(tenant string, scopes access.Scopes) (id, secret string) {
	s.t.Helper()
	t, secret, err := s.registry.CreateToken(s.t.Context(), access.Everybody(), access.NewToken{Tenant: tenant, Scopes: scopes})
	require.NoError(s.t, err)
	return t.ID, secret
}

// send sends a request with the browser's cookies, and keeps the cookies of the answer.
func (s *site) send(method, path string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	in := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	in.Host = host
	if method == http.MethodPost {
		in.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		in.Header.Set("Origin", "http://"+host)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		in.Header.Del(name)
		if value != "" {
			in.Header.Set(name, value)
		}
	}
	for _, c := range s.cookies {
		in.AddCookie(c)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, in)
	for _, c := range w.Result().Cookies() {
		s.cookies = []*http.Cookie{c}
		if c.MaxAge < 0 {
			s.cookies = nil
		}
	}
	return w
}

// get returns a page, which must exist.
func (s *site) get(path string) string {
	s.t.Helper()
	w := s.send(http.MethodGet, path, nil)
	require.Equal(s.t, http.StatusOK, w.Code, "%s: %s%s", path, w.Header().Get("Location"), w.Body)
	return w.Body.String()
}

// signIn signs in with a new token.
func (s *site) signIn(tenant string, scopes access.Scopes, changes string) {
	s.t.Helper()
	_, secret := s.token(tenant, scopes)
	w := s.send(http.MethodPost, loginPath, url.Values{"token": {secret}, "changes": {changes}})
	require.Equal(s.t, http.StatusSeeOther, w.Code, w.Body)
}

var formValue = regexp.MustCompile(`name="form" value="([^"]+)"`)

// form returns the secret form value of the session.
func (s *site) form() string {
	s.t.Helper()
	found := formValue.FindStringSubmatch(s.get(Root))
	require.NotNil(s.t, found)
	return found[1]
}

// fakeAdmin answers with the values of its fields, and notes the requests.
type fakeAdmin struct {
	adminpb.UnimplementedAdminServiceServer

	queues    []*adminpb.Queue // by name; the first one answers GetQueue
	tasks     []*queuepb.Task
	dead      []*adminpb.DeadTask
	results   []*queuepb.SettleResult
	tenants   []*adminpb.Tenant
	attempts  []*adminpb.Attempt
	failures  []*adminpb.RecentFailure
	history   []*adminpb.FinishedTask
	recurring []*adminpb.Recurring // the first one answers GetRecurring
	cluster   *adminpb.GetClusterResponse
	next      string
	err       error
	calls     []any // requests, in order
	secret    []string
}

func (a *fakeAdmin) note(ctx context.Context, in any) error {
	if _, err := call.Allowed(ctx, access.Admin); err != nil {
		return call.Status(err)
	}
	a.calls, a.secret = append(a.calls, in), call.Authorization(ctx)
	return a.err
}

func (a *fakeAdmin) ListQueues(ctx context.Context, in *adminpb.ListQueuesRequest) (*adminpb.ListQueuesResponse, error) {
	return &adminpb.ListQueuesResponse{Queues: a.queues, NextPageToken: a.next}, a.note(ctx, in)
}

func (a *fakeAdmin) GetQueue(ctx context.Context, in *adminpb.GetQueueRequest) (*adminpb.GetQueueResponse, error) {
	return &adminpb.GetQueueResponse{Queue: a.queues[0]}, a.note(ctx, in)
}

func (a *fakeAdmin) PauseQueue(ctx context.Context, in *adminpb.PauseQueueRequest) (*adminpb.PauseQueueResponse, error) {
	return &adminpb.PauseQueueResponse{}, a.note(ctx, in)
}

func (a *fakeAdmin) ResumeQueue(ctx context.Context, in *adminpb.ResumeQueueRequest) (*adminpb.ResumeQueueResponse, error) {
	return &adminpb.ResumeQueueResponse{}, a.note(ctx, in)
}

func (a *fakeAdmin) PurgeQueue(ctx context.Context, in *adminpb.PurgeQueueRequest) (*adminpb.PurgeQueueResponse, error) {
	return &adminpb.PurgeQueueResponse{Removed: 1_234}, a.note(ctx, in)
}

func (a *fakeAdmin) ListTasks(ctx context.Context, in *adminpb.ListTasksRequest) (*adminpb.ListTasksResponse, error) {
	return &adminpb.ListTasksResponse{Tasks: a.tasks, NextPageToken: a.next}, a.note(ctx, in)
}

func (a *fakeAdmin) CancelTasks(ctx context.Context, in *adminpb.CancelTasksRequest) (*adminpb.CancelTasksResponse, error) {
	return &adminpb.CancelTasksResponse{Results: a.results}, a.note(ctx, in)
}

func (a *fakeAdmin) ListDead(ctx context.Context, in *adminpb.ListDeadRequest) (*adminpb.ListDeadResponse, error) {
	return &adminpb.ListDeadResponse{Tasks: a.dead, NextPageToken: a.next}, a.note(ctx, in)
}

func (a *fakeAdmin) RedriveDead(ctx context.Context, in *adminpb.RedriveDeadRequest) (*adminpb.RedriveDeadResponse, error) {
	return &adminpb.RedriveDeadResponse{Redriven: 1_234, Results: a.results}, a.note(ctx, in)
}

func (a *fakeAdmin) PurgeDead(ctx context.Context, in *adminpb.PurgeDeadRequest) (*adminpb.PurgeDeadResponse, error) {
	return &adminpb.PurgeDeadResponse{Removed: 1_234, Results: a.results}, a.note(ctx, in)
}

func (a *fakeAdmin) ListTenants(ctx context.Context, in *adminpb.ListTenantsRequest) (*adminpb.ListTenantsResponse, error) {
	return &adminpb.ListTenantsResponse{Tenants: a.tenants, NextPageToken: a.next}, a.note(ctx, in)
}

func (a *fakeAdmin) GetCluster(ctx context.Context, in *adminpb.GetClusterRequest) (*adminpb.GetClusterResponse, error) {
	return a.cluster, a.note(ctx, in)
}

func (a *fakeAdmin) ListAttempts(ctx context.Context, in *adminpb.ListAttemptsRequest) (*adminpb.ListAttemptsResponse, error) {
	return &adminpb.ListAttemptsResponse{Attempts: a.attempts}, a.note(ctx, in)
}

func (a *fakeAdmin) ListHistory(ctx context.Context, in *adminpb.ListHistoryRequest) (*adminpb.ListHistoryResponse, error) {
	switch {
	case in.GetId() == "":
		return &adminpb.ListHistoryResponse{Tasks: a.history, NextPageToken: a.next}, a.note(ctx, in)
	case in.GetId() != "1-old":
		return &adminpb.ListHistoryResponse{}, a.note(ctx, in)
	case in.GetPageToken() == "": // a page may have no tasks
		return &adminpb.ListHistoryResponse{NextPageToken: "second"}, a.note(ctx, in)
	}
	return &adminpb.ListHistoryResponse{Tasks: a.history}, a.note(ctx, in)
}

func (a *fakeAdmin) ListFailures(ctx context.Context, in *adminpb.ListFailuresRequest) (*adminpb.ListFailuresResponse, error) {
	return &adminpb.ListFailuresResponse{Failures: a.failures}, a.note(ctx, in)
}

func (a *fakeAdmin) ListRecurring(ctx context.Context, in *adminpb.ListRecurringRequest) (*adminpb.ListRecurringResponse, error) {
	return &adminpb.ListRecurringResponse{Recurring: a.recurring, NextPageToken: a.next}, a.note(ctx, in)
}

func (a *fakeAdmin) GetRecurring(ctx context.Context, in *adminpb.GetRecurringRequest) (*adminpb.GetRecurringResponse, error) {
	return &adminpb.GetRecurringResponse{Recurring: a.recurring[0]}, a.note(ctx, in)
}

func (a *fakeAdmin) PauseRecurring(ctx context.Context, in *adminpb.PauseRecurringRequest) (*adminpb.PauseRecurringResponse, error) {
	return &adminpb.PauseRecurringResponse{}, a.note(ctx, in)
}

func (a *fakeAdmin) ResumeRecurring(ctx context.Context, in *adminpb.ResumeRecurringRequest) (*adminpb.ResumeRecurringResponse, error) {
	return &adminpb.ResumeRecurringResponse{}, a.note(ctx, in)
}

func (a *fakeAdmin) RunRecurring(ctx context.Context, in *adminpb.RunRecurringRequest) (*adminpb.RunRecurringResponse, error) {
	return &adminpb.RunRecurringResponse{Id: "1-run"}, a.note(ctx, in)
}

func (a *fakeAdmin) DeleteRecurring(ctx context.Context, in *adminpb.DeleteRecurringRequest) (*adminpb.DeleteRecurringResponse, error) {
	return &adminpb.DeleteRecurringResponse{}, a.note(ctx, in)
}

// fakeTasks answers GetTask with one task, and AwaitResult with the result of the task "1-done".
type fakeTasks struct {
	queuepb.UnimplementedQueueServiceServer

	task         *queuepb.Task
	result       *queuepb.AwaitResultResponse
	dependencies []*queuepb.Dependency // the first page; the second one is empty
	refusal      error                 // of ListDependencies
}

func (f *fakeTasks) ListDependencies(_ context.Context, in *queuepb.ListDependenciesRequest) (*queuepb.ListDependenciesResponse, error) {
	switch {
	case f.refusal != nil:
		return nil, f.refusal
	case f.task.GetId() != in.GetId() || f.task.GetTenant() != in.GetTenant():
		return nil, status.Error(codes.NotFound, "there is no such task")
	case len(f.dependencies) == 0 || in.GetPageToken() != "":
		return &queuepb.ListDependenciesResponse{}, nil
	}
	return &queuepb.ListDependenciesResponse{Dependencies: f.dependencies, NextPageToken: "TOKEN"}, nil
}

func (f *fakeTasks) AwaitResult(_ context.Context, in *queuepb.AwaitResultRequest) (*queuepb.AwaitResultResponse, error) {
	if f.result == nil || in.GetId() != "1-done" || in.GetTenant() != "acme" || in.GetWaitMs() != 0 {
		return nil, status.Error(codes.NotFound, "there is no result")
	}
	return f.result, nil
}

func (f *fakeTasks) GetTask(_ context.Context, in *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
	if f.task.GetId() != in.GetId() || f.task.GetTenant() != in.GetTenant() {
		return nil, status.Error(codes.NotFound, "there is no such task")
	}
	return &queuepb.GetTaskResponse{Task: f.task}, nil
}

// last returns the latest request of the admin service, which must be of type T.
func last[T any](s *site) T {
	s.t.Helper()
	require.NotEmpty(s.t, s.admin.calls)
	in, ok := s.admin.calls[len(s.admin.calls)-1].(T)
	require.True(s.t, ok, "%T", s.admin.calls[len(s.admin.calls)-1])
	return in
}

// redirected asserts that an answer redirects to a path.
func redirected(t *testing.T, w *httptest.ResponseRecorder, path string) {
	t.Helper()
	assert.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	assert.Equal(t, path, w.Header().Get("Location"))
}

// post sends a form with the session's secret value.
func (s *site) post(path string, form url.Values) *httptest.ResponseRecorder {
	s.t.Helper()
	form.Set("form", s.form())
	return s.send(http.MethodPost, path, form)
}

// cookieRequest returns a request with the browser's cookies.
func (s *site) cookieRequest() *http.Request {
	in := httptest.NewRequest(http.MethodGet, Root, nil)
	for _, c := range s.cookies {
		in.AddCookie(c)
	}
	return in
}
