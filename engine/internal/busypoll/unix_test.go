//go:build unix

package busypoll

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/waittest"
)

const patience = waittest.Most

// pair returns both ends of a connection. The first one can poll.
func pair(t *testing.T, network string) (*pollingConn, net.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	l, err := net.Listen(network, address)
	require.NoError(t, err)
	theirs, err := net.Dial(network, l.Addr().String())
	require.NoError(t, err)
	ours, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, l.Close())
	t.Cleanup(func() {
		_ = theirs.Close()
		_ = ours.Close()
	})
	p, ok := polling(ours, time.Millisecond, &pollers{now: process.now}).(*pollingConn)
	require.True(t, ok)
	return p, theirs
}

// activate makes a connection poll from now on, for up to max each time.
func activate(p *pollingConn, max time.Duration) {
	p.habit.max, p.habit.active, p.habit.hits, p.habit.since = max, true, shareAll, p.habit.shared.now()
	p.habit.parked = p.habit.since + time.Hour // no usual wait is due
	p.habit.shared.contended.Store(-int64(time.Hour))
}

// inBothWays runs a test with a connection that waits in the usual way and with one that polls.
func inBothWays(t *testing.T, max time.Duration, test func(t *testing.T, p *pollingConn, theirs net.Conn)) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network+" waits", func(t *testing.T) {
			p, theirs := pair(t, network)
			test(t, p, theirs)
		})
		t.Run(network+" polls", func(t *testing.T) {
			p, theirs := pair(t, network)
			activate(p, max)
			test(t, p, theirs)
		})
	}
}

// countingPool counts the buffers in use.
type countingPool struct{ taken, out atomic.Int64 }

func (c *countingPool) Get(n int) *[]byte {
	c.taken.Add(1)
	c.out.Add(1)
	b := make([]byte, n)
	return &b
}

func (c *countingPool) Put(*[]byte) {
	c.out.Add(-1)
}

func TestEverythingThatWasSentIsRead(t *testing.T) {
	inBothWays(t, time.Millisecond, func(t *testing.T, p *pollingConn, theirs net.Conn) {
		random := rand.New(rand.NewPCG(1, 2))
		sent := make([]byte, 8<<20)
		for i := range sent {
			sent[i] = byte(random.Uint32())
		}
		written := make(chan error, 1)
		go func() {
			for rest := sent; len(rest) > 0; {
				n := min(len(rest), 1+int(random.Uint32()%200_000))
				if _, err := theirs.Write(rest[:n]); err != nil {
					written <- err
					return
				}
				rest = rest[n:]
			}
			written <- theirs.Close()
		}()
		var got []byte
		var buffers countingPool
		own := make([]byte, 1<<20)
		for turn := 0; ; turn++ {
			var err error
			if turn%2 == 0 {
				var n int
				n, err = p.Read(own)
				got = append(got, own[:n]...)
			} else {
				var b *[]byte
				var n int
				if b, n, err = p.ReadOnReady(64<<10, &buffers); err == nil {
					got = append(got, (*b)[:n]...)
					buffers.Put(b)
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
		require.NoError(t, <-written)
		assert.True(t, bytes.Equal(sent, got))
		assert.Zero(t, buffers.out.Load())
		n, err := p.Read(nil)
		assert.Zero(t, n)
		require.NoError(t, err, "a read into an empty buffer returns 0 bytes")
	})
}

func TestADeadlineEndsARead(t *testing.T) {
	inBothWays(t, time.Hour, func(t *testing.T, p *pollingConn, _ net.Conn) {
		var buffers countingPool
		for _, deadline := range []time.Time{time.Unix(1, 0), time.Now().Add(20 * time.Millisecond)} {
			require.NoError(t, p.SetReadDeadline(deadline))
			_, _, err := p.ReadOnReady(10, &buffers)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			var timeout net.Error
			require.ErrorAs(t, err, &timeout)
			assert.True(t, timeout.Timeout())
		}
		assert.Zero(t, buffers.out.Load())
		assert.False(t, p.habit.shared.polling.Load())
	})
}

func TestCloseEndsARead(t *testing.T) {
	inBothWays(t, time.Hour, func(t *testing.T, p *pollingConn, _ net.Conn) {
		active := p.habit.active
		var buffers countingPool
		ended := make(chan error, 1)
		go func() {
			_, _, err := p.ReadOnReady(10, &buffers)
			ended <- err
		}()
		require.Eventually(t, func() bool {
			return buffers.taken.Load() > 0 && p.habit.shared.polling.Load() == active
		}, patience, time.Millisecond)
		require.NoError(t, p.Close())
		require.ErrorIs(t, <-ended, net.ErrClosed)
		assert.Zero(t, buffers.out.Load())
		assert.False(t, p.habit.shared.polling.Load())
	})
}

func TestAConnectionThatWaitsHoldsNoBuffer(t *testing.T) {
	p, theirs := pair(t, "tcp")
	var buffers countingPool
	ended := make(chan error, 1)
	go func() {
		b, n, err := p.ReadOnReady(10, &buffers)
		if err == nil {
			assert.Equal(t, "x", string((*b)[:n]))
		}
		ended <- err
	}()
	require.Eventually(t, func() bool { return buffers.taken.Load() > 0 && buffers.out.Load() == 0 }, patience, time.Millisecond)
	_, err := theirs.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, <-ended)
}

func TestABrokenConnectionSaysWhy(t *testing.T) {
	p, theirs := pair(t, "tcp")
	tcp, ok := theirs.(*net.TCPConn)
	require.True(t, ok)
	require.NoError(t, tcp.SetLinger(0))
	require.NoError(t, tcp.Close())
	_, err := p.Read(make([]byte, 1))
	var failed *net.OpError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, syscall.ECONNRESET)
	assert.Equal(t, "read", failed.Op)
}

func TestOtherConnectionsStayAsTheyAre(t *testing.T) {
	a, b := net.Pipe()
	assert.Equal(t, a, polling(a, time.Millisecond, &process))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}
