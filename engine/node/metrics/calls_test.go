package metrics

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/internal/stages"
)

// messages is a stream from a client that sends so many messages. It notes how long each was handled, from its receipt until the next
// one is asked for.
type messages struct {
	grpc.ServerStream

	left    int
	came    time.Duration
	handled []time.Duration
}

func (m *messages) RecvMsg(any) error {
	if m.came != 0 {
		m.handled = append(m.handled, stages.Now()-m.came)
	}
	if m.left == 0 {
		return io.EOF
	}
	m.left--
	m.came = stages.Now()
	return nil
}

func (m *messages) Context() context.Context { return context.Background() }

// The time of each sixteenth message stands for sixteen: from its receipt until the stream reads on.
func TestReceiveIsTimed(t *testing.T) {
	m := New(1)
	var inside []time.Duration
	handle := func(_ any, s grpc.ServerStream) error {
		for s.RecvMsg(nil) == nil {
			began := stages.Now()
			inside = append(inside, stages.Now()-began)
		}
		return nil
	}
	long, short := &messages{left: 40}, &messages{left: receiveEvery - 1}
	for _, stream := range []*messages{long, short} {
		require.NoError(t, m.calls.stream(nil, stream, &grpc.StreamServerInfo{FullMethod: "/x/Produce"}, handle))
	}
	h := m.stages.streams.Read(stages.Receive)
	require.Equal(t, uint64(2*receiveEvery), h.Count, "the short stream is not timed")
	timed := func(of []time.Duration) time.Duration {
		return receiveEvery * (of[receiveEvery-1] + of[2*receiveEvery-1])
	}
	assert.Positive(t, h.Sum)
	assert.GreaterOrEqual(t, h.Sum, timed(inside))
	assert.LessOrEqual(t, h.Sum, timed(long.handled))
}
