package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

// restNode is a node that is called over REST.
type restNode struct {
	*testing.T

	node   *Node
	client *http.Client
	ctx    context.Context
}

func newRESTNode(t *testing.T) *restNode {
	t.Helper()
	n, err := Open(Config{
		DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", Durability: storage.None,
		Metrics: Metrics{Tenants: true},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
	r := &restNode{T: t, node: n, client: &http.Client{Transport: &http.Transport{}}, ctx: ctx}
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		if !n.storesClosed {
			require.NoError(t, n.Shutdown(ctx))
		}
		cancel()
	})
	return r
}

// send sends a request and returns the status and the answer.
func (r *restNode) send(ctx context.Context, method, path, body string) (int, []byte, error) {
	r.Helper()
	in, err := http.NewRequestWithContext(ctx, method, "http://"+r.node.HTTP()+path, bytes.NewBufferString(body))
	require.NoError(r, err)
	in.Header.Set("Content-Type", "application/json")
	out, err := r.client.Do(in)
	if err != nil {
		return 0, nil, err
	}
	text, err := io.ReadAll(out.Body)
	return out.StatusCode, text, errors.Join(err, out.Body.Close())
}

// post makes a call that must succeed.
func (r *restNode) post(path, body string, out proto.Message) {
	r.Helper()
	status, text, err := r.send(r.ctx, http.MethodPost, path, body)
	require.NoError(r, err)
	require.Equal(r, http.StatusOK, status, "%s", text)
	require.NoError(r, protojson.Unmarshal(text, out))
}

func (r *restNode) claim(queue string, waitMs int) []*queuepb.Task {
	r.Helper()
	var out queuepb.ClaimResponse
	r.post("/v1/tasks:claim", fmt.Sprintf(`{"queues":[%q],"wait_ms":%d}`, queue, waitMs), &out)
	return out.GetTasks()
}

func (r *restNode) look(id string) (int, *queuepb.Task) {
	r.Helper()
	status, text, err := r.send(r.ctx, http.MethodGet, "/v1/tasks/"+id, "")
	require.NoError(r, err)
	var out queuepb.GetTaskResponse
	if status == http.StatusOK {
		require.NoError(r, protojson.Unmarshal(text, &out))
	}
	return status, out.GetTask()
}

func TestATaskLivesOverREST(t *testing.T) {
	r := newRESTNode(t)
	var enqueued queuepb.EnqueueResponse
	r.post("/v1/tasks:enqueue", `{"tasks":[{"queue":"mail","payload":"aGVsbG8=","priority":3},{"queue":"no good"}]}`, &enqueued)
	require.Len(t, enqueued.GetResults(), 2)
	id := enqueued.GetResults()[0].GetId()
	refused := enqueued.GetResults()[1].GetError()
	assert.Equal(t, queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT, refused.GetCode())
	assert.Equal(t, "queue", refused.GetField())
	assert.EqualValues(t, 1, refused.GetIndex())

	status, task := r.look(id)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, queuepb.TaskState_TASK_STATE_READY, task.GetState())
	claim := func() *queuepb.Task {
		t.Helper()
		tasks := r.claim("mail", 10_000)
		require.Len(t, tasks, 1)
		assert.Equal(t, id, tasks[0].GetId())
		assert.Equal(t, "hello", string(tasks[0].GetPayload()))
		return tasks[0]
	}
	settle := func(verb, field string, task *queuepb.Task, more string) *queuepb.ItemError {
		t.Helper()
		var out queuepb.CompleteResponse // all settling calls have the same answer
		item := fmt.Sprintf(`{"id":%q,"token":"%d"%s}`, task.GetId(), task.GetToken(), more)
		body := func(items string) string { return fmt.Sprintf(`{%q:[%s]}`, field, items) }
		status, text, err := r.send(r.ctx, http.MethodPost, "/v1/tasks:"+verb, body(item))
		require.NoError(t, err)
		if status != http.StatusOK { // a refused single item has the same error as one of several
			assert.Equal(t, http.StatusConflict, status, "%s", text)
			r.post("/v1/tasks:"+verb, body(item+","+item), &out)
			require.Len(t, out.GetResults(), 2)
		} else {
			require.NoError(t, protojson.Unmarshal(text, &out))
			require.Len(t, out.GetResults(), 1)
		}
		return out.GetResults()[0].GetError()
	}
	first := claim()
	assert.Nil(t, settle("extend", "extensions", first, `,"lease_ms":60000`))
	assert.Nil(t, settle("release", "releases", first, ""))
	second := claim()
	assert.Equal(t, queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN, settle("complete", "completions", first, "").GetCode())
	assert.Nil(t, settle("fail", "failures", second, `,"error":"not today","delay_ms":1`))
	third := claim()
	assert.EqualValues(t, 2, third.GetAttempt())
	assert.Equal(t, "not today", third.GetLastError())
	assert.Nil(t, settle("complete", "completions", third, ""))
	status, _ = r.look(id)
	assert.Equal(t, http.StatusNotFound, status)

	r.post("/v1/tasks:enqueue", `{"tasks":[{"queue":"mail","payload":"aGVsbG8="}]}`, &enqueued)
	id = enqueued.GetResults()[0].GetId()
	fourth := claim()
	in, err := http.NewRequestWithContext(r.ctx, http.MethodPost, "http://"+r.node.Admin()+"/v1/tasks:cancel", strings.NewReader(fmt.Sprintf(`{"ids":[%q]}`, id)))
	require.NoError(t, err)
	in.Header.Set("Content-Type", "application/json")
	cancelled, err := r.client.Do(in)
	require.NoError(t, err)
	require.NoError(t, cancelled.Body.Close())
	require.Equal(t, http.StatusOK, cancelled.StatusCode)
	for _, refused := range []*queuepb.ItemError{
		settle("extend", "extensions", fourth, `,"lease_ms":1000`), settle("release", "releases", fourth, ""),
		settle("fail", "failures", fourth, ""), settle("complete", "completions", fourth, ""),
	} {
		assert.Equal(t, queuepb.ErrorCode_ERROR_CODE_CANCELLED, refused.GetCode())
	}
}

func TestRefusalsOfTheServerOverREST(t *testing.T) {
	r := newRESTNode(t)
	for body, field := range map[string]string{
		`{}`: "queues", `{"queues":["q"],"max_tasks":1001}`: "max_tasks", `{"queues":["q"],"wait_ms":60001}`: "wait_ms",
		`{"queues":["q q"]}`: "queues[0]", `{"tenant":"?","queues":["q"]}`: "tenant",
	} {
		status, text, err := r.send(r.ctx, http.MethodPost, "/v1/tasks:claim", body)
		require.NoError(t, err)
		assert.Equal(t, http.StatusBadRequest, status, body)
		var out struct {
			Details []struct {
				FieldViolations []struct{ Field, Description string } `json:"field_violations"`
			}
		}
		require.NoError(t, json.Unmarshal(text, &out))
		assert.Equal(t, field, out.Details[0].FieldViolations[0].Field, "%s", text)
	}
	status, text, err := r.send(r.ctx, http.MethodGet, "/v1/tasks/nonsense", "")
	require.NoError(t, err)
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, string(text), `"id"`)
}

// waits returns once a claim waits at the server.
func (r *restNode) waits() {
	r.Helper()
	require.Eventually(r, func() bool { return r.node.shards.Subscribers() > 0 }, 30*time.Second, time.Millisecond)
}

func TestAClaimOverRESTWaitsAndEndsWithItsClient(t *testing.T) {
	r := newRESTNode(t)
	ctx, leave := context.WithCancel(r.ctx)
	left := make(chan error, 1)
	go func() {
		_, _, err := r.send(ctx, http.MethodPost, "/v1/tasks:claim", `{"queues":["q"],"wait_ms":60000}`)
		left <- err
	}()
	r.waits()
	leave()
	require.ErrorIs(t, <-left, context.Canceled)
	require.Eventually(t, func() bool { // the server has noticed
		_, body := ask(t, r.node.Admin(), "/metrics")
		return bytes.Contains(body, []byte(`prony_calls_total{api="rest",code="Canceled",method="Claim"} 1`))
	}, adminPatience, time.Millisecond)

	// A new task goes to the remaining claim.
	claimed := make(chan []*queuepb.Task, 1)
	go func() { claimed <- r.claim("q", 60_000) }()
	r.post("/v1/tasks:enqueue", `{"tasks":[{"queue":"q"}]}`, &queuepb.EnqueueResponse{})
	tasks := <-claimed
	require.Len(t, tasks, 1)
	assert.EqualValues(t, 1, tasks[0].GetAttempt())
}

// ask requests a page of the admin listener.
func ask(t *testing.T, address, path string) (int, []byte) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	out, err := c.Get("http://" + address + path)
	require.NoError(t, err)
	body, err := io.ReadAll(out.Body)
	require.NoError(t, errors.Join(err, out.Body.Close()))
	return out.StatusCode, body
}

func TestShutdownAnswersWaitingClaims(t *testing.T) {
	r := newRESTNode(t)
	type claimed struct {
		status int
		text   []byte
		err    error
	}
	done := make(chan claimed, 1)
	go func() {
		status, text, err := r.send(r.ctx, http.MethodPost, "/v1/tasks:claim", `{"queues":["q"],"wait_ms":60000}`)
		done <- claimed{status, text, err}
	}()
	r.waits()
	require.NoError(t, r.node.Shutdown(r.ctx))
	got := <-done
	require.NoError(t, got.err)
	assert.Equal(t, http.StatusOK, got.status)
	assert.JSONEq(t, `{"tasks":[],"results":[],"paused_queues":[],"quota":""}`, string(got.text))
	_, err := net.Dial("tcp", r.node.HTTP())
	require.Error(t, err)
}

func TestShutdownCutsARequestThatDoesNotEndInTime(t *testing.T) {
	r := newRESTNode(t)
	conn, err := net.Dial("tcp", r.node.HTTP())
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // the test's own
	_, err = io.WriteString(conn, "POST /v1/tasks:enqueue HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n")
	require.NoError(t, err)
	// The server is reading the body.
	_, err = io.ReadFull(conn, make([]byte, len("HTTP/1.1 100 Continue")))
	require.NoError(t, err)
	over, cancel := context.WithTimeout(r.ctx, 10*time.Millisecond)
	defer cancel()
	require.NoError(t, r.node.Shutdown(over))
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(adminPatience)))
	_, err = io.ReadAll(conn)
	var late net.Error
	assert.False(t, errors.As(err, &late) && late.Timeout(), "the connection is cut")
}

func TestTheRESTListenerIsBounded(t *testing.T) {
	r := newRESTNode(t)
	for _, s := range []*http.Server{r.node.http, r.node.admin} {
		assert.Positive(t, s.ReadHeaderTimeout)
		assert.Positive(t, s.IdleTimeout)
		assert.Positive(t, s.WriteTimeout)
	}
	in, err := http.NewRequestWithContext(r.ctx, http.MethodGet, "http://"+r.node.HTTP()+"/v1/tasks/x", nil)
	require.NoError(t, err)
	in.Header.Set("X-Long", string(bytes.Repeat([]byte("x"), 2*headerBytesMax)))
	out, err := r.client.Do(in)
	require.NoError(t, err)
	require.NoError(t, out.Body.Close())
	assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, out.StatusCode)
}
