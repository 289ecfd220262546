package rest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// recorded returns a request and a recorder without a connection.
func recorded(method, path string, body []byte) (*httptest.ResponseRecorder, *http.Request) {
	in := httptest.NewRequest(method, path, bytes.NewReader(body))
	in.Header.Set("Content-Type", jsonType)
	return httptest.NewRecorder(), in
}

// contract has the paths of the two services.
var contract = map[string]map[string]string{
	"/prony.queue.v1.QueueService/": {
		"POST /v1/tasks:enqueue": "Enqueue", "POST /v1/tasks:claim": "Claim", "POST /v1/tasks:complete": "Complete", "POST /v1/tasks:fail": "Fail",
		"POST /v1/tasks:extend": "Extend", "POST /v1/tasks:release": "Release", "GET /v1/tasks/{id}": "GetTask", "GET /v1/tasks/{id}/result": "AwaitResult",
		"GET /v1/tasks/{id}/dependencies": "ListDependencies",
		"GET /v1/routes":                  "GetRoutes",
	},
	"/prony.admin.v1.AdminService/": {
		"GET /v1/queues": "ListQueues", "GET /v1/queues:get": "GetQueue", "POST /v1/queues:configure": "ConfigureQueue", "POST /v1/queues:pause": "PauseQueue",
		"POST /v1/queues:resume": "ResumeQueue", "POST /v1/queues:purge": "PurgeQueue", "POST /v1/queues:delete": "DeleteQueue", "GET /v1/tasks": "ListTasks", "POST /v1/tasks:cancel": "CancelTasks",
		"POST /v1/tasks:reschedule": "RescheduleTasks", "POST /v1/tasks:prioritize": "PrioritizeTasks",
		"GET /v1/dead": "ListDead", "POST /v1/dead:redrive": "RedriveDead", "POST /v1/dead:edit": "EditDead", "POST /v1/dead:purge": "PurgeDead", "GET /v1/tenants": "ListTenants",
		"GET /v1/attempts": "ListAttempts", "GET /v1/failures": "ListFailures", "GET /v1/history": "ListHistory",
		"POST /v1/recurring:set": "SetRecurring", "GET /v1/recurring": "ListRecurring", "GET /v1/recurring:get": "GetRecurring", "POST /v1/recurring:pause": "PauseRecurring",
		"POST /v1/recurring:resume": "ResumeRecurring", "POST /v1/recurring:run": "RunRecurring", "POST /v1/recurring:delete": "DeleteRecurring",
		"POST /v1/tenants:configure": "ConfigureTenant", "GET /v1/tokens": "ListTokens", "POST /v1/tokens:create": "CreateToken", "POST /v1/tokens:rotate": "RotateToken",
		"POST /v1/tokens:revoke": "RevokeToken", "POST /v1/backup": "Backup", "GET /v1/status": "GetStatus",
		"GET /v1/cluster": "GetCluster", "POST /v1/cluster:add": "AddMember", "POST /v1/cluster:remove": "RemoveMember", "POST /v1/cluster:promote": "PromoteMember",
		"POST /v1/cluster:demote": "DemoteMember", "POST /v1/cluster:transfer": "TransferLeadership", "POST /v1/cluster:snapshot": "TakeSnapshot",
	},
}

func newBoth(t *testing.T, o Options) map[string]*handler {
	t.Helper()
	queue, err := NewQueue(queuepb.UnimplementedQueueServiceServer{}, o)
	require.NoError(t, err)
	admin, err := NewAdmin(adminpb.UnimplementedAdminServiceServer{}, o)
	require.NoError(t, err)
	return map[string]*handler{
		"/prony.queue.v1.QueueService/": queue.(*handler),
		"/prony.admin.v1.AdminService/": admin.(*handler),
	}
}

func TestEachPathReachesItsCall(t *testing.T) {
	var seen Call
	for service, h := range newBoth(t, Options{Observe: func(c Call) { seen = c }}) {
		assert.Len(t, h.routes, len(contract[service]))
		for path, method := range contract[service] {
			verb, path, _ := strings.Cut(path, " ")
			w, in := recorded(verb, strings.ReplaceAll(path, "{id}", "x"), nil)
			h.ServeHTTP(w, in)
			assert.Equal(t, http.StatusNotImplemented, w.Code, path)
			assert.Contains(t, w.Body.String(), "method "+method+" not implemented")
			assert.Equal(t, service+method, seen.Method)
			assert.Equal(t, codes.Unimplemented, status.Code(seen.Err))

			other := map[string]string{http.MethodGet: http.MethodPost, http.MethodPost: http.MethodGet}[verb]
			for _, wrong := range []string{other, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
				w, in := recorded(wrong, strings.ReplaceAll(path, "{id}", "x"), nil)
				h.ServeHTTP(w, in)
				assert.Equal(t, http.StatusMethodNotAllowed, w.Code, path)
				assert.Equal(t, verb, w.Header().Get("Allow"))
				assert.Contains(t, w.Body.String(), "takes "+verb+", not "+wrong)
			}
		}
	}
}

func TestUnknownPathsAndMethodsAreRefusedInJSON(t *testing.T) {
	observed := newCalls()
	a := serve(t, &fakeQueue{}, Options{Observe: observed.observe})
	for _, path := range []string{"/", "/v1", "/v1/tasks", "/v1/tasks/", "/v1/tasks:unknown", "/v1/tasks/a/b", "/v2/tasks:enqueue", "/v1/tasks:enqueue/", "/%ff"} {
		got := a.post(path, "{}")
		assert.Equal(t, http.StatusNotFound, got.status, path)
		assert.Equal(t, int(codes.NotFound), got.Code)
		assert.Contains(t, got.Message, "GET /openapi.json lists the paths")
	}
	got := a.post("/v1/tasks/x", "{}")
	assert.Equal(t, http.StatusMethodNotAllowed, got.status)
	assert.Equal(t, int(codes.Unimplemented), got.Code)
	got = a.do(a.request(http.MethodHead, "/v1/tasks/x", ""))
	assert.Equal(t, http.StatusMethodNotAllowed, got.status)
	got = a.post("/openapi.json", "{}")
	assert.Equal(t, http.StatusMethodNotAllowed, got.status)
	assert.Equal(t, "GET", got.header.Get("Allow"))
	in := a.request(http.MethodPost, "/v1/tasks/x", "")
	in.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	in.Header.Set("X-HTTP-Method-Override", "GET")
	assert.Equal(t, http.StatusMethodNotAllowed, a.do(in).status, "no header overrides the method")
	assert.Empty(t, observed.c, "none of them is a call")
}

func TestOnlyJSONIsTaken(t *testing.T) {
	a := serve(t, &fakeQueue{}, Options{})
	for media, want := range map[string]int{
		"application/json": http.StatusOK, "application/json; charset=utf-8": http.StatusOK, "Application/JSON": http.StatusOK,
		"": http.StatusUnsupportedMediaType, "text/plain": http.StatusUnsupportedMediaType, "application/x-www-form-urlencoded": http.StatusUnsupportedMediaType,
		"application/grpc": http.StatusUnsupportedMediaType, ";;": http.StatusUnsupportedMediaType,
	} {
		in := a.request(http.MethodPost, "/v1/tasks:enqueue", "{}")
		in.Header["Content-Type"] = []string{media}
		got := a.do(in)
		assert.Equal(t, want, got.status, media)
		if want != http.StatusOK {
			assert.Contains(t, got.Message, "send JSON with Content-Type: application/json")
		}
	}
}

func TestABodyMustNotBeEncoded(t *testing.T) {
	a := serve(t, &fakeQueue{}, Options{})
	for encodings, want := range map[string]int{
		"": http.StatusOK, "identity": http.StatusOK, "Identity": http.StatusOK,
		"gzip": http.StatusUnsupportedMediaType, "br": http.StatusUnsupportedMediaType, "identity,gzip": http.StatusUnsupportedMediaType,
		"identity;gzip": http.StatusUnsupportedMediaType, "made-up": http.StatusUnsupportedMediaType,
	} {
		in := a.request(http.MethodPost, "/v1/tasks:enqueue", "{}")
		in.Header["Content-Encoding"] = strings.Split(encodings, ";")
		got := a.do(in)
		assert.Equal(t, want, got.status, encodings)
		if want != http.StatusOK {
			assert.Contains(t, got.Message, "is not supported: send the body without compression")
			assert.Equal(t, "identity", got.header.Get("Accept-Encoding"))
		}
	}
}

func withDetails(t *testing.T, code codes.Code, message string, details ...protoadapt.MessageV1) error {
	t.Helper()
	s, err := status.New(code, message).WithDetails(details...)
	require.NoError(t, err)
	return s.Err()
}

func TestErrorsOfTheService(t *testing.T) {
	for code, want := range map[codes.Code]int{
		codes.InvalidArgument: 400, codes.Unauthenticated: 401, codes.PermissionDenied: 403, codes.NotFound: 404, codes.AlreadyExists: 409,
		codes.FailedPrecondition: 400, codes.ResourceExhausted: 429, codes.Unavailable: 503, codes.Internal: 500, codes.Unimplemented: 501,
		codes.DeadlineExceeded: 504, codes.Aborted: 409,
	} {
		got := serve(t, failing(status.Error(code, "what happened")), Options{}).post("/v1/tasks:enqueue", "{}")
		assert.Equal(t, want, got.status, code)
		assert.Equal(t, int(code), got.Code)
		assert.Equal(t, "what happened", got.Message)
		assert.Empty(t, got.header.Get("Retry-After"), "the error has no retry delay")
		assert.Equal(t, code == codes.Unauthenticated, got.header.Get("WWW-Authenticate") == "Bearer", code)
	}
	bad := &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "max_tasks", Description: "1001 is above 1000"}}}
	got := serve(t, failing(withDetails(t, codes.InvalidArgument, "max_tasks: 1001 is above 1000", bad)), Options{}).post("/v1/tasks:enqueue", "{}")
	assert.Equal(t, "max_tasks", got.field())
	assert.Equal(t, "type.googleapis.com/google.rpc.BadRequest", got.Details[0].Type)

	got = serve(t, failing(errors.New("plain")), Options{}).post("/v1/tasks:enqueue", "{}")
	assert.Equal(t, http.StatusInternalServerError, got.status)
	got = serve(t, failing(status.Error(codes.NotFound, "bad \xff text")), Options{}).post("/v1/tasks:enqueue", "{}")
	assert.Equal(t, "bad \uFFFD text", got.Message)
	unknown := status.FromProto(status.New(codes.Aborted, "why").Proto())
	p := unknown.Proto()
	p.Details = []*anypb.Any{{TypeUrl: "type.googleapis.com/nobody.knows.This"}}
	got = serve(t, failing(status.ErrorProto(p)), Options{}).post("/v1/tasks:enqueue", "{}")
	assert.Equal(t, http.StatusConflict, got.status, "a detail that can't be encoded is omitted")
	assert.Equal(t, "why", got.Message)
}

func TestRetryAfterIsInWholeSecondsRoundedUp(t *testing.T) {
	for delay, want := range map[time.Duration]string{
		time.Nanosecond: "1", 100 * time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", 59*time.Second + time.Millisecond: "60", 0: "1", -time.Second: "1",
	} {
		err := withDetails(t, codes.ResourceExhausted, "full", &errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
		got := serve(t, failing(err), Options{}).post("/v1/tasks:enqueue", "{}")
		assert.Equal(t, http.StatusTooManyRequests, got.status)
		assert.Equal(t, want, got.header.Get("Retry-After"), delay)
		assert.Equal(t, "type.googleapis.com/google.rpc.RetryInfo", got.Details[0].Type)
	}
	err := withDetails(t, codes.Unavailable, "moving", &errdetails.RetryInfo{RetryDelay: durationpb.New(3 * time.Second)})
	assert.Equal(t, "3", serve(t, failing(err), Options{}).post("/v1/tasks:enqueue", "{}").header.Get("Retry-After"))
}

type identity struct{}

func TestTheGuardSeesEachCallFirst(t *testing.T) {
	observed := newCalls()
	a := serve(t, &fakeQueue{enqueue: func(ctx context.Context, _ *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
		return &queuepb.EnqueueResponse{Results: []*queuepb.EnqueueResult{{Id: ctx.Value(identity{}).(string)}}}, nil
	}}, Options{Observe: observed.observe, Guard: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				WriteError(w, status.Error(codes.Unauthenticated, "the access token is missing"))
				return
			}
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identity{}, "somebody")))
		})
	}})
	got := a.post("/v1/tasks:enqueue", "this is not even JSON")
	assert.Equal(t, http.StatusUnauthorized, got.status)
	assert.Equal(t, "Bearer", got.header.Get("WWW-Authenticate"))
	assert.Equal(t, int(codes.Unauthenticated), got.Code)
	c := observed.next(t)
	assert.Equal(t, "/prony.queue.v1.QueueService/Enqueue", c.Method)
	assert.Equal(t, codes.Unauthenticated, status.Code(c.Err))
	assert.Nil(t, c.Response)

	in := a.request(http.MethodPost, "/v1/tasks:enqueue", "{}")
	in.Header.Set("Authorization", "Bearer secret")
	got = a.do(in)
	assert.Equal(t, http.StatusOK, got.status)
	assert.Contains(t, got.text, "somebody")
	c = observed.next(t)
	require.NoError(t, c.Err)
	assert.Equal(t, "somebody", c.Response.(*queuepb.EnqueueResponse).GetResults()[0].GetId())
	assert.Positive(t, c.Took)

	assert.Equal(t, http.StatusOK, a.get("/openapi.json").status, "the paths are public")
	assert.Equal(t, http.StatusNotFound, a.get("/nowhere").status)
}

func TestAClaimEndsWhenItsClientLeaves(t *testing.T) {
	waiting, ended := make(chan struct{}), make(chan error, 1)
	a := serve(t, &fakeQueue{claim: func(ctx context.Context, in *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
		close(waiting)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, status.FromContextError(ctx.Err()).Err()
	}}, Options{})
	in := a.request(http.MethodPost, "/v1/tasks:claim", `{"queues":["q"],"wait_ms":60000}`)
	ctx, leave := context.WithCancel(in.Context())
	go func() {
		<-waiting
		leave()
	}()
	out, err := a.server.Client().Do(in.WithContext(ctx))
	if err == nil {
		require.NoError(t, out.Body.Close())
	}
	require.ErrorIs(t, err, context.Canceled)
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(patience):
		t.Fatal("the claim continues without its client")
	}
}

func TestTooManyCallsAreRefusedEarly(t *testing.T) {
	waiting, release := make(chan struct{}), make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	a := serve(t, &fakeQueue{claim: func(context.Context, *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
		waiting <- struct{}{}
		<-release
		return &queuepb.ClaimResponse{}, nil
	}}, Options{})
	a.handler.callsMax = 1
	done := make(chan *answer)
	go func() { done <- a.post("/v1/tasks:claim", "{}") }()
	<-waiting
	got := a.post("/v1/tasks:enqueue", "{}")
	require.Equal(t, http.StatusTooManyRequests, got.status)
	assert.Equal(t, "1", got.header.Get("Retry-After"))
	assert.Equal(t, "1s", got.Details[0].RetryDelay)
	letGo()
	assert.Equal(t, http.StatusOK, (<-done).status)
	assert.Equal(t, http.StatusOK, a.post("/v1/tasks:enqueue", "{}").status)
	assert.Zero(t, a.handler.calls.Load())
}

func TestABodyThatDoesNotComeIsCutOff(t *testing.T) {
	a := serve(t, &fakeQueue{}, Options{})
	a.handler.bodyReadMax = 10 * time.Millisecond
	conn, err := net.Dial("tcp", a.server.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // ends with the test
	_, err = io.WriteString(conn, "POST /v1/tasks:enqueue HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{")
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	out, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	text, err := io.ReadAll(out.Body)
	require.NoError(t, errors.Join(err, out.Body.Close()))
	assert.Equal(t, http.StatusRequestTimeout, out.StatusCode)
	assert.Contains(t, string(text), "the body did not arrive within 10ms")
}

// The deadline for the body does not apply after the body was read.
func TestAClaimMayWaitLongerThanABodyMayTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := NewQueue(&fakeQueue{claim: func(ctx context.Context, _ *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
			select {
			case <-ctx.Done():
				return nil, status.FromContextError(ctx.Err()).Err()
			case <-time.After(2 * bodyReadMax):
				return &queuepb.ClaimResponse{}, nil
			}
		}}, Options{})
		require.NoError(t, err)
		listener := bufconn.Listen(1 << 10)
		server := http.Server{Handler: h}
		go server.Serve(listener) //nolint:errcheck // ends with the test
		transport := http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return listener.DialContext(ctx) }}
		in, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://server/v1/tasks:claim", strings.NewReader("{}"))
		require.NoError(t, err)
		in.Header.Set("Content-Type", jsonType)
		out, err := transport.RoundTrip(in)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, out.StatusCode)
		require.NoError(t, errors.Join(out.Body.Close(), server.Close()))
		transport.CloseIdleConnections()
	})
}

// TestAnswersNameTheLeader checks that answers have the leader's address if there is one, and that
// the observer learns which calls were forwarded. The answer to a call that the guard refuses has
// no address.
func TestAnswersNameTheLeader(t *testing.T) {
	type key struct{}
	var seen []Call
	at, open := "h:1", true
	queue := &fakeQueue{enqueue: func(ctx context.Context, _ *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
		if sent, ok := ctx.Value(key{}).(*bool); ok {
			*sent = true
		}
		return &queuepb.EnqueueResponse{}, nil
	}}
	h, err := NewQueue(queue, Options{
		Observe: func(c Call) { seen = append(seen, c) },
		Leader:  func() string { return at },
		Guard: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
				if !open {
					WriteError(w, status.Error(codes.Unauthenticated, "no"))
					return
				}
				next.ServeHTTP(w, in)
			})
		},
		Forwards: func(ctx context.Context) (context.Context, func() bool) {
			sent := false
			return context.WithValue(ctx, key{}, &sent), func() bool { return sent }
		},
	})
	require.NoError(t, err)
	ask := func(body string) http.Header {
		w, in := recorded(http.MethodPost, "/v1/tasks:enqueue", []byte(body))
		h.ServeHTTP(w, in)
		return w.Header()
	}
	assert.Equal(t, "h:1", ask(`{}`).Get(LeaderHeader))
	assert.Equal(t, "h:1", ask(`{"wrong":1}`).Get(LeaderHeader))
	at = ""
	assert.NotContains(t, ask(`{}`), LeaderHeader)
	at, open = "h:1", false
	assert.NotContains(t, ask(`{}`), LeaderHeader)
	require.Len(t, seen, 4)
	for i, want := range []bool{true, false, true, false} {
		assert.Equal(t, want, seen[i].Forwarded, "call %d", i)
	}
}

type contextKey struct{}

// The service receives the context that Arrives returned when the body was read, for calls with and
// without a body.
func TestCallsArriveWithTheirBody(t *testing.T) {
	var arrived []string
	seen := map[string]any{}
	noted := func(ctx context.Context, rpc string) { seen[rpc] = ctx.Value(contextKey{}) }
	a := serve(t, &fakeQueue{
		enqueue: func(ctx context.Context, _ *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
			noted(ctx, "Enqueue")
			return &queuepb.EnqueueResponse{}, nil
		},
		getTask: func(ctx context.Context, _ *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
			noted(ctx, "GetTask")
			return &queuepb.GetTaskResponse{}, nil
		},
	}, Options{RequestBytesMax: 64, Arrives: func(ctx context.Context, method string) context.Context {
		arrived = append(arrived, method)
		return context.WithValue(ctx, contextKey{}, method)
	}})
	const service = "/prony.queue.v1.QueueService/"
	require.Equal(t, http.StatusOK, a.post("/v1/tasks:enqueue", "{}").status)
	require.Equal(t, http.StatusOK, a.get("/v1/tasks/x").status)
	require.Equal(t, http.StatusRequestEntityTooLarge, a.post("/v1/tasks:enqueue", strings.Repeat(" ", 65)).status)
	require.Equal(t, http.StatusBadRequest, a.post("/v1/tasks:enqueue", "{").status, "the body is decoded after Arrives")
	assert.Equal(t, []string{service + "Enqueue", service + "GetTask", service + "Enqueue"}, arrived, "a refused call does not arrive")
	assert.Equal(t, map[string]any{"Enqueue": service + "Enqueue", "GetTask": service + "GetTask"}, seen)
}
