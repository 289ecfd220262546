package open

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/driver"
)

// conn counts its closes.
type conn struct {
	driver.Conn
	closed int
	err    error
}

func (c *conn) Close() error {
	c.closed++
	return c.err
}

func TestDriversByName(t *testing.T) {
	target := driver.Target{Address: "127.0.0.1:1", HTTP: "127.0.0.1:1"}
	for _, name := range []string{"stream", "unary", "rest"} {
		dial := By(name, target, time.Second)
		require.NotNil(t, dial, name)
		conns, err := Conns(2, dial) // they connect at the first use
		require.NoError(t, err, name)
		assert.Len(t, conns, 2)
		assert.NoError(t, Close(conns), name)
	}
	for _, name := range []string{"", "embedded", "null", "k6"} {
		assert.Nil(t, By(name, target, time.Second), name)
	}
}

func TestConnsAreOpenedAllOrNone(t *testing.T) {
	var opened []*conn
	refused := errors.New("refused")
	_, err := Conns(3, func() (driver.Conn, error) {
		if len(opened) == 2 {
			return nil, refused
		}
		opened = append(opened, &conn{err: errors.New("broken")})
		return opened[len(opened)-1], nil
	})
	assert.ErrorIs(t, err, refused)
	assert.EqualError(t, err, "refused\nclose a connection: broken\nclose a connection: broken")
	for _, c := range opened {
		assert.Equal(t, 1, c.closed)
	}
}

func TestReadersByName(t *testing.T) {
	target := driver.Target{Address: "127.0.0.1:1", HTTP: "127.0.0.1:1"}
	for _, name := range []string{"stream", "unary", "rest"} {
		reader, err := Reader(name, target) // it connects at the first use
		require.NoError(t, err, name)
		assert.NoError(t, reader.Close(), name)
		queues, err := QueueReader(name, target, "127.0.0.1:1")
		require.NoError(t, err, name)
		assert.NoError(t, queues.Close(), name)
	}
	s := golden.Cases(t, "testdata/readers.golden")
	for _, name := range []string{"", "embedded", "null", "k6"} {
		_, err := Reader(name, target)
		s.Error(t, "tasks of "+name, err)
		_, err = QueueReader(name, target, "127.0.0.1:1")
		s.Error(t, "queues of "+name, err)
	}
	_, err := Reader("rest", driver.Target{Address: "127.0.0.1:1"})
	s.Error(t, "no listener", err)
}
