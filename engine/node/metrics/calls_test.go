package metrics

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/shard"
)

// messages is a stream from a client that sends a number of messages. It records how long each was
// handled, from its receipt until the next receive.
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

// The time of each sixteenth message counts for sixteen. It lasts from the receipt until the next
// receive.
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
	h := m.stages.before.Read(stages.Receive)
	require.Equal(t, uint64(2*receiveEvery), h.Count, "the short stream is not timed")
	timed := func(of []time.Duration) time.Duration {
		return receiveEvery * (of[receiveEvery-1] + of[2*receiveEvery-1])
	}
	assert.Positive(t, h.Sum)
	assert.GreaterOrEqual(t, h.Sum, timed(inside))
	assert.LessOrEqual(t, h.Sum, timed(long.handled))
}

// The time of each sixteenth call of a method counts for sixteen. It lasts from the arrival until
// the call's command waits for a shard. It excludes the answer, and a call without a command has no
// time.
func TestReceiveOfCallsIsTimed(t *testing.T) {
	type call func(m *callMetrics, method string, next func(context.Context) error) error
	for name, do := range map[string]call{
		"gRPC": func(m *callMetrics, method string, next func(context.Context) error) error {
			_, err := m.unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: method}, func(ctx context.Context, _ any) (any, error) { return nil, next(ctx) })
			return err
		},
		"REST": func(m *callMetrics, method string, next func(context.Context) error) error {
			return next((&Metrics{calls: m}).RESTArrives(t.Context(), method))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := New(1)
			read := func() stages.Histogram { return m.stages.before.Read(stages.Receive) }
			var before, whole []time.Duration
			enqueue := func(ctx context.Context) error {
				arrived := stages.Now()
				_, err := shard.AwaitReply(ctx, func(reply func(int, error)) error {
					before = append(before, stages.Now()-arrived)
					reply(1, nil)
					return nil
				})
				return err
			}
			for n := range 2*receiveEvery + 3 {
				counted := read().Count
				began := stages.Now()
				require.NoError(t, do(m.calls, "/x/Enqueue", func(ctx context.Context) error {
					err := enqueue(ctx)
					assert.Equal(t, (n+1)%receiveEvery == 0, read().Count > counted, "call %d is counted before its answer", n+1)
					// A second command of the call has no effect.
					return errors.Join(err, enqueue(ctx))
				}))
				whole = append(whole, stages.Now()-began)
			}
			h := read()
			require.Equal(t, uint64(2*receiveEvery), h.Count)
			assert.GreaterOrEqual(t, h.Sum, receiveEvery*(before[2*(receiveEvery-1)]+before[2*(2*receiveEvery-1)]))
			assert.LessOrEqual(t, h.Sum, receiveEvery*(whole[receiveEvery-1]+whole[2*receiveEvery-1]))

			for range receiveEvery {
				require.NoError(t, do(m.calls, "/x/Refused", func(context.Context) error { return nil }))
			}
			assert.Equal(t, h.Count, read().Count, "a call without a command")
		})
	}
}
