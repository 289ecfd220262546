package node

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The runtime has one CPU profile per process, so these tests are not parallel.
func TestCPUProfileOfAChosenTime(t *testing.T) {
	a := newAdminTest(t)
	status, body := a.ask(http.MethodPost, "/debug/cpu/stop")
	assert.Equal(t, http.StatusConflict, status, "there is no profile before the start")
	assert.Contains(t, body, "POST /debug/cpu/start")
	for range 2 {
		status, body = a.ask(http.MethodPost, "/debug/cpu/start")
		require.Equal(t, http.StatusOK, status, body)
		status, body = a.ask(http.MethodPost, "/debug/cpu/start")
		assert.Equal(t, http.StatusConflict, status)
		assert.Contains(t, body, "stop it first")
		a.someTasks()
		status, body = a.ask(http.MethodPost, "/debug/cpu/stop")
		require.Equal(t, http.StatusOK, status)
		packed, err := gzip.NewReader(strings.NewReader(body))
		require.NoError(t, err)
		_, err = io.ReadAll(packed)
		require.NoError(t, err)
	}
}

func TestCPUProfileEndsWithTheNode(t *testing.T) {
	for range 2 {
		a := newAdminTest(t)
		status, body := a.ask(http.MethodPost, "/debug/cpu/start")
		require.Equal(t, http.StatusOK, status, body)
		require.NoError(t, a.node.Shutdown(a.ctx))
	}
}
