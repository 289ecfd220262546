package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call is a request that the server received.
type call struct {
	path, token, contentType, body string
}

// server answers each path as a test defines.
type server struct {
	answers map[string]func(body string) (status int, answer string)

	mu          sync.Mutex
	calls       []call
	connections int
	url         string
}

func (s *server) dial(t *testing.T, token string) driver.Conn {
	t.Helper()
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.calls = append(s.calls, call{r.Method + " " + r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body)})
		s.mu.Unlock()
		status, answer := s.answers[r.URL.Path](string(body))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	h.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if state == http.StateNew {
			s.connections++
		}
	}
	h.Start()
	s.url = h.URL
	conn, err := Dial(driver.Target{HTTP: strings.TrimPrefix(h.URL, "http://"), Token: token}, 45*time.Second)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		h.Close()
	})
	return conn
}

func always(answer string) func(string) (int, string) {
	return func(string) (int, string) { return http.StatusOK, answer }
}

func TestACycle(t *testing.T) {
	claims := 0
	s := &server{answers: map[string]func(string) (int, string){
		"/v1/tasks:enqueue": always(`{"results":[{"id":"a","duplicate":false},{"id":"b","duplicate":false}]}`),
		"/v1/tasks:claim": func(string) (int, string) {
			if claims++; claims == 1 {
				return 200, `{"tasks":[]}` // the wait has ended
			}
			return 200, `{"tasks":[
				{"id":"a","tenant":"t1","queue":"q0","priority":0,"payload":"AAEC","token":"18446744073709551615","lease_expires_at_ms":"9"},
				{"id":"b","tenant":"t1","queue":"q1","payload":"","token":8}]}`
		},
		"/v1/tasks:complete": always(`{"results":[{},{"error":{"index":1,"code":"ERROR_CODE_STALE_TOKEN","field":"","message":"too late"}}]}`),
	}}
	conn := s.dial(t, "secret")
	p, err := conn.Producer(t.Context(), "t1")
	require.NoError(t, err)
	outcomes := make([]error, 2)
	require.NoError(t, p.Enqueue(t.Context(), []driver.Task{{Queue: "q0", Payload: []byte{0, 1, 2}}, {Queue: `q"1`, Payload: nil}}, outcomes))
	assert.Equal(t, []error{nil, nil}, outcomes)

	w, err := conn.Worker(t.Context(), "t1", []string{"q0", "q1"}, 2)
	require.NoError(t, err)
	into := make([]driver.Delivery, 4)
	n, err := w.Claim(t.Context(), into)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	assert.Equal(t, 2, claims, "an empty claim is repeated")
	assert.Equal(t, []byte{0, 1, 2}, into[0].Payload)
	assert.Equal(t, "t1", into[1].Tenant)
	assert.Equal(t, "q1", into[1].Queue)
	assert.EqualValues(t, uint64(18446744073709551615), into[0].Token)
	assert.EqualValues(t, 9, into[0].UntilMs)
	assert.Zero(t, into[1].UntilMs, "not said")

	require.NoError(t, w.Complete(t.Context(), into[:2], outcomes))
	require.NoError(t, outcomes[0])
	golden.Cases(t, "testdata/cycle.golden").Error(t, "a stale token", outcomes[1])
	require.ErrorIs(t, outcomes[1], driver.ErrLeaseOver)

	require.Len(t, s.calls, 4)
	for _, c := range s.calls {
		assert.Equal(t, "Bearer secret", c.token)
		assert.Equal(t, "application/json", c.contentType)
	}
	assert.Equal(t, "POST /v1/tasks:enqueue", s.calls[0].path)
	assert.JSONEq(t, `{"tenant":"t1","tasks":[{"queue":"q0","payload":"AAEC"},{"queue":"q\"1","payload":""}]}`, s.calls[0].body)
	assert.Equal(t, "POST /v1/tasks:claim", s.calls[2].path)
	assert.JSONEq(t, `{"tenant":"t1","queues":["q0","q1"],"lease_ms":45000,"wait_ms":10000,"max_tasks":4}`, s.calls[2].body)
	assert.Equal(t, "POST /v1/tasks:complete", s.calls[3].path)
	assert.JSONEq(t, `{"tenant":"t1","completions":[{"id":"a","token":"18446744073709551615"},{"id":"b","token":"8"}]}`, s.calls[3].body)
	assert.Equal(t, 1, s.connections, "one call at a time needs one connection")
}

// Connections are reused: there are at most as many connections as goroutines.
func TestConnectionsAreKept(t *testing.T) {
	const goroutines, each = 8, 25
	s := &server{answers: map[string]func(string) (int, string){"/v1/tasks:enqueue": always(`{"results":[{"id":"a"}]}`)}}
	conn := s.dial(t, "")
	var calls sync.WaitGroup
	for range goroutines {
		p, err := conn.Producer(t.Context(), "t0")
		require.NoError(t, err)
		calls.Go(func() {
			for range each {
				assert.NoError(t, p.Enqueue(t.Context(), make([]driver.Task, 1), make([]error, 1)))
			}
		})
	}
	calls.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.LessOrEqual(t, s.connections, goroutines)
	assert.Len(t, s.calls, goroutines*each)
	assert.Empty(t, s.calls[0].token, "without a token no header is sent")
}

func TestRefusals(t *testing.T) {
	status, answer := 0, ""
	say := func(string) (int, string) { return status, answer }
	s := &server{answers: map[string]func(string) (int, string){
		"/v1/tasks:enqueue": say, "/v1/tasks:claim": say, "/v1/tasks:complete": say,
	}}
	conn := s.dial(t, "")
	texts := golden.Cases(t, "testdata/refusals.golden")
	texts.Replace(s.url, "SERVER")
	p, err := conn.Producer(t.Context(), "t0")
	require.NoError(t, err)
	w, err := conn.Worker(t.Context(), "t0", []string{"q0"}, 1)
	require.NoError(t, err)
	outcomes := make([]error, 1)
	for name, settle := range map[string]func() error{
		"enqueue":  func() error { return p.Enqueue(t.Context(), []driver.Task{{Queue: "q0"}}, outcomes) },
		"complete": func() error { return w.Complete(t.Context(), []driver.Delivery{{Handle: &lease{"a", "1"}}}, outcomes) },
	} {
		t.Run(name, func(t *testing.T) {
			status, answer = 429, `{"code":8,"message":"the queue is full","details":[]}`
			require.NoError(t, settle())
			texts.Error(t, name+" a full server", outcomes[0])
			for _, c := range []struct {
				status int
				answer string
			}{
				{401, `{"code":16,"message":"no token"}`},
				{500, `<html>`},
				{200, `{"results":[]}`},
				{200, `no JSON`},
			} {
				status, answer = c.status, c.answer
				texts.Error(t, fmt.Sprint(name, " ", status, " ", answer), settle())
			}
		})
	}
	status, answer = 429, `{"message":"full"}`
	_, err = w.Claim(t.Context(), make([]driver.Delivery, 1))
	texts.Error(t, "claim of a full server", err)
	status, answer = 200, `{"tasks":[{"token":"1"},{"token":"2"}]}`
	_, err = w.Claim(t.Context(), make([]driver.Delivery, 1))
	texts.Error(t, "claim with too many tasks", err)
	status, answer = 200, `{"tasks":[{"token":"many"}]}`
	_, err = w.Claim(t.Context(), make([]driver.Delivery, 1))
	texts.Error(t, "claim with a wrong token", err)
	texts.Error(t, "complete of another driver's task", w.Complete(t.Context(), []driver.Delivery{{Queue: "q0", Handle: 3}}, outcomes))
}

// If the server refuses a call because of its only item, the outcome of the item is known: it is
// that refusal.
func TestRefusalsOfTheOnlyItem(t *testing.T) {
	status, code := 0, ""
	say := func(string) (int, string) {
		return status, fmt.Sprintf(`{"code":9,"message":"why","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retry_delay":"1s"},
			{"@type":"type.googleapis.com/prony.queue.v1.ItemError","index":0,"code":%q,"message":"why it was","retry_after_ms":"0"}]}`, code)
	}
	s := &server{answers: map[string]func(string) (int, string){"/v1/tasks:enqueue": say, "/v1/tasks:claim": say, "/v1/tasks:complete": say}}
	conn := s.dial(t, "")
	p, err := conn.Producer(t.Context(), "t0")
	require.NoError(t, err)
	w, err := conn.Worker(t.Context(), "t0", []string{"q0"}, 1)
	require.NoError(t, err)
	for _, c := range []struct {
		status          int
		code            string
		unknown, isOver bool
	}{
		{409, "ERROR_CODE_STALE_TOKEN", false, true},
		{409, "ERROR_CODE_CANCELLED", false, true},
		{404, "ERROR_CODE_NOT_FOUND", false, true},
		{400, "ERROR_CODE_INVALID_ARGUMENT", false, false},
		{429, "ERROR_CODE_RESOURCE_EXHAUSTED", false, false},
		{503, "ERROR_CODE_NOT_LEADER", false, false},
		{504, "ERROR_CODE_UNKNOWN_OUTCOME", true, false},
	} {
		status, code = c.status, c.code
		outcomes := make([]error, 1)
		for _, call := range []func() error{
			func() error { return p.Enqueue(t.Context(), []driver.Task{{Queue: "q0"}}, outcomes) },
			func() error { return w.Complete(t.Context(), []driver.Delivery{{Handle: &lease{"a", "1"}}}, outcomes) },
		} {
			outcomes[0] = nil
			require.NoError(t, call(), c.code)
			require.EqualError(t, outcomes[0], c.code+": why it was")
			assert.Equal(t, c.unknown, errors.Is(outcomes[0], driver.ErrUnknown), c.code)
			assert.Equal(t, c.isOver, errors.Is(outcomes[0], driver.ErrLeaseOver), c.code)
		}
		two := make([]error, 2)
		require.ErrorContains(t, p.Enqueue(t.Context(), make([]driver.Task, 2), two), "why it was", "an answer that does not fit the call")
		assert.Equal(t, make([]error, 2), two)
	}
}

func TestAnswerIsBounded(t *testing.T) {
	s := &server{answers: map[string]func(string) (int, string){
		"/v1/tasks:enqueue": always(strings.Repeat(" ", answerBytesMax+1)),
	}}
	p, err := s.dial(t, "").Producer(t.Context(), "t0")
	require.NoError(t, err)
	golden.Cases(t, "testdata/bounded.golden").Error(t, "a long answer", p.Enqueue(t.Context(), make([]driver.Task, 1), make([]error, 1)))
}

func TestAWaitingClaimIsCancelled(t *testing.T) {
	waiting, release := make(chan struct{}), make(chan struct{})
	s := &server{answers: map[string]func(string) (int, string){"/v1/tasks:claim": func(string) (int, string) {
		close(waiting)
		<-release
		return 200, `{}`
	}}}
	conn := s.dial(t, "")
	w, err := conn.Worker(t.Context(), "t0", []string{"q0"}, 1)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-waiting
		cancel()
	}()
	_, err = w.Claim(ctx, make([]driver.Delivery, 1))
	require.ErrorIs(t, err, context.Canceled)
	close(release)
}

func TestAServerWithoutREST(t *testing.T) {
	_, err := Dial(driver.Target{Address: "127.0.0.1:1"}, time.Second)
	golden.Cases(t, "testdata/norest.golden").Error(t, "no listener", err)
}

func TestNamesAreQuoted(t *testing.T) {
	for _, name := range []string{"q0", `a"b`, "ü", "\x00", "\xff"} {
		var back string
		require.NoError(t, json.Unmarshal([]byte(quote(name)), &back))
		assert.Equal(t, strings.ToValidUTF8(name, "\uFFFD"), back)
	}
}

func TestACombinedCycle(t *testing.T) {
	answers := []string{
		`{"tasks":[{"id":"a","token":"1"},{"id":"b","token":"2"}],"results":[]}`,
		`{"tasks":[{"id":"c","token":"3","payload":"eA=="}],"results":[{},{"error":{"index":1,"code":"ERROR_CODE_STALE_TOKEN","message":"too late"}}]}`,
		`{"tasks":[],"results":[{},{}],"claim_error":{"code":"ERROR_CODE_RESOURCE_EXHAUSTED","message":"full"}}`,
		`{"tasks":[]}`,
	}
	s := &server{}
	s.answers = map[string]func(string) (int, string){"/v1/tasks:claim": func(string) (int, string) { return 200, answers[len(s.calls)-1] }}
	w, err := s.dial(t, "").Worker(t.Context(), "t1", []string{"q0"}, 2)
	require.NoError(t, err)
	combiner, ok := w.(driver.Combiner)
	require.True(t, ok)
	done, into, outcomes := make([]driver.Delivery, 2), make([]driver.Delivery, 2), make([]error, 2)
	n, err := w.Claim(t.Context(), done)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	n, err = combiner.CompleteAndClaim(t.Context(), done, outcomes, into)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	assert.Equal(t, "x", string(into[0].Payload))
	require.NoError(t, outcomes[0])
	require.ErrorIs(t, outcomes[1], driver.ErrLeaseOver)
	require.Len(t, s.calls, 2, "one request")
	assert.JSONEq(t, `{"tenant":"t1","queues":["q0"],"lease_ms":45000,"wait_ms":100,"max_tasks":2,
		"completions":[{"id":"a","token":"1"},{"id":"b","token":"2"}]}`, s.calls[1].body)
	n, err = combiner.CompleteAndClaim(t.Context(), done, outcomes, into)
	require.NoError(t, err, "the outcomes of the completions are known")
	require.Zero(t, n)
	require.NoError(t, outcomes[1])
	_, err = combiner.CompleteAndClaim(t.Context(), done, outcomes, into)
	texts := golden.Cases(t, "testdata/combined.golden")
	texts.Error(t, "a server without combined calls", err)
	_, err = combiner.CompleteAndClaim(t.Context(), []driver.Delivery{{Handle: 3}}, outcomes[:1], into)
	texts.Error(t, "another driver's task", err)
}
