package main

import (
	"bytes"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/pronybench/prony/engine/rest"
)

// document is a message in the JSON form of REST answers: the field names of the schema; every
// field, even if empty, except for absent messages and optional fields; 64-bit numbers as strings;
// enums by their full names; bytes in base64.
func document(m proto.Message) any { return message{m} }

type message struct{ proto.Message }

// MarshalJSON implements json.Marshaler.
func (m message) MarshalJSON() ([]byte, error) { return rest.JSON(m.Message) }

type member struct {
	name  string
	value any
}

// members is a JSON object with a fixed order of members.
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

// word returns an enum's value in lower case, without the enum's name as prefix; "" if unspecified.
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
