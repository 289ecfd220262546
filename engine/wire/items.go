package wire

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/pronybench/prony/engine/queuepb"
)

// listShape describes which fields of a message are lists, and which fields are messages that
// contain lists.
type listShape struct {
	fields []*listField // by field number; nil if the field neither is nor contains a list
	lists  int          // number of lists in the whole tree of the message's fields
}

type listField struct {
	name   string     // path of the field
	list   int        // number of the list in the tree, or -1 if the field is not a list
	most   int        // maximum number of elements, as a multiple of the limit: 1, entriesMax for a map, or afterMax
	fixed  int        // size in bytes of an element in packed form; 0 for varints
	packed bool       // the list's elements may be packed into one field
	nested *listShape // shape of the message in the field; nil if the message contains no list
}

// entriesMax is the maximum number of entries in the maps of a message, as a multiple of the limit
// of list elements. It is the maximum number of headers of one task.
const entriesMax = 32

// afterMax is the maximum number of elements of NewTask.after in a message, as a multiple of the limit
// of list elements. It is the maximum number of dependencies of one task.
const afterMax = 100

var afterName = (&queuepb.NewTask{}).ProtoReflect().Descriptor().FullName() + ".after"

// shapes caches the *listShape of each message type that was received, by descriptor.
var shapes sync.Map

func shapeOf(d protoreflect.MessageDescriptor) *listShape {
	if known, ok := shapes.Load(d); ok {
		return known.(*listShape)
	}
	lists := 0
	s := newShape(d, "", &lists, map[protoreflect.FullName]bool{})
	if s == nil {
		s = &listShape{}
	}
	s.lists = lists
	known, _ := shapes.LoadOrStore(d, s)
	return known.(*listShape)
}

// newShape returns the shape of a message, or nil if the message contains no list. It ignores
// fields whose message type is being described already (recursive messages).
func newShape(d protoreflect.MessageDescriptor, path string, lists *int, above map[protoreflect.FullName]bool) *listShape {
	if above[d.FullName()] {
		return nil
	}
	above[d.FullName()] = true
	defer delete(above, d.FullName())
	s := &listShape{}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		field := &listField{name: path + string(f.Name()), list: -1}
		if f.Cardinality() == protoreflect.Repeated {
			field.list, field.most = *lists, 1
			switch {
			case f.IsMap():
				field.most = entriesMax
			case f.FullName() == afterName:
				field.most = afterMax
			}
			*lists++
			field.packed, field.fixed = packable(f.Kind())
		}
		if f.Message() != nil {
			field.nested = newShape(f.Message(), field.name+".", lists, above)
		}
		if field.list >= 0 || field.nested != nil {
			if missing := int(f.Number()) + 1 - len(s.fields); missing > 0 {
				s.fields = append(s.fields, make([]*listField, missing)...)
			}
			s.fields[f.Number()] = field
		}
	}
	if len(s.fields) == 0 {
		return nil
	}
	return s
}

// packable reports whether the elements of a list of this kind may be packed. fixed is the size of
// a packed element in bytes, or 0 if the size varies.
func packable(k protoreflect.Kind) (packed bool, fixed int) {
	switch k {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind, protoreflect.GroupKind:
		return false, 0
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return true, 4
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return true, 8
	}
	return true, 0
}

// checkItems returns an error if a list of an encoded message has more than itemsMax elements, a map
// more than entriesMax times as many, or NewTask.after more than afterMax times as many. It allocates
// no memory for the elements. It ignores malformed bytes, which the decoder rejects later.
func checkItems(b []byte, m proto.Message, itemsMax int) *TooManyError {
	if len(b) <= itemsMax { // an element has at least one byte
		return nil
	}
	s := shapeOf(m.ProtoReflect().Descriptor())
	if s.lists == 0 {
		return nil
	}
	var few [8]int
	counts := few[:]
	if s.lists > len(few) {
		counts = make([]int, s.lists)
	}
	over := s.count(b, counts, itemsMax)
	if over == nil {
		return nil
	}
	return &TooManyError{Field: over.name, Items: counts[over.list], ItemsMax: itemsMax * over.most}
}

// count adds the number of elements in each list of the message to counts. It returns the first
// list that it finds to have too many elements, or nil. After it has found such a list, it counts
// only the elements of this list.
func (s *listShape) count(b []byte, counts []int, itemsMax int) (over *listField) {
	for i := 0; i < len(b); {
		number, kind, value, next := fieldAt(b, i)
		if next < 0 {
			return over
		}
		i = next
		if int(number) >= len(s.fields) {
			continue
		}
		f := s.fields[number]
		if f == nil || over != nil && f != over {
			continue
		}
		if f.list >= 0 {
			counts[f.list] += f.elements(kind, value)
			if counts[f.list] > itemsMax*f.most {
				over = f
				continue
			}
		}
		if f.nested != nil && kind == protowire.BytesType {
			if o := f.nested.count(value, counts, itemsMax); o != nil {
				return o
			}
		}
	}
	return over
}

func (f *listField) elements(kind protowire.Type, value []byte) int {
	if kind != protowire.BytesType || !f.packed {
		return 1
	}
	if f.fixed > 0 {
		return len(value) / f.fixed
	}
	n := 0
	for _, c := range value {
		if c < 0x80 { // only the last byte of an integer is below 0x80
			n++
		}
	}
	return n
}

// fieldAt reads the field at b[i:]. value is set for a length-delimited field. next is the offset
// of the next field; it is negative if the field is invalid.
func fieldAt(b []byte, i int) (number protowire.Number, kind protowire.Type, value []byte, next int) {
	if tag := b[i]; tag&(typeBits|0x80) == bytesType { // numbers up to 15
		if n, at := varint(b, i+1); at >= 0 && n <= uint64(len(b)-at) {
			return protowire.Number(tag >> 3), protowire.BytesType, b[at : at+int(n)], at + int(n)
		}
		return 0, 0, nil, -1
	}
	number, kind, n := protowire.ConsumeTag(b[i:])
	if n < 0 {
		return 0, 0, nil, -1
	}
	i += n
	if kind == protowire.BytesType {
		value, n = protowire.ConsumeBytes(b[i:])
	} else {
		n = protowire.ConsumeFieldValue(number, kind, b[i:])
	}
	if n < 0 {
		return 0, 0, nil, -1
	}
	return number, kind, value, i + n
}
