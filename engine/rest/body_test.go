package rest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/queuepb"
)

// readInto reads data as a body through the given reader.
func readInto(b *body, data []byte, length int64, way func(io.Reader) io.Reader) error {
	w, in := recorded(http.MethodPost, "/", nil)
	in.Body, in.ContentLength = io.NopCloser(way(bytes.NewReader(data))), length
	return b.read(w, in)
}

func TestABodyIsReadWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(bufferBytes-3, bufferBytes+3), rapid.IntRange(0, 50_000)).Draw(t, "size")
		data := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		way := rapid.SampledFrom([]func(io.Reader) io.Reader{
			func(r io.Reader) io.Reader { return r }, iotest.HalfReader, iotest.DataErrReader,
		}).Draw(t, "way")
		length := int64(size)
		if rapid.Bool().Draw(t, "chunked") {
			length = -1
		}
		budget := memory.NewBudget(1 << 20)
		b := &body{budget: budget, bytesMax: bodyBytesMax, readMax: time.Minute}
		require.NoError(t, readInto(b, data, length, way))
		require.Equal(t, string(data), string(b.bytes))
		if size <= bufferBytes/2 {
			require.Zero(t, budget.Taken())
		}
		b.free()
		b.free()
		require.Zero(t, budget.Taken())
	})
}

func TestBodiesAreBounded(t *testing.T) {
	budget := memory.NewBudget(1 << 30)
	zeros := func(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }
	read := func(n, length int64) error {
		b := &body{budget: budget, bytesMax: bodyBytesMax, readMax: time.Minute}
		defer b.free()
		return readInto(b, nil, length, func(io.Reader) io.Reader { return zeros(n) })
	}
	require.NoError(t, read(bodyBytesMax, bodyBytesMax))
	require.NoError(t, read(bodyBytesMax, -1))
	for _, err := range []error{read(bodyBytesMax+1, bodyBytesMax+1), read(bodyBytesMax+1, -1), read(0, 1<<62)} {
		var refused *httpError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, http.StatusRequestEntityTooLarge, refused.status)
	}
	assert.Zero(t, budget.Taken())
	budget = memory.NewBudget(100_000)
	require.NoError(t, read(90_000, 90_000))
	require.ErrorContains(t, read(100_000, 100_000), "the memory for calls is used up")
	require.ErrorContains(t, read(100_000, -1), "the memory for calls is used up")
	require.NoError(t, read(40_000, -1))
	assert.Zero(t, budget.Taken(), "the budget of a refused body is returned")
	require.ErrorContains(t, readInto(&body{budget: budget, bytesMax: bodyBytesMax, readMax: time.Minute}, nil, -1, func(io.Reader) io.Reader {
		return iotest.ErrReader(errors.New("the client is gone"))
	}), "the client is gone")
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestAnOversizedBodyIsRefusedAndTheServerLivesOn(t *testing.T) {
	a := serve(t, &fakeQueue{}, Options{})
	for _, chunked := range []bool{false, true} {
		in := a.request(http.MethodPost, "/v1/tasks:enqueue", `{"tenant":"`+strings.Repeat("x", bodyBytesMax)+`"}`)
		if chunked {
			in.ContentLength = -1
			in.Body = io.NopCloser(io.MultiReader(in.Body)) // so that its length is not known
		}
		got := a.do(in)
		assert.Equal(t, http.StatusRequestEntityTooLarge, got.status)
		assert.Contains(t, got.Message, "send fewer or smaller tasks")
		assert.Equal(t, http.StatusOK, a.post("/v1/tasks:enqueue", "{}").status)
	}
	a.handler.bodies = memory.NewBudget(10_000)
	got := a.post("/v1/tasks:enqueue", `{"tenant":"`+strings.Repeat("x", 20_000)+`"}`)
	assert.Equal(t, http.StatusTooManyRequests, got.status)
	assert.Equal(t, "1", got.header.Get("Retry-After"))
	assert.Zero(t, a.handler.bodies.Taken())
}

// A message does not share memory with the body, whose buffer serves the next call.
func TestAMessageHasCopiesOfItsBody(t *testing.T) {
	payload := bytes.Repeat([]byte("payload!"), 100)
	in, err := json.Marshal(map[string]any{"tenant": "tenant", "tasks": []map[string]any{{
		"queue": "queue", "payload": base64.StdEncoding.EncodeToString(payload), "idempotency_key": "a\\u0062c",
	}}})
	require.NoError(t, err)
	b := &body{budget: memory.NewBudget(1 << 20), bytesMax: bodyBytesMax, readMax: time.Minute, itemsMax: itemsMax}
	require.NoError(t, readInto(b, in, -1, func(r io.Reader) io.Reader { return r }))
	buffer := b.bytes
	var m queuepb.EnqueueRequest
	require.NoError(t, b.decode(&m))
	assert.Nil(t, b.bytes, "the buffer is free once the message is decoded, since a claim may wait long")
	for i := range buffer {
		buffer[i] = 'X'
	}
	assert.Equal(t, "tenant", m.GetTenant())
	assert.Equal(t, "queue", m.GetTasks()[0].GetQueue())
	assert.Equal(t, payload, m.GetTasks()[0].GetPayload())
}

func TestAnswersHaveAllFieldsByTheirSchemaNames(t *testing.T) {
	a := serve(t, &fakeQueue{claim: func(_ context.Context, in *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
		if in.GetMaxTasks() == 0 {
			return &queuepb.ClaimResponse{PausedQueues: []string{"a", "b"}}, nil
		}
		return &queuepb.ClaimResponse{Tasks: []*queuepb.Task{{
			Id: "i", Queue: "q", Payload: []byte{0, 255}, Token: 1 << 63, EnqueuedAtMs: -1, Attempt: 1, State: queuepb.TaskState_TASK_STATE_LEASED,
		}}}, nil
	}}, Options{})
	assert.JSONEq(t, `{"tasks":[],"results":[],"paused_queues":["a","b"],"quota":""}`, a.post("/v1/tasks:claim", `{}`).text)
	for _, name := range []string{"max_tasks", "maxTasks"} {
		assert.JSONEq(t, `{"tasks":[{"id":"i","tenant":"","queue":"q","priority":0,"payload":"AP8=","attempt":1,"max_attempts":0,
			"token":"9223372036854775808","lease_expires_at_ms":"0","enqueued_at_ms":"-1","state":"TASK_STATE_LEASED","due_at_ms":"0",
			"last_error":"","expires_at_ms":"0","headers":{},"waiting_for":0}],"results":[],"paused_queues":[],"quota":""}`, a.post("/v1/tasks:claim", `{"`+name+`":1,"wait_ms":"5","lease_ms":5}`).text)
	}
}
