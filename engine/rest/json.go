package rest

import (
	"errors"
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

// JSON returns the JSON of a message, in the form of all answers.
func JSON(m proto.Message) ([]byte, error) { return marshalOptions.Marshal(m) }

// marshaler is the JSON of answers, without the copies that the gateway's own makes.
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

// Unmarshal implements runtime.Marshaler. The gateway serves no call with a body.
func (marshaler) Unmarshal([]byte, any) error { return errNoBody }

// NewDecoder implements runtime.Marshaler, as Unmarshal does.
func (marshaler) NewDecoder(io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(any) error { return errNoBody })
}

var errNoBody = errors.New("the gateway decodes no bodies")

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
