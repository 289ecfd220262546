package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/engine/longtest"
)

// The planted fault of arriving messages also affects calls over REST, with and without a body.
func TestThePlantedFaultRPCIsInRESTCalls(t *testing.T) {
	longtest.Only(t)
	planted, err := buildtest.Program("queued-planted", "engine/cmd/queued", "-tags", "planted")
	require.NoError(t, err)
	const sleep = 300 * time.Millisecond
	p := startAs(t, func(args []string) *exec.Cmd {
		c := exec.Command(planted, args[1:]...)
		c.Env = append(os.Environ(), "PRONY_PLANTED=rpc:"+sleep.String())
		return c
	}, "--durability", "none", "--data", t.TempDir(), "--http", "127.0.0.1:0")
	defer http.DefaultClient.CloseIdleConnections()
	for _, call := range []struct{ method, path, body string }{
		{http.MethodPost, "/v1/tasks:enqueue", `{"tasks":[{"queue":"q","payload":"eA=="}]}`},
		{http.MethodGet, "/v1/routes", ""},
	} {
		in, err := http.NewRequestWithContext(t.Context(), call.method, "http://"+p.HTTP+call.path, strings.NewReader(call.body))
		require.NoError(t, err)
		in.Header.Set("Authorization", "Bearer "+p.token())
		in.Header.Set("Content-Type", "application/json")
		began := time.Now()
		out, err := http.DefaultClient.Do(in)
		require.NoError(t, err)
		took := time.Since(began)
		text, err := io.ReadAll(out.Body)
		require.NoError(t, err)
		require.NoError(t, out.Body.Close())
		require.Equal(t, http.StatusOK, out.StatusCode, "%s", text)
		assert.GreaterOrEqual(t, took, sleep, "%s %s", call.method, call.path)
	}
}
