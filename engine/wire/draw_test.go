package wire

import (
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queuepb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// messages returns the messages that the codec decodes.
func messages() []proto.Message {
	return []proto.Message{&queuepb.ProduceRequest{}, &queuepb.ProduceResponse{}, &queuepb.WorkRequest{}, &queuepb.WorkResponse{}}
}

func allMessages() (all []proto.Message) {
	list := queuepb.File_prony_queue_v1_queue_proto.Messages()
	for i := range list.Len() {
		all = append(all, newMessage(list.Get(i).FullName()))
	}
	return all
}

func draw(t *rapid.T, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		switch {
		case field.IsList():
			for range rapid.IntRange(0, 3).Draw(t, "elements") {
				list := m.Mutable(field).List()
				if field.Message() == nil {
					list.Append(drawValue(t, field))
					continue
				}
				draw(t, list.AppendMutable().Message())
			}
		case field.IsMap():
			for range rapid.IntRange(0, 3).Draw(t, "entries") {
				key := drawValue(t, field.MapKey()).MapKey()
				m.Mutable(field).Map().Set(key, drawValue(t, field.MapValue()))
			}
		case !rapid.Bool().Draw(t, "set"):
		case field.Message() != nil:
			draw(t, m.Mutable(field).Message())
		default:
			m.Set(field, drawValue(t, field))
		}
	}
}

func drawValue(t *rapid.T, field protoreflect.FieldDescriptor) protoreflect.Value {
	switch field.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(rapid.OneOf(rapid.StringN(0, 40, 200), rapid.StringN(300, 300, -1)).Draw(t, "text"))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(rapid.SliceOfN(rapid.Byte(), 0, rapid.SampledFrom([]int{0, 64, 6_000}).Draw(t, "at most")).Draw(t, "bytes"))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(rapid.Uint32().Draw(t, "uint32"))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(rapid.Uint64().Draw(t, "uint64"))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64().Draw(t, "int64"))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(t, "bool"))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rapid.Int32().Draw(t, "enum")))
	default:
		panic(field.Kind())
	}
}

// encoded returns a message as a connection passes it to the codec: in pieces, in buffers that are
// reused afterwards. The function overwrites them.
func encoded(b []byte, pieces int) (mem.BufferSlice, func()) {
	b = append([]byte(nil), b...)
	var out mem.BufferSlice
	for i := range pieces {
		out = append(out, mem.SliceBuffer(b[i*len(b)/pieces:(i+1)*len(b)/pieces]))
	}
	return out, func() {
		for i := range b {
			b[i] = 0xee
		}
	}
}

// decode decodes with the codec and then overwrites the encoded bytes.
func decode(b []byte, into proto.Message) error {
	data, overwrite := encoded(b, 1)
	defer overwrite()
	return Codec().Unmarshal(data, into)
}
