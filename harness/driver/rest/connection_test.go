package rest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listen starts a server. It returns its base URL and the number of its connections.
func listen(t *testing.T, h http.HandlerFunc) (base string, connections *atomic.Int64) {
	t.Helper()
	connections = new(atomic.Int64)
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, connections
}

func TestAConnectionIsKept(t *testing.T) {
	var host atomic.Value
	base, connections := listen(t, func(w http.ResponseWriter, r *http.Request) {
		host.Store(r.Host)
		assert.Equal(t, "a b", r.Header.Get("Other"))
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		if len(body) > 5 { // of unknown length: chunked
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = w.Write(body)
	})
	var c connection
	defer c.close()
	for _, body := range []string{"first", "", strings.Repeat("long", bufferBytes), "last"} {
		a, err := c.do(t.Context(), base, request{http.MethodPost, "/path", "Other: a b\r\n", []byte(body)})
		require.NoError(t, err)
		assert.Equal(t, "200 OK", a.status)
		assert.Equal(t, body, string(a.body))
	}
	assert.EqualValues(t, 1, connections.Load())
	assert.Equal(t, base, scheme+host.Load().(string))
}

func TestAConnectionIsMadeAgain(t *testing.T) {
	first, connections := listen(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/last" {
			w.Header().Set("Connection", "close")
		}
	})
	second, others := listen(t, func(http.ResponseWriter, *http.Request) {})
	var c connection
	defer c.close()
	do := func(base, path string) {
		t.Helper()
		_, err := c.do(t.Context(), base, request{method: http.MethodPost, path: path})
		require.NoError(t, err)
	}
	do(first, "/last")
	do(first, "/")
	assert.EqualValues(t, 2, connections.Load(), "the server closed the first")
	c.used = c.used.Add(-2 * idleMax)
	do(first, "/")
	assert.EqualValues(t, 3, connections.Load(), "the second was idle for too long")
	do(second, "/")
	assert.EqualValues(t, 1, others.Load(), "the other node has a new connection")
	do(first, "/")
	assert.EqualValues(t, 4, connections.Load())
}

// The end of a call's context ends its wait, and the next call uses a new connection.
func TestAContextEndsARequest(t *testing.T) {
	arrived := make(chan struct{}, 1)
	base, connections := listen(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			arrived <- struct{}{}
			<-r.Context().Done() // the connection is closed
		}
	})
	var c connection
	defer c.close()
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := c.do(ctx, base, request{method: http.MethodPost, path: "/"})
		require.NoError(t, err)
		go func() {
			<-arrived
			cancel()
		}()
		_, err = c.do(ctx, base, request{method: http.MethodPost, path: "/wait"})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "POST "+base+"/wait: ")
	}
	assert.EqualValues(t, 3, connections.Load())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.do(ended, base, request{method: http.MethodPost, path: "/"})
	require.ErrorIs(t, err, context.Canceled)
}

// A connection outlives the context of an earlier request.
func TestAConnectionOutlivesTheContextOfARequest(t *testing.T) {
	base, connections := listen(t, func(http.ResponseWriter, *http.Request) {})
	var c connection
	defer c.close()
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := c.do(ctx, base, request{method: http.MethodPost, path: "/"})
		require.NoError(t, err)
		_, err = c.do(t.Context(), base, request{method: http.MethodPost, path: "/"})
		require.NoError(t, err)
		cancel()
	}
	assert.EqualValues(t, 1, connections.Load())
}

// An endless answer is cut off.
func TestAnswersAreBounded(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		line := []byte("HTTP/1.1 200 OK\r\n")
		for err == nil {
			_, err = conn.Write(line)
			line = []byte("Header: " + strings.Repeat("x", 1<<20) + "\r\n")
		}
	}()
	var c connection
	defer c.close()
	_, err = c.do(t.Context(), scheme+l.Addr().String(), request{method: http.MethodPost, path: "/"})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
