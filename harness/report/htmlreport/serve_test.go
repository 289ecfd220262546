package htmlreport_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/report/htmlreport"
)

func TestHandlerIsReadOnly(t *testing.T) {
	h := htmlreport.Handler([]byte("<p>x</p>"))
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{"GET", "/", 200},
		{"HEAD", "/", 200},
		{"POST", "/", 405},
		{"PUT", "/", 405},
		{"DELETE", "/", 405},
		{"OPTIONS", "/", 405},
		{"GET", "/x", 404},
		{"GET", "/../etc/passwd", 404},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, "http://127.0.0.1"+c.path, nil))
		got := w.Code
		if got == http.StatusTemporaryRedirect || got == http.StatusMovedPermanently || got == http.StatusPermanentRedirect {
			got = 404 // the path is cleaned, and leads to no file
		}
		assert.Equal(t, c.code, got, "%s %s", c.method, c.path)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			assert.Equal(t, want, w.Header().Get(name), name)
		}
		policy := w.Header().Get("Content-Security-Policy")
		assert.Subset(t, strings.Split(policy, "; "), []string{"default-src 'none'", "frame-ancestors 'none'"})
		if c.code == 200 {
			assert.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
			assert.Equal(t, "8", w.Header().Get("Content-Length"))
		}
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- htmlreport.Serve(ctx, listener, []byte("hello")) }()
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Get("http://" + listener.Addr().String() + "/")
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, "hello", string(text))

	for host, code := range map[string]int{"localhost": 200, "[::1]:80": 200, "127.0.0.1": 200, "example.org": 403, "example.org:80": 403} {
		request, err := http.NewRequest(http.MethodGet, "http://"+listener.Addr().String()+"/", http.NoBody)
		require.NoError(t, err)
		request.Host = host
		answer, err := client.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, code, answer.StatusCode, host)
	}

	// A connection that never sends delays nothing for long.
	idle, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, idle.Close()) })
	cancel()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		require.Fail(t, "the server does not stop")
	}
	_, err = net.Dial("tcp", listener.Addr().String())
	assert.Error(t, err)
}

func TestServeSaysThatItCanNot(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	assert.ErrorIs(t, htmlreport.Serve(t.Context(), listener, nil), net.ErrClosed)
}
