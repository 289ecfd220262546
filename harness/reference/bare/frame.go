package bare

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// On a stream of producers the client sends payloads, and the server answers each frame with a
// frame of kind kindEnqueued. On a stream of workers the client sends credits and completed tasks,
// and the server sends frames of the kinds kindTasks and kindCompleted.
const (
	payloadBytes  = 64
	sequenceBytes = 8 // size of a sequence number, which identifies a task
	taskBytes     = sequenceBytes + payloadBytes
	creditBytes   = 4
	countBytes    = 4

	kindEnqueued  = 'a' // contains the sequence numbers of the tasks in one frame
	kindTasks     = 't' // contains delivered tasks, each with a sequence number and a payload
	kindCompleted = 'c' // contains the number of completed tasks
)

var errFrame = errors.New("the frame's length does not match its parts")

// frame is a gRPC message.
type frame struct{ bytes []byte }

// rawCodec sends and receives frames unchanged.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	f, is := v.(*frame)
	if !is {
		return nil, fmt.Errorf("%T is not a frame", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(f.bytes)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	f, is := v.(*frame)
	if !is {
		return fmt.Errorf("%T is not a frame", v)
	}
	f.bytes = data.Materialize()
	return nil
}

func (rawCodec) Name() string { return "raw" }

// workFrame returns a frame of a worker that contains the number of its new credits. The slice has
// room for the sequence numbers of completedMax completed tasks.
func workFrame(credits, completedMax int) []byte {
	return binary.LittleEndian.AppendUint32(make([]byte, 0, creditBytes+completedMax*sequenceBytes), uint32(credits))
}

func readWork(f []byte) (credits int, completed []byte, err error) {
	if len(f) < creditBytes || (len(f)-creditBytes)%sequenceBytes != 0 {
		return 0, nil, errFrame
	}
	return int(binary.LittleEndian.Uint32(f)), f[creditBytes:], nil
}

// readReply returns the content of a frame from the server. The content must consist of parts of
// partBytes bytes.
func readReply(f []byte, kind byte, partBytes int) (parts []byte, err error) {
	switch {
	case len(f) == 0 || f[0] != kind:
		return nil, fmt.Errorf("expected a frame of kind %q, got %.8q", kind, f)
	case len(f) == 1 || (len(f)-1)%partBytes != 0:
		return nil, errFrame
	}
	return f[1:], nil
}
