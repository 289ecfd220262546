package program

import (
	"bufio"
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/driver/null"
)

// raw is the program's side, controlled by a test.
type raw struct {
	t      *testing.T
	socket net.Conn
	in     *bufio.Reader
}

// rawConn returns a connection with an open producer and an enqueue in progress, call 2. The test
// is the program.
func rawConn(t *testing.T) (*raw, *conn, chan error) {
	ours, theirs := sockets(t)
	c := newConn(ours, running)
	r := &raw{t, theirs, bufio.NewReader(theirs)}
	enqueued := make(chan error, 1)
	go func() {
		p, err := c.Producer(context.Background(), "t0")
		if err == nil {
			err = p.Enqueue(context.Background(), tasks("q", "1"), make([]error, 1))
		}
		enqueued <- err
	}()
	assert.Equal(t, kindOpenProducer, r.read().kind)
	r.write(append(beginFrame(nil, kindOpened, 1), 0))
	assert.Equal(t, kindEnqueue, r.read().kind)
	t.Cleanup(func() { _ = theirs.Close() })
	return r, c, enqueued
}

func (r *raw) read() frame {
	r.t.Helper()
	var buffer []byte
	f, err := readFrame(r.in, &buffer)
	require.NoError(r.t, err)
	return f
}

func (r *raw) write(frame []byte) {
	r.t.Helper()
	frame, err := endFrame(frame)
	require.NoError(r.t, err)
	_, err = r.socket.Write(frame)
	require.NoError(r.t, err)
}

// A program that breaks the protocol fails the calls in progress and the connection. The error
// names the violation.
func TestAnswersThatBreakTheProtocol(t *testing.T) {
	texts := golden.Cases(t, "testdata/answers.golden")
	outcome := func(call uint64, outcomes ...error) []byte {
		return appendOutcomes(beginFrame(nil, kindOutcomes, call), outcomes)
	}
	for name, write := range map[string]func(r *raw){
		"an unknown call": func(r *raw) { r.write(outcome(7, nil)) },
		"many outcomes":   func(r *raw) { r.write(outcome(2, nil, nil)) },
		"the wrong kind": func(r *raw) {
			r.write(appendDeliveries(beginFrame(nil, kindTasks, 2), nil, nil))
		},
		"excess bytes": func(r *raw) { r.write(append(outcome(2, nil), 0)) },
		"an unknown outcome": func(r *raw) {
			r.write(append(beginFrame(nil, kindOutcomes, 2), 0, 0, 0, 1, 9, 0, 0))
		},
		"half a reason": func(r *raw) { r.write(append(beginFrame(nil, kindFailed, 2), 0)) },
		"a long frame": func(r *raw) {
			_, err := r.socket.Write([]byte{255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0})
			require.NoError(t, err)
		},
		"a close with a reason": func(r *raw) {
			r.write(appendText(beginFrame(nil, kindClosed, 0), "out of luck"))
		},
		"a close without a reason": func(r *raw) { r.write(appendText(beginFrame(nil, kindClosed, 0), "")) },
		"no close": func(r *raw) {
			require.NoError(t, r.socket.Close())
		},
		"half a frame": func(r *raw) {
			_, err := r.socket.Write([]byte{0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0})
			require.NoError(t, err)
			require.NoError(t, r.socket.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, c, enqueued := rawConn(t)
			write(r)
			first := <-enqueued
			texts.Error(t, name, first)
			_, err := c.Producer(t.Context(), "t0")
			require.EqualError(t, err, first.Error(), "no further call is made")
			require.EqualError(t, c.Close(), "close the connection: "+first.Error())
		})
	}
	t.Run("answers twice", func(t *testing.T) {
		r, c, enqueued := rawConn(t)
		r.write(outcome(2, nil))
		require.NoError(t, <-enqueued)
		r.write(outcome(2, nil))
		texts.Error(t, "twice", c.Close())
	})
	t.Run("the program's close fails", func(t *testing.T) {
		ours, theirs := sockets(t)
		served := make(chan error, 1)
		go func() {
			served <- serveConnection(context.Background(), theirs, &scripted{closed: errors.New("half of it is left")})
		}()
		texts.Error(t, "the program's close", newConn(ours, running).Close())
		require.Error(t, <-served)
	})
}

// If Prony breaks the protocol, the program sends the violation and closes the connection.
func TestCallsThatBreakTheProtocol(t *testing.T) {
	texts := golden.Cases(t, "testdata/frames.golden")
	open := opening{session: 1, tenant: "t0"}.append(beginFrame(nil, kindOpenProducer, 1), kindOpenProducer)
	for name, frame := range map[string][]byte{
		"an unknown kind":    beginFrame(nil, 9, 3),
		"an unknown session": appendTasks(beginFrame(nil, kindEnqueue, 3), 5, nil),
		"a wrong session":    append(beginFrame(nil, kindClaim, 3), 0, 0, 0, 1, 0, 0, 0, 1),
		"many tasks":         append(beginFrame(nil, kindEnqueue, 3), 0, 0, 0, 1, 0, 0, 0x27, 0x0f),
		"half a queue":       append(beginFrame(nil, kindEnqueue, 3), 0, 0, 0, 1, 0, 0, 0, 1, 0),
		"half a session":     beginFrame(nil, kindOpenProducer, 3),
		"excess bytes":       append(beginFrame(nil, kindCancel, 3), 1),
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := sockets(t)
			served := make(chan error, 1)
			go func() { served <- serveConnection(context.Background(), theirs, null.New().Dial()) }()
			r := &raw{t, ours, bufio.NewReader(ours)}
			defer func() { require.NoError(t, ours.Close()) }()
			r.write(open)
			assert.Equal(t, kindOpened, r.read().kind)
			r.write(frame)
			f := r.read()
			assert.Equal(t, kindClosed, f.kind)
			reason := string(f.body.text("a reason"))
			texts.Equal(t, name, reason)
			require.ErrorContains(t, <-served, reason)
		})
	}
}
