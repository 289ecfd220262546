package wire

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/pronybench/prony/engine/queuepb"
)

// codec encodes and decodes the messages of the hot path ("hot messages"), and delegates the others
// to gRPC's codec.
type codec struct{ encoding.CodecV2 }

// Codec returns the codec, for grpc.ForceServerCodecV2 and grpc.ForceCodecV2. It is safe for
// concurrent use.
//
// A decoded message belongs to the receiver, with two exceptions. First, decoding into the same
// message again may reuse the elements of its lists, except for the tasks of a WorkResponse.
// Second, the tasks of one message share memory in small groups. A receiver that retains one task
// of a WorkResponse also retains up to 8 KiB of the task's neighbours; for a payload of a
// ProduceRequest it is up to 512 bytes.
//
// A message that is received into an Incoming is decoded only if it obeys the limits of the
// Incoming.
//
// The codec does not check that the strings of a response are UTF-8, because the server sends no
// other strings.
func Codec() encoding.CodecV2 { return codec{encoding.GetCodecV2(proto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case *Frame:
		return m.take(), nil
	case *Outgoing:
		return c.send(m)
	case *queuepb.ProduceResponse:
		return marshal(m)
	case *queuepb.WorkResponse:
		return marshal(m)
	case *queuepb.EnqueueResponse:
		return marshal(m)
	case *queuepb.ClaimResponse:
		return marshal(m)
	case *queuepb.CompleteResponse:
		return marshal(m)
	}
	return c.CodecV2.Marshal(v)
}

func marshal(m Message) (mem.BufferSlice, error) {
	b := pool.Get(m.SizeVT())
	if _, err := m.MarshalToSizedBufferVT(*b); err != nil {
		pool.Put(b)
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(b, pool)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if in, ok := v.(*Incoming); ok {
		return c.receive(data, in)
	}
	if !isHot(v) {
		return c.CodecV2.Unmarshal(data, v)
	}
	buffer := data.MaterializeToBuffer(pool)
	defer buffer.Free()
	if decodeHot(buffer.ReadOnlyData(), v) {
		return nil
	}
	// A field is unknown or malformed, or has an unexpected type. gRPC's codec decodes or rejects
	// the message.
	return c.CodecV2.Unmarshal(data, v)
}

func isHot(v any) bool {
	switch v.(type) {
	case *queuepb.ProduceRequest, *queuepb.ProduceResponse, *queuepb.WorkRequest, *queuepb.WorkResponse:
		return true
	}
	return false
}

// decodeHot decodes a hot message. It returns false for any other message, and for a hot message
// with fields that it cannot decode.
func decodeHot(b []byte, v any) bool {
	switch m := v.(type) {
	case *queuepb.ProduceRequest:
		return decodeProduceRequest(b, m)
	case *queuepb.ProduceResponse:
		return decodeProduceResponse(b, m)
	case *queuepb.WorkRequest:
		return decodeWorkRequest(b, m)
	case *queuepb.WorkResponse:
		return decodeWorkResponse(b, m)
	}
	return false
}
