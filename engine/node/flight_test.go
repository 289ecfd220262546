package node

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFlightRecorder(t *testing.T) {
	a := newAdminTest(t)
	status, body := a.ask(http.MethodGet, "/debug/trace/snapshot")
	assert.Equal(t, http.StatusConflict, status, "the recorder is off before the start")
	assert.Contains(t, body, "POST /debug/trace/start")
	for _, seconds := range []string{"0", "61", "-1", "x", "1.5"} {
		status, body = a.ask(http.MethodPost, "/debug/trace/start?seconds="+seconds)
		assert.Equal(t, http.StatusBadRequest, status, seconds)
		assert.Contains(t, body, "whole number from 1 to 60")
	}
	status, _ = a.ask(http.MethodGet, "/debug/trace/start")
	assert.NotEqual(t, http.StatusOK, status, "a GET request must not start it")

	status, body = a.ask(http.MethodPost, "/debug/trace/start?seconds=2")
	require.Equal(t, http.StatusOK, status, body)
	assert.JSONEq(t, `{"seconds":2,"bytes_max":16777216}`, body)
	status, body = a.ask(http.MethodPost, "/debug/trace/start")
	assert.Equal(t, http.StatusConflict, status)
	assert.Contains(t, body, "stop it first")
	a.someTasks()
	for range 2 {
		status, body = a.ask(http.MethodGet, "/debug/trace/snapshot")
		require.Equal(t, http.StatusOK, status)
		assert.True(t, strings.HasPrefix(body, "go 1."), "%.20q", body)
		assert.Contains(t, body, "shard.(*decider).decide", "the trace has the server's functions")
	}
	for range 2 {
		status, _ = a.ask(http.MethodPost, "/debug/trace/stop")
		assert.Equal(t, http.StatusOK, status)
	}
	status, _ = a.ask(http.MethodGet, "/debug/trace/snapshot")
	assert.Equal(t, http.StatusConflict, status)
}

// The runtime has one recorder per process: a node must release it when it ends.
func TestFlightRecorderEndsWithTheNode(t *testing.T) {
	for range 2 {
		a := newAdminTest(t)
		status, body := a.ask(http.MethodPost, "/debug/trace/start")
		require.Equal(t, http.StatusOK, status, body)
		require.NoError(t, a.node.Shutdown(a.ctx))
	}
}
