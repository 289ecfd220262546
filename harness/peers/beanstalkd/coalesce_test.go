package beanstalkd

import (
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Writes of many goroutines arrive complete, and none fails: the client would wait forever for the
// answer to a command whose write failed.
func TestWritesCoalesce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	c, err := dialCoalescing(listener.Addr().String(), time.Minute)
	require.NoError(t, err)
	other, err := listener.Accept()
	require.NoError(t, err)

	const writers, writes = 16, 50
	var calls sync.WaitGroup
	for range writers {
		calls.Go(func() {
			for range writes {
				n, err := c.Write([]byte("put 1\r\n"))
				assert.NoError(t, err)
				assert.Equal(t, 7, n)
			}
		})
	}
	got := make([]byte, writers*writes*7)
	_, err = io.ReadFull(other, got)
	require.NoError(t, err)
	calls.Wait()
	assert.Equal(t, strings.Repeat("put 1\r\n", writers*writes), string(got))

	require.NoError(t, c.Close())
	n, err := c.Write([]byte("delete 1\r\n"))
	assert.NoError(t, err)
	assert.Equal(t, 10, n)
	_, err = c.Read(got)
	assert.ErrorIs(t, err, net.ErrClosed)
	require.NoError(t, other.Close())
}

// A server that no longer answers results in an error, not in an endless wait.
func TestAnAnswerIsNotAwaitedForever(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	c, err := dialCoalescing(listener.Addr().String(), 10*time.Millisecond)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	_, err = c.Write([]byte("reserve-with-timeout 1\r\n"))
	require.NoError(t, err)
	// A read without a deadline fails then, as closed.
	defer time.AfterFunc(30*time.Second, func() { _ = c.Close() }).Stop()
	_, err = c.Read(make([]byte, 1))
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
}
