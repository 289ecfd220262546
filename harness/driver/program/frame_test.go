package program

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/driver"
)

// written encodes a frame and decodes it again.
func written(t *rapid.T, b []byte) frame {
	b, err := endFrame(b)
	require.NoError(t, err)
	var buffer []byte
	in := bufio.NewReader(bytes.NewReader(b))
	f, err := readFrame(in, &buffer)
	require.NoError(t, err)
	_, err = in.ReadByte()
	require.ErrorIs(t, err, io.EOF, "all of it was read")
	return f
}

// Decoding returns the encoded values.
func TestFramesAreReadAsTheyWereWritten(t *testing.T) {
	text := rapid.StringN(0, 40, 300)
	payload := rapid.SliceOfN(rapid.Byte(), 0, 300)
	rapid.Check(t, func(rt *rapid.T) {
		call := rapid.Uint64().Draw(rt, "call")
		session := rapid.Uint32().Draw(rt, "session")
		n := rapid.IntRange(1, 20).Draw(rt, "tasks")

		o := opening{session: session, tenant: text.Draw(rt, "tenant")}
		f := written(rt, o.append(beginFrame(nil, kindOpenProducer, call), kindOpenProducer))
		assert.Equal(rt, kindOpenProducer, f.kind)
		assert.Equal(rt, call, f.call)
		read, err := readOpening(&f.body, f.kind)
		require.NoError(rt, err)
		require.Equal(rt, o, read)
		o.slots, o.queues = n, rapid.SliceOfN(text, 1, 20).Draw(rt, "queues")
		f = written(rt, o.append(beginFrame(nil, kindOpenWorker, call), kindOpenWorker))
		read, err = readOpening(&f.body, f.kind)
		require.NoError(rt, err)
		require.Equal(rt, o, read)

		var sent []driver.Task
		var deliveries []driver.Delivery
		var handles []uint64
		var outcomes []error
		for i := range n {
			queue, data := text.Draw(rt, "queue"), payload.Draw(rt, "payload")
			handle := rapid.Uint64().Draw(rt, "handle")
			sent = append(sent, driver.Task{Tenant: "t0", Queue: queue, Payload: data})
			deliveries = append(deliveries, driver.Delivery{Tenant: "t0", Queue: queue, Payload: data, Handle: handle, Attempt: uint32(i)})
			handles = append(handles, handle)
			outcomes = append(outcomes, rapid.SampledFrom([]error{
				nil, errors.New("x"), fmt.Errorf("%w: y", driver.ErrUnknown), fmt.Errorf("%w: z", driver.ErrLeaseOver),
			}).Draw(rt, "outcome"))
		}
		f = written(rt, appendTasks(beginFrame(nil, kindEnqueue, call), session, sent))
		require.Equal(rt, session, f.body.uint32(""))
		tasks, err := readTasks(&f.body, "t0", names{}, nil)
		require.NoError(rt, err)
		require.Equal(rt, sent, tasks)

		f = written(rt, appendDeliveries(beginFrame(nil, kindTasks, call), handles, deliveries))
		into := make([]driver.Delivery, n)
		got, err := readDeliveries(&f.body, "t0", names{}, into)
		require.NoError(rt, err)
		require.Equal(rt, deliveries, into[:got])

		b, err := appendHandles(beginFrame(nil, kindComplete, call), session, deliveries)
		require.NoError(rt, err)
		f = written(rt, b)
		require.Equal(rt, session, f.body.uint32(""))
		again, err := readHandles(&f.body, nil)
		require.NoError(rt, err)
		require.Equal(rt, handles, again)

		f = written(rt, appendOutcomes(beginFrame(nil, kindOutcomes, call), outcomes))
		answered := make([]error, n)
		require.NoError(rt, readOutcomes(&f.body, answered))
		for i := range outcomes {
			require.Equal(rt, outcomeOf(outcomes[i]), outcomeOf(answered[i]))
		}
	})
}

// Arbitrary bytes do not make a decoder panic or allocate more than their size.
func TestAnyBytesAreRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(rt, "bytes")
		fresh := func() *body { return &body{left: bytes.Clone(data)} }
		var tasks []driver.Task
		var handles []uint64
		allocated := testing.AllocsPerRun(1, func() {
			_, _ = readOpening(fresh(), kindOpenProducer)
			_, _ = readOpening(fresh(), kindOpenWorker)
			tasks, _ = readTasks(fresh(), "t0", names{}, nil)
			handles, _ = readHandles(fresh(), nil)
			_ = readOutcomes(fresh(), make([]error, 3))
			_, _ = readDeliveries(fresh(), "t0", names{}, make([]driver.Delivery, 3))
		})
		assert.LessOrEqual(rt, len(tasks), tasksMax)
		assert.LessOrEqual(rt, len(handles), tasksMax)
		assert.Less(rt, allocated, 500.0)

		var buffer []byte
		in := bufio.NewReader(bytes.NewReader(data))
		for {
			if _, err := readFrame(in, &buffer); err != nil {
				break
			}
		}
		assert.LessOrEqual(rt, cap(buffer), frameBytesMax)
	})
}

// A blocked writer accepts a bounded number of bytes, and waits at most as long as its caller.
func TestAWriterIsBounded(t *testing.T) {
	ours, theirs := sockets(t)
	w := newWriter(ours)
	ctx, cancel := context.WithCancel(t.Context())
	frame := make([]byte, 100_000)
	taken := 0
	done := make(chan error)
	go func() {
		for {
			if err := w.write(ctx, frame); err != nil {
				done <- err
				return
			}
			taken++
			if taken == 1000 {
				done <- nil
				return
			}
			if taken == 12 {
				cancel() // from now on write ends as soon as there is no room
			}
		}
	}()
	require.ErrorIs(t, <-done, context.Canceled)
	assert.Less(t, taken, 100)
	require.NoError(t, theirs.Close())
	w.close()
	require.Error(t, w.write(t.Context(), frame))
	require.NoError(t, ours.Close())
}
