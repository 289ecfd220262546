package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/pronybench/prony/engine/queuepb"
)

func fill(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		value := func() protoreflect.Value {
			n := uint64(field.Number()) << 33
			switch field.Kind() {
			case protoreflect.StringKind:
				return protoreflect.ValueOfString(string(field.Name()))
			case protoreflect.BytesKind:
				return protoreflect.ValueOfBytes([]byte(field.Name()))
			case protoreflect.Uint32Kind:
				return protoreflect.ValueOfUint32(uint32(n >> 32))
			case protoreflect.Uint64Kind:
				return protoreflect.ValueOfUint64(n)
			case protoreflect.Int64Kind:
				return protoreflect.ValueOfInt64(-int64(n))
			case protoreflect.BoolKind:
				return protoreflect.ValueOfBool(true)
			case protoreflect.EnumKind:
				return protoreflect.ValueOfEnum(2)
			default:
				panic(fmt.Sprint("a new kind of field: ", field.FullName()))
			}
		}
		switch {
		case field.IsMap():
			for _, key := range []string{"", "a", "key"} {
				m.Mutable(field).Map().Set(protoreflect.ValueOfString(key).MapKey(), protoreflect.ValueOfString(strings.Repeat(key, 100)))
			}
		case field.IsList() && field.Message() != nil:
			for range 2 {
				fill(m.Mutable(field).List().AppendMutable().Message())
			}
		case field.IsList():
			m.Mutable(field).List().Append(value())
			m.Mutable(field).List().Append(value())
		case field.Message() != nil:
			fill(m.Mutable(field).Message())
		default:
			m.Set(field, value())
		}
	}
}

// full returns the messages that the codec decodes, with every field set.
func full() (all []proto.Message) {
	for _, m := range messages() {
		fill(m.ProtoReflect())
		all = append(all, m)
	}
	return all
}

// TestEveryFieldIsDecodedWithoutHelp: a field of the schema that the decoders do not know would
// work, but slowly.
func TestEveryFieldIsDecodedWithoutHelp(t *testing.T) {
	for _, want := range full() {
		b, err := proto.Marshal(want)
		require.NoError(t, err)
		got := newLike(want)
		switch m := got.(type) {
		case *queuepb.ProduceRequest:
			require.True(t, decodeProduceRequest(b, m))
		case *queuepb.ProduceResponse:
			require.True(t, decodeProduceResponse(b, m))
		case *queuepb.WorkRequest:
			require.True(t, decodeWorkRequest(b, m))
		case *queuepb.WorkResponse:
			require.True(t, decodeWorkResponse(b, m))
		default:
			t.Fatalf("%T", got)
		}
		equal(t, want, got)
	}
}

// TestNumbersInListsMayStandAlone: an old encoder does not pack the numbers of a list.
func TestNumbersInListsMayStandAlone(t *testing.T) {
	var answer []byte
	for _, place := range []uint64{3, 1 << 31} {
		answer = protowire.AppendTag(answer, 4, protowire.VarintType)
		answer = protowire.AppendVarint(answer, place)
	}
	b := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), answer)
	var m queuepb.ProduceResponse
	require.True(t, decodeProduceResponse(b, &m))
	assert.Equal(t, []uint32{3, 1 << 31}, m.GetAnswers()[0].GetDuplicates())
}

// TestAFieldSetTwiceHasItsLastValue also checks that messages set twice are merged, as the encoding
// requires.
func TestAFieldSetTwiceHasItsLastValue(t *testing.T) {
	for _, m := range full() {
		once, err := proto.Marshal(m)
		require.NoError(t, err)
		other := newLike(m)
		fill(other.ProtoReflect())
		same(t, append(once, once...), m)
	}
	task := &queuepb.NewTask{Queue: "a", Priority: 1, Backoff: &queuepb.Backoff{InitialMs: 1, MaxMs: 2}}
	again := &queuepb.NewTask{Queue: "b", Backoff: &queuepb.Backoff{MaxMs: 3}}
	first, err := proto.Marshal(task)
	require.NoError(t, err)
	second, err := proto.Marshal(again)
	require.NoError(t, err)
	b := protowire.AppendBytes(protowire.AppendTag(nil, ProduceRequestTasks, protowire.BytesType), append(first, second...))
	var m queuepb.ProduceRequest
	require.True(t, decodeProduceRequest(b, &m))
	equal(t, &queuepb.NewTask{Queue: "b", Priority: 1, Backoff: &queuepb.Backoff{InitialMs: 1, MaxMs: 3}}, m.GetTasks()[0])
}

// TestFieldNumbers compares the constants with the schema.
func TestFieldNumbers(t *testing.T) {
	for name, number := range map[protoreflect.FullName]protowire.Number{
		"prony.queue.v1.ProduceRequest.tenant":   ProduceRequestTenant,
		"prony.queue.v1.ProduceRequest.frame":    ProduceRequestFrame,
		"prony.queue.v1.ProduceRequest.tasks":    ProduceRequestTasks,
		"prony.queue.v1.WorkRequest.credits":     WorkRequestCredits,
		"prony.queue.v1.WorkRequest.frame":       WorkRequestFrame,
		"prony.queue.v1.WorkRequest.settlements": WorkRequestSettlements,
		"prony.queue.v1.WorkResponse.cancelled":  WorkResponseCancelled,
	} {
		fields := newMessage(name.Parent()).ProtoReflect().Descriptor().Fields()
		assert.Equal(t, fields.ByName(name.Name()).Number(), number, name)
	}
}

// TestMemoryIsSharedInSmallGroups: retaining a part of a message must not retain all of it.
func TestMemoryIsSharedInSmallGroups(t *testing.T) {
	elements := make([]byte, 0, 1<<16)
	var ends []int
	for i := range 200 {
		elements = protowire.AppendTag(elements, 1, protowire.BytesType)
		elements = protowire.AppendBytes(elements, make([]byte, i*7%700))
		ends = append(ends, len(elements))
	}
	g := group{bytesMax: 512}
	seen := 0
	var last *byte
	for i := 0; i < len(elements); {
		_, v, next := read(elements, i)
		got := g.element(elements, next-int(v), next)
		assert.Equal(t, elements[next-int(v):next], got)
		assert.LessOrEqual(t, len(g.copied), max(512, int(v)))
		if len(g.copied) > 0 && &g.copied[0] != last {
			last = &g.copied[0]
			seen++
		}
		i = next
	}
	assert.Less(t, seen, len(ends)*9/10, "neighbours share memory")
}

// TestHeadersAreDecodedLikeAnyMap decodes valid and hostile entries of a map like protobuf's package.
func TestHeadersAreDecodedLikeAnyMap(t *testing.T) {
	for name, entry := range map[string][]byte{
		"empty":               {},
		"key only":            {0x0a, 1, 'k'},
		"value only":          {0x12, 1, 'v'},
		"value first":         {0x12, 1, 'v', 0x0a, 1, 'k'},
		"key twice":           {0x0a, 1, 'k', 0x0a, 1, 'l', 0x12, 1, 'v'},
		"unknown field":       {0x0a, 1, 'k', 0x12, 1, 'v', 0x18, 7},
		"length beyond":       {0x0a, 9, 'k'},
		"huge length":         {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 'k'},
		"endless length":      {0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"tag only":            {0x0a},
		"another type":        {0x08, 1, 0x12, 1, 'v'},
		"key is not UTF-8":    {0x0a, 1, 0xff},
		"value is not UTF-8":  {0x0a, 1, 'k', 0x12, 2, 'v', 0xff},
		"long tag":            {0x8a, 0x00, 1, 'k'},
		"an entry of no type": {0x0f, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for number, kind := range map[protowire.Number]proto.Message{12: &queuepb.ProduceRequest{}, 15: &queuepb.WorkResponse{}} {
				tasks := protowire.Number(3)
				if number == 15 {
					tasks = 1
				}
				first := protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), []byte("\x0a\x01a\x12\x01b"))
				task := protowire.AppendBytes(protowire.AppendTag(first, number, protowire.BytesType), entry)
				same(t, protowire.AppendBytes(protowire.AppendTag(nil, tasks, protowire.BytesType), task), kind)
			}
		})
	}
}
