package rest

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
)

// A task sends its result retention, a completion its result, and the result is read back once the
// task is done.
func TestResults(t *testing.T) {
	status, answer := http.StatusOK, `{"state":"TASK_STATE_DONE","result":"AAEC"}`
	s := &server{answers: map[string]func(string) (int, string){
		"/v1/tasks:enqueue":  always(`{"results":[{"id":"a"}]}`),
		"/v1/tasks:claim":    always(`{"tasks":[{"id":"a","tenant":"t1","queue":"q0","token":"7"}]}`),
		"/v1/tasks:complete": always(`{"results":[{}]}`),
		"/v1/tasks/a/result": func(string) (int, string) { return status, answer },
	}}
	conn := s.dial(t, "")
	p, err := conn.Producer(t.Context(), "t1")
	require.NoError(t, err)
	require.NoError(t, p.Enqueue(t.Context(), []driver.Task{{Queue: "q0", ResultRetention: time.Minute, Key: "k"}}, make([]error, 1)))
	w, err := conn.Worker(t.Context(), "t1", []string{"q0"}, 1)
	require.NoError(t, err)
	into := make([]driver.Delivery, 1)
	_, err = w.Claim(t.Context(), into)
	require.NoError(t, err)
	into[0].Result = []byte{0, 1, 2}
	require.NoError(t, w.Complete(t.Context(), into, make([]error, 1)))
	assert.JSONEq(t, `{"tenant":"t1","tasks":[{"queue":"q0","payload":"","idempotency_key":"k","result_retention_ms":60000}]}`, s.calls[0].body)
	assert.JSONEq(t, `{"tenant":"t1","completions":[{"id":"a","token":"7","result":"AAEC"}]}`, s.calls[2].body)

	got, err := w.(driver.Returner).Result(t.Context(), &into[0])
	require.NoError(t, err)
	assert.Equal(t, []byte{0, 1, 2}, got)
	answer = `{"state":"TASK_STATE_LEASED"}`
	_, err = w.(driver.Returner).Result(t.Context(), &into[0])
	require.ErrorIs(t, err, driver.ErrNotFound)
	require.ErrorContains(t, err, "TASK_STATE_LEASED")
	status, answer = http.StatusNotFound, `{"message":"no result"}`
	_, err = w.(driver.Returner).Result(t.Context(), &into[0])
	require.ErrorIs(t, err, driver.ErrNotFound)
	status = http.StatusInternalServerError
	_, err = w.(driver.Returner).Result(t.Context(), &into[0])
	require.Error(t, err)
	require.NotErrorIs(t, err, driver.ErrNotFound)
}
