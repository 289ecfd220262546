package rest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
)

func TestReadsOfQueuesAndWaits(t *testing.T) {
	code, answer, asked := 200, "", ""
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.Path + "?" + r.URL.Query().Encode() + " with " + r.Header.Get("Authorization")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}))
	defer h.Close()
	address := strings.TrimPrefix(h.URL, "http://")
	r, err := DialQueueReader(driver.Target{HTTP: "127.0.0.1:1", Token: "secret"}, address)
	require.NoError(t, err)
	tasks, err := DialReader(driver.Target{HTTP: address, Token: "secret"})
	require.NoError(t, err)

	answer = `{"tasks":[{"id":"a","tenant":"t1","queue":"q7","payload":"eA==","state":"TASK_STATE_READY"},{"id":"b","tenant":"t1","queue":"q7","payload":"eQ=="}],"next_page_token":"x"}`
	for leased, state := range map[bool]string{false: "TASK_STATE_READY", true: "TASK_STATE_LEASED"} {
		listed, err := r.List(t.Context(), "t 1", "q7", leased)
		require.NoError(t, err)
		assert.Equal(t, []driver.Found{{ID: "a", Tenant: "t1", Queue: "q7", Payload: []byte("x")}, {ID: "b", Tenant: "t1", Queue: "q7", Payload: []byte("y")}}, listed)
		assert.Equal(t, "GET /v1/tasks?page_size=100&queue=q7&state="+state+"&tenant=t+1 with Bearer secret", asked)
	}
	answer = `{"queue":{"tenant":"t1","queue":"q7","ready":"3","enqueued":"1099511627776"}}`
	stats, err := r.Stats(t.Context(), "t1", "q7")
	require.NoError(t, err)
	assert.Equal(t, driver.QueueStats{Tenant: "t1", Queue: "q7", Enqueued: 1 << 40}, stats)
	assert.Equal(t, "GET /v1/queues:get?queue=q7&tenant=t1 with Bearer secret", asked)
	for text, want := range map[string]driver.Awaited{
		`{"state":"TASK_STATE_DONE","result":"cg==","completed_at_ms":"7"}`: {State: driver.Done, Result: []byte("r")},
		`{"state":"TASK_STATE_LEASED","result":""}`:                         {State: driver.Open, Result: []byte{}},
		`{"state":"TASK_STATE_DEAD"}`:                                       {State: driver.Dead},
		`{}`:                                                                {},
	} {
		answer = text
		awaited, err := tasks.Await(t.Context(), "t1", "abc", 1500*time.Millisecond)
		require.NoError(t, err)
		assert.Equal(t, want, awaited)
		assert.Equal(t, "GET /v1/tasks/abc/result?tenant=t1&wait_ms=1500 with Bearer secret", asked)
	}

	answer = `{"message":"no"}`
	for status, want := range map[int]error{404: driver.ErrNotFound, 403: driver.ErrDenied, 429: driver.ErrFull} {
		code = status
		_, err := r.List(t.Context(), "t1", "q7", false)
		require.ErrorIs(t, err, want)
		_, err = r.Stats(t.Context(), "t1", "q7")
		require.ErrorIs(t, err, want)
		_, err = tasks.Await(t.Context(), "t1", "abc", 0)
		require.ErrorIs(t, err, want)
	}
	require.NoError(t, r.Close())
	require.NoError(t, tasks.Close())
}
