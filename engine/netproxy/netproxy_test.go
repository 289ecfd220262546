package netproxy

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/internal/waittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	wait = waittest.Most
	tick = time.Millisecond
	// quiet is how long a test waits to check that no bytes arrive. Forwarded bytes arrive in far
	// less time.
	quiet = 100 * time.Millisecond
)

// twoNodes has two nodes and the mesh between them.
type twoNodes struct {
	mesh     *Mesh
	listener *net.TCPListener // of b
	address  string           // the address at which a reaches b
}

func newTwoNodes(t require.TestingT, cleanup func(func())) *twoNodes {
	mesh := New()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	cleanup(func() {
		_ = listener.Close()
		require.NoError(t, mesh.Close())
	})
	return &twoNodes{mesh: mesh, listener: listener, address: addressOf(t, mesh, "a", "b", listener)}
}

// addressOf returns the address that one node dials to reach another, which listens.
func addressOf(t require.TestingT, m *Mesh, from, to string, listener net.Listener) string {
	address, err := m.Address(from, to)
	require.NoError(t, err)
	m.Listens(to, listener.Addr().String())
	return address
}

func (s *twoNodes) dial(t require.TestingT, cleanup func(func())) (near, far *net.TCPConn) {
	c, err := net.Dial("tcp", s.address)
	require.NoError(t, err)
	near = c.(*net.TCPConn)
	require.NoError(t, s.listener.SetDeadline(time.Now().Add(wait)))
	far, err = s.listener.AcceptTCP()
	require.NoError(t, err)
	for _, c := range []*net.TCPConn{near, far} {
		require.NoError(t, c.SetDeadline(time.Now().Add(wait)))
	}
	cleanup(func() {
		_ = near.Close()
		_ = far.Close()
	})
	return near, far
}

func say(t *testing.T, to net.Conn, text string) {
	t.Helper()
	_, err := to.Write([]byte(text))
	require.NoError(t, err)
}

func hear(t *testing.T, from net.Conn, text string) {
	t.Helper()
	got := make([]byte, len(text))
	_, err := io.ReadFull(from, got)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
}

// silent checks that no bytes arrive and that the connection stays open.
func silent(t *testing.T, from *net.TCPConn) {
	t.Helper()
	require.NoError(t, from.SetReadDeadline(time.Now().Add(quiet)))
	n, err := from.Read(make([]byte, 1))
	require.Zero(t, n)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, from.SetReadDeadline(time.Now().Add(wait)))
}

func TestBytesArriveInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var undo []func()
		defer func() {
			for i := len(undo) - 1; i >= 0; i-- {
				undo[i]()
			}
		}()
		cleanup := func(f func()) { undo = append(undo, f) }
		s := newTwoNodes(t, cleanup)
		for _, from := range []string{"a", "b"} {
			to := map[string]string{"a": "b", "b": "a"}[from]
			s.mesh.Set(from, to, Conditions{
				Delay:     time.Duration(rapid.IntRange(0, 3).Draw(t, "delay")) * time.Millisecond,
				Jitter:    time.Duration(rapid.IntRange(0, 3).Draw(t, "jitter")) * time.Millisecond,
				BytesPerS: float64(rapid.SampledFrom([]int{0, 64 << 20}).Draw(t, "rate")),
			})
		}
		near, far := s.dial(t, cleanup)
		seed := rapid.Uint64().Draw(t, "seed")
		size := rapid.SampledFrom([]int{0, 1, 1000, 3 * pipeBytes}).Draw(t, "size")
		var work sync.WaitGroup
		for i, end := range []*net.TCPConn{near, far} {
			sent := make([]byte, size)
			fill := rand.NewChaCha8(sha256.Sum256([]byte{byte(seed), byte(seed >> 8), byte(i)}))
			_, _ = fill.Read(sent)
			other := []*net.TCPConn{far, near}[i]
			work.Go(func() {
				for rest := sent; len(rest) > 0; {
					n := min(len(rest), 1+int(fill.Uint64()%100_000))
					if _, err := end.Write(rest[:n]); !assert.NoError(t, err) {
						return
					}
					rest = rest[n:]
				}
				assert.NoError(t, end.CloseWrite())
			})
			work.Go(func() {
				got, err := io.ReadAll(other)
				assert.NoError(t, err)
				assert.True(t, bytes.Equal(sent, got), "%d bytes sent, %d arrived, or the contents differ", len(sent), len(got))
			})
		}
		work.Wait()
	})
}

func TestDelayedBytesArriveNoEarlier(t *testing.T) {
	const delay = 50 * time.Millisecond
	s := newTwoNodes(t, t.Cleanup)
	near, far := s.dial(t, t.Cleanup)
	s.mesh.Set("a", "b", Conditions{Delay: delay})
	began := time.Now()
	say(t, near, "x")
	hear(t, far, "x")
	assert.GreaterOrEqual(t, time.Since(began), delay)
	s.mesh.Set("b", "a", Conditions{Delay: delay})
	began = time.Now()
	say(t, near, "x")
	hear(t, far, "x")
	say(t, far, "y")
	hear(t, near, "y")
	assert.GreaterOrEqual(t, time.Since(began), 2*delay, "both ways")
}

func TestARateIsSharedByAllConnections(t *testing.T) {
	const rate, size = 1 << 20, 100 << 10
	s := newTwoNodes(t, t.Cleanup)
	s.mesh.Set("a", "b", Conditions{BytesPerS: rate})
	began := time.Now()
	var work sync.WaitGroup
	for range 2 {
		near, far := s.dial(t, t.Cleanup)
		work.Go(func() {
			_, err := near.Write(make([]byte, size))
			assert.NoError(t, err)
		})
		work.Go(func() {
			_, err := io.ReadFull(far, make([]byte, size))
			assert.NoError(t, err)
		})
	}
	work.Wait()
	// The last piece of each connection passes at the begin of its time.
	least := time.Duration(float64(2*(size-pieceBytesMax)) / rate * float64(time.Second))
	assert.GreaterOrEqual(t, time.Since(began), least)
}

func TestARateEndsWithItsFault(t *testing.T) {
	s := newTwoNodes(t, t.Cleanup)
	near, far := s.dial(t, t.Cleanup)
	s.mesh.Set("a", "b", Conditions{BytesPerS: 1})
	say(t, near, "the first passes at once, ")
	hear(t, far, "the first passes at once, ")
	say(t, near, "the next not for long")
	silent(t, far)
	s.mesh.Set("a", "b", Conditions{})
	hear(t, far, "the next not for long")
}

func TestACutHoldsOneDirection(t *testing.T) {
	s := newTwoNodes(t, t.Cleanup)
	near, far := s.dial(t, t.Cleanup)
	s.mesh.Set("a", "b", Conditions{Cut: Drop})
	say(t, near, "held")
	silent(t, far)
	say(t, far, "this way is open")
	hear(t, near, "this way is open")

	// The cut also applies to connections that the other node opened.
	back, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = back.Close() })
	other := &twoNodes{mesh: s.mesh, listener: back, address: addressOf(t, s.mesh, "b", "a", back)}
	s.mesh.Set("a", "b", Conditions{})
	hear(t, far, "held")
	fromB, atA := other.dial(t, t.Cleanup)
	s.mesh.Set("a", "b", Conditions{Cut: Drop})
	say(t, atA, "held too")
	silent(t, fromB)
	say(t, fromB, "open too")
	hear(t, atA, "open too")
	s.mesh.Set("a", "b", Conditions{})
	hear(t, fromB, "held too")
}

func TestACutHidesTheEndOfAConnection(t *testing.T) {
	for name, end := range map[string]func(*net.TCPConn) error{
		"close": func(c *net.TCPConn) error { return c.Close() },
		"reset": func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTwoNodes(t, t.Cleanup)
			near, far := s.dial(t, t.Cleanup)
			s.mesh.Set("a", "b", Conditions{Cut: Drop})
			s.mesh.Set("b", "a", Conditions{Cut: Drop})
			require.NoError(t, end(near))
			silent(t, far)
			s.mesh.Set("a", "b", Conditions{})
			_, err := far.Read(make([]byte, 1))
			require.Error(t, err)
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		})
	}
}

func TestNoConnectionIsOpenedThroughACut(t *testing.T) {
	for _, cut := range []pair{{"a", "b"}, {"b", "a"}} {
		s := newTwoNodes(t, t.Cleanup)
		s.mesh.Set(cut.from, cut.to, Conditions{Cut: Drop})
		given, err := net.Dial("tcp", s.address)
		require.NoError(t, err)
		require.NoError(t, given.Close(), "closed before the link heals")
		kept, err := net.Dial("tcp", s.address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = kept.Close() })
		say(t, kept, "hello")
		require.NoError(t, s.listener.SetDeadline(time.Now().Add(quiet)))
		_, err = s.listener.AcceptTCP()
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Eventually(t, func() bool {
			l := s.mesh.links[pair{"a", "b"}]
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.conns) == 1
		}, wait, tick, "closed connections are removed")

		s.mesh.Set(cut.from, cut.to, Conditions{})
		require.NoError(t, s.listener.SetDeadline(time.Now().Add(wait)))
		far, err := s.listener.AcceptTCP()
		require.NoError(t, err)
		t.Cleanup(func() { _ = far.Close() })
		hear(t, far, "hello")
	}
}

func TestAResetEndsConnectionsAndRefusesNewOnes(t *testing.T) {
	s := newTwoNodes(t, t.Cleanup)
	near, far := s.dial(t, t.Cleanup)
	say(t, near, "x")
	hear(t, far, "x")
	s.mesh.Set("a", "b", Conditions{Cut: Reset})
	for _, end := range []*net.TCPConn{near, far} {
		_, err := end.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
	}
	again, err := net.Dial("tcp", s.address)
	if err == nil {
		_, err = again.Read(make([]byte, 1))
		require.NoError(t, again.Close())
	}
	require.ErrorIs(t, err, syscall.ECONNRESET)
	s.mesh.Set("a", "b", Conditions{})
	near, far = s.dial(t, t.Cleanup)
	say(t, near, "y")
	hear(t, far, "y")
}

func TestANodeThatDoesNotListenRefuses(t *testing.T) {
	s := newTwoNodes(t, t.Cleanup)
	// A port below the ephemeral range, where no other test can listen.
	s.mesh.Listens("b", "127.0.0.1:1")
	c, err := net.Dial("tcp", s.address)
	if err == nil { // the reset may arrive before the caller has its connection
		_, err = c.Read(make([]byte, 1))
		require.NoError(t, c.Close())
	}
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestALinkHoldsABoundedNumberOfConnections(t *testing.T) {
	s := newTwoNodes(t, t.Cleanup)
	s.mesh.Set("a", "b", Conditions{Cut: Drop})
	l := s.mesh.links[pair{"a", "b"}]
	count := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.conns)
	}
	for i := range connsMax {
		c, err := net.Dial("tcp", s.address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		require.Eventually(t, func() bool { return count() == i+1 }, wait, tick)
	}
	c, err := net.Dial("tcp", s.address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, connsMax, count())
}

func TestANodeThatStopsResetsItsConnections(t *testing.T) {
	s := newTwoNodes(t, t.Cleanup)
	near, far := s.dial(t, t.Cleanup)
	say(t, near, "x") // ensures that the proxy has its connection to the far node
	hear(t, far, "x")
	s.mesh.Isolate("a", "a", "b") // a cut must not hide the reset
	s.mesh.Listens("b", "")
	for _, end := range []*net.TCPConn{near, far} {
		_, err := end.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
	}
	refused, err := net.Dial("tcp", s.address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = refused.Close() })
	_, err = refused.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)

	s.mesh.Listens("b", s.listener.Addr().String())
	s.mesh.Heal()
	near, far = s.dial(t, t.Cleanup)
	say(t, near, "x")
	hear(t, far, "x")
}

func TestIsolationCutsBothDirectionsUntilHealed(t *testing.T) {
	s := newTwoNodes(t, t.Cleanup)
	near, far := s.dial(t, t.Cleanup)
	s.mesh.Isolate("b", "a", "b", "c")
	say(t, near, "there")
	say(t, far, "back")
	silent(t, far)
	silent(t, near)
	s.mesh.Heal()
	hear(t, far, "there")
	hear(t, near, "back")
}

func TestTheAddressOfALinkStays(t *testing.T) {
	s := newTwoNodes(t, t.Cleanup)
	again, err := s.mesh.Address("a", "b")
	require.NoError(t, err)
	assert.Equal(t, s.address, again)
}

func TestClosingTheMeshEndsItsConnections(t *testing.T) {
	mesh := New()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	s := &twoNodes{mesh: mesh, listener: listener, address: addressOf(t, mesh, "a", "b", listener)}
	near, far := s.dial(t, t.Cleanup)
	s.mesh.Set("a", "b", Conditions{Delay: time.Hour})
	say(t, near, "x")
	s.mesh.Set("b", "a", Conditions{Cut: Drop})
	say(t, far, "y")
	held, err := net.Dial("tcp", s.address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = held.Close() })
	require.NoError(t, mesh.Close())
	_, err = near.Read(make([]byte, 1))
	require.Error(t, err)
}
