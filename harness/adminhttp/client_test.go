package adminhttp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func serve(t *testing.T, handler http.HandlerFunc) Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return Client{Address: strings.TrimPrefix(server.URL, "http://"), Token: "secret"}
}

// TestDoSendsTheRequest checks the method, the path, the token and the body of the received
// request.
func TestDoSendsTheRequest(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %q %q %s", r.Method, r.URL, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), body)
	})
	answer, err := client.Do(t.Context(), http.MethodPost, "/v1/x?y=1", []byte(`{"a":1}`), time.Minute, 100)
	require.NoError(t, err)
	assert.Equal(t, `POST /v1/x?y=1 "Bearer secret" "application/json" {"a":1}`, string(answer))
	client.Token = ""
	answer, err = client.Get(t.Context(), "/x", time.Minute, 100)
	require.NoError(t, err)
	assert.Equal(t, `GET /x "" "" `, string(answer))
}

// TestDoFailures checks that a refused, a too large and a late answer are errors that name the
// request.
func TestDoFailures(t *testing.T) {
	release := make(chan struct{})
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/refused":
			http.Error(w, "who are you?", http.StatusUnauthorized)
		case "/silent":
			<-release
		default:
			_, _ = fmt.Fprint(w, "12345678901")
		}
	})
	t.Cleanup(func() { close(release) }) // before the server is closed
	_, err := client.Get(t.Context(), "/refused", time.Minute, 100)
	require.ErrorContains(t, err, "GET http://"+client.Address+"/refused: 401 Unauthorized: who are you?")
	_, err = client.Get(t.Context(), "/large", time.Minute, 10)
	require.ErrorContains(t, err, "/large: the answer is larger than 10 bytes")
	answer, err := client.Get(t.Context(), "/large", time.Minute, 11)
	require.NoError(t, err)
	assert.Len(t, answer, 11)
	_, err = client.Get(t.Context(), "/silent", time.Millisecond, 10)
	require.ErrorContains(t, err, "/silent")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
