package rest

import (
	"errors"
	"fmt"
	"io"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// The JSON fields have the same names as in the .proto files. Answers contain all fields, so that a
// reader need not know the defaults.
var (
	marshalOptions   = protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}
	unmarshalOptions = protojson.UnmarshalOptions{}
)

// JSON returns a message in the JSON form of REST answers.
func JSON(m proto.Message) ([]byte, error) { return marshalOptions.Marshal(m) }

// marshaler writes answers as JSON. It avoids the copies that the gateway's own marshaler makes.
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

// Unmarshal implements runtime.Marshaler. It always fails, since the gateway serves only calls
// without a body.
func (marshaler) Unmarshal([]byte, any) error { return errNoBody }

// NewDecoder implements runtime.Marshaler. The decoder always fails, as Unmarshal does.
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
