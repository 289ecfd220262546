package peer

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/internal/certstest"
	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/replica/peer/certs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = waittest.Most

// journal is a log that tests can read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// station is a mux and its log.
type station struct {
	*Mux

	t   *testing.T
	log *journal
}

// credentials returns a node's certificate and the CA that it trusts.
func credentials(t *testing.T, node string) func() *certs.Credentials {
	t.Helper()
	c, err := certs.Load(certstest.Dir(t, node), node)
	require.NoError(t, err)
	return func() *certs.Credentials { return c }
}

// start listens on a free port.
func start(t *testing.T, node string, change ...func(*Config, *bounds)) *station {
	t.Helper()
	j := &journal{}
	c := Config{Node: node, Listen: "127.0.0.1:0", Credentials: credentials(t, node), Log: slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	b := defaults
	for _, f := range change {
		f(&c, &b)
	}
	m, err := listen(c, b)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return &station{Mux: m, t: t, log: j}
}

// to returns the address of a station, including its node ID, for Dial.
func (s *station) to() raft.ServerAddress { return joinAddress(s.node, s.Addr()) }

// logs waits until the log contains all texts.
func (s *station) logs(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		require.Eventually(s.t, func() bool { return bytes.Contains([]byte(s.log.String()), []byte(text)) }, patience, time.Millisecond, text)
	}
}

// refusals waits until n handshakes were refused.
func (s *station) refusals(n uint64) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.Counters().Refused == n }, patience, time.Millisecond)
}

// accept accepts one connection.
func accept(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	type result struct {
		c   net.Conn
		err error
	}
	done := make(chan result, 1)
	go func() {
		c, err := l.Accept()
		done <- result{c, err}
	}()
	select {
	case r := <-done:
		require.NoError(t, r.err)
		return r.c
	case <-time.After(patience):
		require.FailNow(t, "no connection was accepted")
		return nil
	}
}

// exchange checks that each side reads what the other side writes.
func exchange(t *testing.T, a, b net.Conn) {
	t.Helper()
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		require.NoError(t, pair[1].SetReadDeadline(time.Now().Add(patience)))
		_, err := pair[0].Write([]byte("hello"))
		require.NoError(t, err)
		got := make([]byte, 5)
		_, err = io.ReadFull(pair[1], got)
		require.NoError(t, err)
		require.Equal(t, "hello", string(got))
	}
}

// ended checks that the other side closed a connection.
func ended(t *testing.T, c net.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err := io.Copy(io.Discard, c)
	timeout := net.Error(nil)
	require.False(t, asTimeout(err, &timeout), "the connection stays open")
}

func asTimeout(err error, as *net.Error) bool {
	e, ok := err.(net.Error) //nolint:errorlint // of a connection, as it is
	*as = e
	return ok && e.Timeout()
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// tls connects as a node, up to the end of the TLS handshake.
func (s *station) tls(node string) *tls.Conn {
	s.t.Helper()
	own := credentials(s.t, node)()
	c := tls.Client(s.raw(), &tls.Config{Certificates: []tls.Certificate{own.Certificate}, RootCAs: own.CA, ServerName: s.node})
	require.NoError(s.t, c.HandshakeContext(within(s.t)))
	return c
}

// raw connects without a handshake.
func (s *station) raw() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}
