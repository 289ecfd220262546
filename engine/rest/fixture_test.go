package rest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/queuepb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = waittest.Most

// fakeQueue implements Enqueue and Claim with functions of the test, and nothing else.
type fakeQueue struct {
	queuepb.UnimplementedQueueServiceServer

	enqueue func(context.Context, *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error)
	claim   func(context.Context, *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error)
	settle  func() []*queuepb.SettleResult // of all settling calls
	getTask func(context.Context, *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error)
}

func (f *fakeQueue) Enqueue(ctx context.Context, in *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
	if f.enqueue == nil {
		return &queuepb.EnqueueResponse{}, nil
	}
	return f.enqueue(ctx, in)
}

func (f *fakeQueue) Claim(ctx context.Context, in *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
	return f.claim(ctx, in)
}

func (f *fakeQueue) Complete(context.Context, *queuepb.CompleteRequest) (*queuepb.CompleteResponse, error) {
	return &queuepb.CompleteResponse{Results: f.settle()}, nil
}

func (f *fakeQueue) Fail(context.Context, *queuepb.FailRequest) (*queuepb.FailResponse, error) {
	return &queuepb.FailResponse{Results: f.settle()}, nil
}

func (f *fakeQueue) Extend(context.Context, *queuepb.ExtendRequest) (*queuepb.ExtendResponse, error) {
	return &queuepb.ExtendResponse{Results: f.settle()}, nil
}

func (f *fakeQueue) Release(context.Context, *queuepb.ReleaseRequest) (*queuepb.ReleaseResponse, error) {
	return &queuepb.ReleaseResponse{Results: f.settle()}, nil
}

func (f *fakeQueue) GetTask(ctx context.Context, in *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
	return f.getTask(ctx, in)
}

func failing(err error) *fakeQueue {
	return &fakeQueue{enqueue: func(context.Context, *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) { return nil, err }}
}

// api is a handler behind a real listener.
type api struct {
	*testing.T

	handler *handler
	server  *httptest.Server
}

func serve(t *testing.T, f *fakeQueue, o Options) *api {
	t.Helper()
	h, err := NewQueue(f, o)
	require.NoError(t, err)
	a := &api{T: t, handler: h.(*handler), server: httptest.NewServer(h)}
	t.Cleanup(a.server.Close)
	return a
}

// answer is a response with the fields of an error.
type answer struct {
	status  int
	header  http.Header
	text    string
	Code    int
	Message string
	Details []struct {
		Type            string                                `json:"@type"`
		FieldViolations []struct{ Field, Description string } `json:"field_violations"`
		RetryDelay      string                                `json:"retry_delay"`
		Code            string                                // of an item
		Message         string
	}
}

// field returns the field in the error's details.
func (a *answer) field() string {
	for _, d := range a.Details {
		for _, v := range d.FieldViolations {
			return v.Field
		}
	}
	return ""
}

func (a *api) do(in *http.Request) *answer {
	a.Helper()
	out, err := a.server.Client().Do(in)
	require.NoError(a, err)
	text, err := io.ReadAll(out.Body)
	require.NoError(a, errors.Join(err, out.Body.Close()))
	got := &answer{status: out.StatusCode, header: out.Header, text: string(text)}
	require.Equal(a, jsonType, out.Header.Get("Content-Type"), "%s", text)
	if out.StatusCode != http.StatusOK && in.Method != http.MethodHead {
		require.NoError(a, json.Unmarshal(text, got), "%s", text)
		require.NotZero(a, got.Code)
		require.NotEmpty(a, got.Message)
	}
	return got
}

func (a *api) request(method, path, body string) *http.Request {
	a.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	a.Cleanup(cancel)
	in, err := http.NewRequestWithContext(ctx, method, a.server.URL+path, strings.NewReader(body))
	require.NoError(a, err)
	if method == http.MethodPost {
		in.Header.Set("Content-Type", jsonType)
	}
	return in
}

func (a *api) post(path, body string) *answer {
	a.Helper()
	return a.do(a.request(http.MethodPost, path, body))
}

func (a *api) get(path string) *answer {
	a.Helper()
	return a.do(a.request(http.MethodGet, path, ""))
}

// calls collects the observed calls.
type calls struct{ c chan Call }

func newCalls() *calls { return &calls{c: make(chan Call, 1_000)} }

func (c *calls) observe(call Call) { c.c <- call }

func (c *calls) next(t *testing.T) Call {
	t.Helper()
	select {
	case call := <-c.c:
		return call
	case <-time.After(patience):
		t.Fatal("no call was observed")
		panic("unreachable")
	}
}
