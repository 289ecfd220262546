package wire

import (
	"slices"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pronybench/prony/engine/queuepb"
)

// Message is a message of the queue service with generated encoding methods.
type Message interface {
	SizeVT() int
	MarshalToSizedBufferVT(into []byte) (int, error)
}

// Frame is a message that its sender encodes field by field, without building the message in
// memory. It is sent with SendMsg on a stream that uses this package's codec. After it is sent, the
// frame is empty and can be used for the next message. The zero value is an empty frame. A Frame is
// not safe for concurrent use.
type Frame struct {
	// Refused contains the errors of the items that the message refuses. It is not sent, and is
	// only read by code that counts refusals.
	Refused []*queuepb.ItemError

	handle *[]byte // from the pool; nil for an empty frame
	bytes  []byte  // the encoded fields, in *handle or in a larger slice
}

// Expect allocates room for about n more bytes.
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

// Message adds a message field, or one element of a repeated message field. Its strings must be
// UTF-8.
func (f *Frame) Message(field protowire.Number, m Message) error {
	n := m.SizeVT()
	f.bytes = protowire.AppendTag(f.bytes, field, protowire.BytesType)
	f.bytes = protowire.AppendVarint(f.bytes, uint64(n))
	end := len(f.bytes) + n
	f.bytes = slices.Grow(f.bytes, n)[:end]
	_, err := m.MarshalToSizedBufferVT(f.bytes[end-n:])
	return err
}

// Open adds the tag and the length of a message field. The caller must then add the fields of that
// message, with a total of size bytes.
func (f *Frame) Open(field protowire.Number, size int) {
	f.bytes = protowire.AppendTag(f.bytes, field, protowire.BytesType)
	f.bytes = protowire.AppendVarint(f.bytes, uint64(size))
}

// Bytes adds a bytes field.
func (f *Frame) Bytes(field protowire.Number, b []byte) {
	f.bytes = protowire.AppendTag(f.bytes, field, protowire.BytesType)
	f.bytes = protowire.AppendBytes(f.bytes, b)
}

// Encoded adds fields that are already encoded.
func (f *Frame) Encoded(fields []byte) { f.bytes = append(f.bytes, fields...) }

// Settlement adds a settlement to a WorkRequest. id must be UTF-8. rest contains the remaining
// fields, encoded.
func (f *Frame) Settlement(id string, token uint64, rest []byte) {
	size := len(rest)
	if id != "" {
		size += 1 + protowire.SizeBytes(len(id))
	}
	if token != 0 {
		size += 1 + protowire.SizeVarint(token)
	}
	f.Open(WorkRequestSettlements, size)
	if id != "" {
		f.Text(settlementID, id)
	}
	if token != 0 {
		f.Uint(settlementToken, token)
	}
	f.Encoded(rest)
}

// Len returns the number of bytes encoded so far.
func (f *Frame) Len() int { return len(f.bytes) }

func (f *Frame) take() mem.BufferSlice {
	handle := f.handle
	if handle == nil {
		handle = new([]byte)
	}
	*handle = f.bytes
	f.handle, f.bytes, f.Refused = nil, nil, nil
	return mem.BufferSlice{mem.NewBuffer(handle, pool)}
}
