package wire

import (
	"slices"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Message is a message of the queue service with generated code to encode itself.
type Message interface {
	SizeVT() int
	MarshalToSizedBufferVT(into []byte) (int, error)
}

// Frame is a message that its sender encodes field by field, without building the message in memory. Send it with SendMsg on a stream with
// this package's codec: sending takes the encoded bytes and leaves the frame empty for the next message. The zero value is an empty
// frame. A Frame is not safe for concurrent use.
type Frame struct {
	handle *[]byte // from the pool; nil while the frame is empty
	bytes  []byte  // the encoded fields, in *handle or in a larger slice
}

// Expect makes room for about n more bytes.
func (f *Frame) Expect(n int) {
	if len(f.bytes) == 0 && f.handle == nil {
		f.handle = pool.Get(n)
		f.bytes = (*f.handle)[:0]
		return
	}
	f.bytes = slices.Grow(f.bytes, n)
}

// Uint adds an integer field.
func (f *Frame) Uint(field protowire.Number, v uint64) {
	f.bytes = protowire.AppendTag(f.bytes, field, protowire.VarintType)
	f.bytes = protowire.AppendVarint(f.bytes, v)
}

// Text adds a string field. The text must be UTF-8.
func (f *Frame) Text(field protowire.Number, s string) {
	f.bytes = protowire.AppendTag(f.bytes, field, protowire.BytesType)
	f.bytes = protowire.AppendString(f.bytes, s)
}

// Message adds a field that is a message, or one more element of such a field. Its texts must be UTF-8.
func (f *Frame) Message(field protowire.Number, m Message) error {
	n := m.SizeVT()
	f.bytes = protowire.AppendTag(f.bytes, field, protowire.BytesType)
	f.bytes = protowire.AppendVarint(f.bytes, uint64(n))
	end := len(f.bytes) + n
	f.bytes = slices.Grow(f.bytes, n)[:end]
	_, err := m.MarshalToSizedBufferVT(f.bytes[end-n:])
	return err
}

// take returns the encoded bytes, and leaves the frame empty.
func (f *Frame) take() mem.BufferSlice {
	handle := f.handle
	if handle == nil {
		handle = new([]byte)
	}
	*handle = f.bytes
	f.handle, f.bytes = nil, nil
	return mem.BufferSlice{mem.NewBuffer(handle, pool)}
}
