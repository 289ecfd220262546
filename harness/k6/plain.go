package k6

import (
	"strings"

	"github.com/grafana/sobek"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// plain converts a message to a JavaScript object. It has every field by its JSON name, including
// empty ones but not absent messages. Integers are numbers, enum values are words such as 'ready',
// bytes are an ArrayBuffer, and a map is an object.
func (i *instance) plain(m protoreflect.Message) *sobek.Object {
	o, fields := i.vu.Runtime().NewObject(), m.Descriptor().Fields()
	for n := range fields.Len() {
		f := fields.Get(n)
		if f.HasPresence() && !m.Has(f) {
			continue
		}
		i.set(o, f.JSONName(), i.fieldValue(f, m.Get(f)))
	}
	return o
}

// plains converts messages to a JavaScript array.
func plains[M proto.Message](i *instance, of []M) *sobek.Object {
	all := make([]any, len(of))
	for n, m := range of {
		all[n] = i.plain(m.ProtoReflect())
	}
	return i.vu.Runtime().NewArray(all...)
}

func (i *instance) fieldValue(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	if f.IsMap() {
		o := i.vu.Runtime().NewObject()
		for k, of := range v.Map().Range {
			i.set(o, k.String(), i.single(f.MapValue(), of))
		}
		return o
	}
	if !f.IsList() {
		return i.single(f, v)
	}
	all := make([]any, v.List().Len())
	for n := range all {
		all[n] = i.single(f, v.List().Get(n))
	}
	return i.vu.Runtime().NewArray(all...)
}

func (i *instance) single(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return i.plain(v.Message())
	case protoreflect.BytesKind:
		return i.vu.Runtime().NewArrayBuffer(v.Bytes())
	case protoreflect.EnumKind:
		e := f.Enum().Values()
		name := string(e.ByNumber(v.Enum()).Name())
		return strings.ToLower(strings.TrimPrefix(name, strings.TrimSuffix(string(e.ByNumber(0).Name()), "UNSPECIFIED")))
	}
	return v.Interface()
}
