package jobs

import "encoding/json"

// Codec encodes the arguments of jobs as payloads. It must be safe for concurrent use.
type Codec interface {
	Encode(args any) ([]byte, error)
	// Decode decodes a payload into args, which is a pointer.
	Decode(payload []byte, args any) error
}

// JSON is the codec of kinds without the option Encoding. It uses package encoding/json.
var JSON Codec = jsonCodec{}

type jsonCodec struct{}

func (jsonCodec) Encode(args any) ([]byte, error)       { return json.Marshal(args) }
func (jsonCodec) Decode(payload []byte, args any) error { return json.Unmarshal(payload, args) }
