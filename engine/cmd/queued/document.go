package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// document is a message as JSON for scripts: the schema's own names; every field, also where it is empty, save for
// messages and optional fields that are absent; numbers as numbers, except fencing tokens, which are strings because
// some readers of JSON round large numbers; enums as short words ("ready"); bytes in base64.
func document(m proto.Message) any { return object(m.ProtoReflect()) }

// member is one member of a JSON object.
type member struct {
	name  string
	value any
}

// members is a JSON object that keeps its order.
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

func object(m protoreflect.Message) members {
	fields := m.Descriptor().Fields()
	out := make(members, 0, fields.Len())
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.HasPresence() && !m.Has(f) {
			continue
		}
		out = append(out, member{string(f.Name()), fieldValue(f, m.Get(f))})
	}
	return out
}

func fieldValue(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	if !f.IsList() {
		return single(f, v)
	}
	list := v.List()
	out := make([]any, list.Len())
	for i := range out {
		out[i] = single(f, list.Get(i))
	}
	return out
}

func single(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return object(v.Message())
	case protoreflect.EnumKind:
		return enumWord(f.Enum(), v.Enum())
	case protoreflect.BytesKind:
		return base64.StdEncoding.EncodeToString(v.Bytes())
	case protoreflect.Uint64Kind:
		if f.Name() == "token" {
			return v.String()
		}
	case protoreflect.DoubleKind:
		if n := v.Float(); math.IsNaN(n) || math.IsInf(n, 0) { // JSON has no word for it
			return nil
		}
	default:
	}
	return v.Interface()
}

// enumWord is an enum's value without the enum's name before it, in lower case; "" where it is not specified.
func enumWord(e protoreflect.EnumDescriptor, n protoreflect.EnumNumber) string {
	v := e.Values().ByNumber(n)
	if v == nil {
		return "unknown"
	}
	if n == 0 {
		return ""
	}
	prefix := strings.ToUpper(snake(string(e.Name()))) + "_"
	return strings.ToLower(strings.TrimPrefix(string(v.Name()), prefix))
}

// word is enumWord of a value.
func word(e protoreflect.Enum) string { return enumWord(e.Descriptor(), e.Number()) }
