package rest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
)

// A task sends its retry settings, a failure its reason, and a delivery has its attempt.
func TestTasksThatAreFailed(t *testing.T) {
	s := &server{answers: map[string]func(string) (int, string){
		"/v1/tasks:enqueue": always(`{"results":[{"id":"a"}]}`),
		"/v1/tasks:claim":   always(`{"tasks":[{"id":"a","tenant":"t1","queue":"q0","payload":"AAEC","token":"7","attempt":2},{"id":"b","tenant":"t1","queue":"q0","token":"8","attempt":1}]}`),
		"/v1/tasks:fail":    always(`{"results":[{},{"error":{"index":1,"code":"ERROR_CODE_STALE_TOKEN","message":"too late"}}]}`),
	}}
	conn := s.dial(t, "")
	p, err := conn.Producer(t.Context(), "t1")
	require.NoError(t, err)
	task := driver.Task{Queue: "q0", Payload: []byte{0, 1, 2}, MaxAttempts: 3, Backoff: 20 * time.Millisecond, Delay: time.Second}
	require.NoError(t, p.Enqueue(t.Context(), []driver.Task{task}, make([]error, 1)))
	w, err := conn.Worker(t.Context(), "t1", []string{"q0"}, 2)
	require.NoError(t, err)
	into, outcomes := make([]driver.Delivery, 2), make([]error, 2)
	_, err = w.Claim(t.Context(), into)
	require.NoError(t, err)
	assert.EqualValues(t, 2, into[0].Attempt)
	require.NoError(t, w.(driver.Failer).Fail(t.Context(), into, outcomes))
	require.NoError(t, outcomes[0])
	require.ErrorIs(t, outcomes[1], driver.ErrLeaseOver)
	assert.JSONEq(t, `{"tenant":"t1","tasks":[{"queue":"q0","payload":"AAEC","delay_ms":1000,"max_attempts":3,"backoff":{"initial_ms":20,"max_ms":20}}]}`, s.calls[0].body)
	assert.JSONEq(t, `{"tenant":"t1","failures":[{"id":"a","token":"7","error":"`+driver.FailedBecause+`"},{"id":"b","token":"8","error":"`+driver.FailedBecause+`"}]}`, s.calls[2].body)
}
