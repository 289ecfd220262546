package rpc_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/rest"
	"github.com/pronybench/prony/engine/shard"
)

// webOf serves REST calls of both services at a node, like its listeners, and returns a function
// that sends a call.
func webOf(t *testing.T, n *clusterNode) func(token, method, path, body string) (code int, retryAfter, text string) {
	t.Helper()
	options := rest.Options{Guard: func(next http.Handler) http.Handler { return n.auth.Guard(next, rest.WriteError) }}
	queues, err := rest.NewQueue(n.service, options)
	require.NoError(t, err)
	admins, err := rest.NewAdmin(n.admin, options)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/queue/", http.StripPrefix("/queue", queues))
	mux.Handle("/admin/", http.StripPrefix("/admin", admins))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return func(token, method, path, body string) (code int, retryAfter, text string) {
		t.Helper()
		in, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		if body == "" {
			in.Body = http.NoBody
		}
		if token != "" {
			in.Header.Set("Authorization", "Bearer "+token)
		}
		in.Header.Set("Content-Type", "application/json")
		in.Header.Set("Prony-Forwarded", "n9") // has no meaning in REST
		in.Header.Set("Grpc-Metadata-Prony-Forwarded", "n9")
		out, err := s.Client().Do(in)
		require.NoError(t, err)
		answer, err := io.ReadAll(out.Body)
		require.NoError(t, err)
		require.NoError(t, out.Body.Close())
		return out.StatusCode, out.Header.Get("Retry-After"), string(answer)
	}
}

func TestRESTCallsGoToTheLeader(t *testing.T) {
	c := startNodes(t, 2, 1)
	send := webOf(t, c.all[0])
	c.lead(0, "n2")
	const enqueue = `{"tasks":[{"queue":"q"}]}`
	code, _, text := send(c.tokens["t0"], http.MethodPost, "/queue/v1/tasks:enqueue", enqueue)
	require.Equal(t, http.StatusOK, code, text)
	code, _, text = send(c.tokens["t0"], http.MethodPost, "/queue/v1/tasks:claim", `{"queues":["q"],"wait_ms":1000}`)
	require.Equal(t, http.StatusOK, code, text)
	assert.Contains(t, text, `"tenant":"t0"`)
	code, _, text = send(c.tokens["t0"], http.MethodGet, "/admin/v1/queues:get?queue=q", "")
	require.Equal(t, http.StatusOK, code, text)
	assert.EqualValues(t, 3, c.all[1].forwarded.Load())
	code, _, text = send(c.tokens["producer"], http.MethodPost, "/queue/v1/tasks:claim", `{"queues":["q"]}`)
	require.Equal(t, http.StatusForbidden, code, text)
	code, _, text = send("", http.MethodPost, "/queue/v1/tasks:enqueue", enqueue)
	require.Equal(t, http.StatusUnauthorized, code, text)

	// The leader no longer knows the token.
	tokens, err := c.all[1].registry.Tokens(&everybody, "t0")
	require.NoError(t, err)
	for _, token := range tokens {
		require.NoError(t, c.all[1].registry.RevokeToken(c.ctx, &everybody, token.ID))
	}
	code, _, text = send(c.tokens["t0"], http.MethodPost, "/queue/v1/tasks:enqueue", enqueue)
	require.Equal(t, http.StatusUnauthorized, code, text)
	code, _, text = send(c.tokens["operator"], http.MethodPost, "/queue/v1/tasks:enqueue", enqueue)
	require.Equal(t, http.StatusOK, code, text)

	// The outcome is unknown.
	c.logs[0].holdOn()
	go func() {
		c.logs[0].waits(t)
		c.logs[0].letGo(shard.ErrUnknownOutcome)
	}()
	code, _, text = send(c.tokens["operator"], http.MethodPost, "/queue/v1/tasks:enqueue", enqueue)
	assert.Equal(t, http.StatusGatewayTimeout, code, text)
	assert.Contains(t, text, "prony.queue.v1.UnknownOutcome")

	// The node is believed to lead but does not.
	c.retriesFor(60 * time.Millisecond)
	n2 := "n2"
	c.all[0].believes.Store(&n2)
	c.lead(0, "")
	for _, path := range []string{"/queue/v1/tasks:enqueue", "/admin/v1/queues:get?queue=q"} {
		method, body := http.MethodPost, enqueue
		if strings.HasPrefix(path, "/admin") {
			method, body = http.MethodGet, ""
		}
		code, retryAfter, text := send(c.tokens["operator"], method, path, body)
		assert.Equal(t, http.StatusServiceUnavailable, code, text)
		assert.Equal(t, "1", retryAfter)
		assert.Contains(t, text, "prony.queue.v1.NotLeader")
		assert.Contains(t, text, c.all[1].address)
	}
}
