package bare

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// The frames of a stream of producers are payloads from the client, and a kindEnqueued from the server for each of them. Those of a
// stream of workers are credits and completed tasks from the client, and kindTasks and kindCompleted from the server.
const (
	payloadBytes  = 64
	sequenceBytes = 8 // of a task's sequence number, which names it
	taskBytes     = sequenceBytes + payloadBytes
	creditBytes   = 4
	countBytes    = 4

	kindEnqueued  = 'a' // the sequence numbers of the tasks of one frame
	kindTasks     = 't' // delivered tasks: each a sequence number and a payload
	kindCompleted = 'c' // how many tasks were completed
)

var errFrame = errors.New("the frame has another length than its parts")

// frame is a message as gRPC sees it.
type frame struct{ bytes []byte }

// rawCodec sends frames as they are.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	f, is := v.(*frame)
	if !is {
		return nil, fmt.Errorf("%T is no frame", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(f.bytes)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	f, is := v.(*frame)
	if !is {
		return fmt.Errorf("%T is no frame", v)
	}
	f.bytes = data.Materialize()
	return nil
}

func (rawCodec) Name() string { return "raw" }

// workFrame is what a worker sends: how many more tasks it takes, and the sequence numbers of those that it has completed.
func workFrame(credits, completedMax int) []byte {
	return binary.LittleEndian.AppendUint32(make([]byte, 0, creditBytes+completedMax*sequenceBytes), uint32(credits))
}

// readWork splits a frame of a worker.
func readWork(f []byte) (credits int, completed []byte, err error) {
	if len(f) < creditBytes || (len(f)-creditBytes)%sequenceBytes != 0 {
		return 0, nil, errFrame
	}
	return int(binary.LittleEndian.Uint32(f)), f[creditBytes:], nil
}

// readReply splits a frame of the server that is to consist of parts of one length.
func readReply(f []byte, kind byte, partBytes int) (parts []byte, err error) {
	switch {
	case len(f) == 0 || f[0] != kind:
		return nil, fmt.Errorf("a frame of kind %q was expected and %.8q came", kind, f)
	case len(f) == 1 || (len(f)-1)%partBytes != 0:
		return nil, errFrame
	}
	return f[1:], nil
}
