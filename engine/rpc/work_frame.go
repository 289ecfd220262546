package rpc

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/wire"
)

// taskEncoder encodes leased tasks as elements of a WorkResponse, directly from the shard's
// deliveries. For successive tasks of one queue, it encodes the common fields once. The result has
// the same bytes as the encoding of a message Task with the same values.
type taskEncoder struct {
	ids    queue.IDTexts
	queue  *queue.Queue // the queue of the fields in common
	common []byte       // the encoded fields tenant and queue
	head   []byte       // reused buffer
}

func (e *taskEncoder) add(f *wire.Frame, shard uint16, d *queue.Delivery) {
	if e.queue != d.Queue {
		e.queue = d.Queue
		e.common = appendText(e.common[:0], taskTenant, d.Queue.Tenant())
		e.common = appendText(e.common, taskQueue, d.Queue.Name())
	}
	b := append(e.head[:0], byte(taskID<<3|protowire.Number(protowire.BytesType)), queue.IDLen)
	b = e.ids.Append(b, queue.ID{Shard: shard, Ref: d.Ref})
	b = append(b, e.common...)
	b = appendUint(b, taskPriority, uint64(d.CurrentPriority()))
	// The payload is inserted at this position.
	before := len(b)
	b = appendUint(b, taskAttempt, uint64(d.Attempt))
	b = appendUint(b, taskMaxAttempts, uint64(d.MaxAttempts))
	b = appendUint(b, taskToken, d.Token)
	b = appendUint(b, taskLeaseExpiresAtMs, uint64(d.ExpiresAtMs))
	b = appendUint(b, taskEnqueuedAtMs, uint64(d.EnqueuedAtMs))
	b = appendUint(b, taskState, uint64(queuepb.TaskState_TASK_STATE_LEASED))
	b = appendText(b, taskLastError, d.LastError)
	if d.Extras != nil {
		b = appendUint(b, taskExpiresAtMs, uint64(d.Extras.ExpiresAtMs))
	}
	payload := d.Payload
	if d.HasHeaders {
		var headers queue.Headers
		headers, payload = d.Split()
		b = appendHeaders(b, headers)
	}
	e.head = b
	size := len(b)
	if len(payload) > 0 {
		size += 1 + protowire.SizeBytes(len(payload))
	}
	f.Open(wire.WorkResponseTasks, size)
	f.Encoded(b[:before])
	if len(payload) > 0 {
		f.Bytes(taskPayload, payload)
	}
	f.Encoded(b[before:])
}

// The fields of a Task. All have a tag of one byte.
const (
	taskID               protowire.Number = 1
	taskTenant           protowire.Number = 2
	taskQueue            protowire.Number = 3
	taskPriority         protowire.Number = 4
	taskPayload          protowire.Number = 5
	taskAttempt          protowire.Number = 6
	taskMaxAttempts      protowire.Number = 7
	taskToken            protowire.Number = 8
	taskLeaseExpiresAtMs protowire.Number = 9
	taskEnqueuedAtMs     protowire.Number = 10
	taskState            protowire.Number = 11
	taskLastError        protowire.Number = 13
	taskExpiresAtMs      protowire.Number = 14
	taskHeaders          protowire.Number = 15
)

// appendHeaders appends the entries of a task's map of headers. The generated code, like this one,
// encodes the key and the value of an entry even if they are empty.
func appendHeaders(b []byte, headers queue.Headers) []byte {
	const key, value protowire.Number = 1, 2
	for k, v := range headers.All() {
		size := 1 + protowire.SizeBytes(len(k)) + 1 + protowire.SizeBytes(len(v))
		b = protowire.AppendVarint(append(b, byte(taskHeaders<<3|protowire.Number(protowire.BytesType))), uint64(size))
		b = protowire.AppendBytes(append(b, byte(key<<3|protowire.Number(protowire.BytesType))), k)
		b = protowire.AppendBytes(append(b, byte(value<<3|protowire.Number(protowire.BytesType))), v)
	}
	return b
}

// appendUint appends an integer field with a tag of one byte, unless it is 0.
func appendUint(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(append(b, byte(field<<3|protowire.Number(protowire.VarintType))), v)
}

// appendText appends a text field with a tag of one byte, unless it is empty.
func appendText(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(append(b, byte(field<<3|protowire.Number(protowire.BytesType))), s)
}

// encodeIDs encodes the answer to a frame as an element of a ProduceResponse. All tasks of the
// frame must have been accepted, without duplicates.
func encodeIDs(f *wire.Frame, number uint64, accepted []queue.Enqueued) {
	var ids queue.IDTexts
	var head [1 + 10]byte
	frame := appendUint(head[:0], enqueueAnswerFrame, number)
	f.Open(wire.ProduceResponseAnswers, len(frame)+len(accepted)*(2+queue.IDLen))
	f.Encoded(frame)
	var text [2 + queue.IDLen]byte
	text[0], text[1] = byte(enqueueAnswerIDs<<3|protowire.Number(protowire.BytesType)), queue.IDLen
	for i := range accepted {
		ids.Append(text[:2], queue.ID{Shard: accepted[i].Shard, Ref: accepted[i].Ref})
		f.Encoded(text[:])
	}
}

// The fields of an EnqueueAnswer.
const (
	enqueueAnswerFrame protowire.Number = 1
	enqueueAnswerIDs   protowire.Number = 2
)
