package main

import (
	"bytes"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/pronybench/prony/engine/rest"
)

// document returns a message for output in the JSON form of REST answers. It has all fields of the
// schema with their names, even empty ones, except absent messages and optional fields. 64-bit
// numbers are strings, enums are their full names, and bytes are in base64.
func document(m proto.Message) any { return message{m} }

type message struct{ proto.Message }

// MarshalJSON implements json.Marshaler.
func (m message) MarshalJSON() ([]byte, error) { return rest.JSON(m.Message) }

type member struct {
	name  string
	value any
}

// members is a JSON object whose members have a fixed order.
type members []member

func (o members) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// word returns an enum's value in lower case, without the prefix of the enum's name. It returns ""
// if the value is unspecified.
func word(e protoreflect.Enum) string {
	d := e.Descriptor()
	v := d.Values().ByNumber(e.Number())
	if v == nil {
		return "unknown"
	}
	if e.Number() == 0 {
		return ""
	}
	prefix := strings.ToUpper(snake(string(d.Name()))) + "_"
	return strings.ToLower(strings.TrimPrefix(string(v.Name()), prefix))
}
