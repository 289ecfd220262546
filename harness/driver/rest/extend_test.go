package rest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
)

func TestLeasesAreExtended(t *testing.T) {
	s := &server{answers: map[string]func(string) (int, string){
		"/v1/tasks:claim":  always(`{"tasks":[{"id":"a","tenant":"t1","queue":"q0","token":"7"},{"id":"b","tenant":"t1","queue":"q0","token":"8"}]}`),
		"/v1/tasks:extend": always(`{"results":[{},{"error":{"index":1,"code":"ERROR_CODE_STALE_TOKEN","message":"too late"}}]}`),
	}}
	conn := s.dial(t, "")
	w, err := conn.Worker(t.Context(), "t1", []string{"q0"}, 2)
	require.NoError(t, err)
	into, outcomes := make([]driver.Delivery, 2), make([]error, 2)
	_, err = w.Claim(t.Context(), into)
	require.NoError(t, err)
	require.NoError(t, w.(driver.Extender).Extend(t.Context(), into, 30*time.Second, outcomes))
	require.NoError(t, outcomes[0])
	require.ErrorIs(t, outcomes[1], driver.ErrLeaseOver)
	assert.JSONEq(t, `{"tenant":"t1","extensions":[{"id":"a","token":"7","lease_ms":30000},{"id":"b","token":"8","lease_ms":30000}]}`, s.calls[1].body)
}
