package rest

import (
	"bytes"
	"fmt"
	"io"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// The fields have the names of the .proto files, and an answer has them all: who reads it need not know which
// values are left out.
var (
	marshalOptions   = protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}
	unmarshalOptions = protojson.UnmarshalOptions{}
)

// marshaler is the JSON of messages: strict, and without the copies that the gateway's own makes.
type marshaler struct{}

var _ runtime.Marshaler = marshaler{}

// ContentType implements runtime.Marshaler.
func (marshaler) ContentType(any) string { return jsonType }

// Marshal implements runtime.Marshaler.
func (marshaler) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a message", v)
	}
	return marshalOptions.MarshalAppend(nil, m)
}

// Unmarshal implements runtime.Marshaler.
func (marshaler) Unmarshal(data []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a message", v)
	}
	return unmarshalOptions.Unmarshal(data, m)
}

// NewDecoder implements runtime.Marshaler. It decodes one message, which is all that r has.
func (j marshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		b, ok := r.(*body)
		if !ok {
			return fmt.Errorf("%T is not a body that was read", r)
		}
		if len(bytes.TrimSpace(b.bytes)) == 0 {
			return io.EOF // the empty message
		}
		if b.err = checkItems(b.bytes, b.itemsMax); b.err != nil {
			return b.err
		}
		if b.err = b.decodes(); b.err != nil {
			return b.err
		}
		if err := j.Unmarshal(b.bytes, v); err != nil {
			b.err = jsonError(b.bytes, err)
			return b.err
		}
		b.release()
		return nil
	})
}

// NewEncoder implements runtime.Marshaler.
func (j marshaler) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		data, err := j.Marshal(v)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
}
