package wire

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// listLengths counts the elements of each list of a decoded message, by the path to the list.
func listLengths(m protoreflect.Message, path string, into map[string]int) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := path + string(f.Name())
		switch {
		case f.IsList():
			into[name] += v.List().Len()
			for i := range v.List().Len() {
				if f.Message() != nil {
					listLengths(v.List().Get(i).Message(), name+".", into)
				}
			}
		case f.IsMap():
			into[name] += v.Map().Len()
		case f.Message() != nil:
			listLengths(v.Message(), name+".", into)
		}
		return true
	})
}

// most returns how many times the limit of items a list or map may contain.
func most(name string) int {
	switch {
	case strings.HasSuffix(name, "headers"):
		return entriesMax
	case strings.HasSuffix(name, "after"):
		return afterMax
	}
	return 1
}

func TestListsAreCountedAsTheyAreDecoded(t *testing.T) {
	for _, kind := range allMessages() {
		t.Run(string(kind.ProtoReflect().Descriptor().Name()), func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				want := newLike(kind)
				draw(r, want.ProtoReflect())
				b, err := proto.Marshal(want)
				require.NoError(r, err)
				// Singular messages are merged, lists are appended.
				if rapid.Bool().Draw(r, "twice") {
					b = append(b, b...)
				}
				decoded := newLike(kind)
				require.NoError(r, proto.Unmarshal(b, decoded))
				lengths := map[string]int{}
				listLengths(decoded.ProtoReflect(), "", lengths)
				itemsMax := rapid.IntRange(0, 6).Draw(r, "max")
				tooMany := false
				for name, n := range lengths {
					tooMany = tooMany || n > itemsMax*most(name)
				}
				over := checkItems(b, kind, itemsMax)
				require.Equal(r, tooMany, over != nil, "%v", lengths)
				if over == nil {
					return
				}
				require.Equal(r, itemsMax*most(over.Field), over.ItemsMax)
				require.Greater(r, lengths[over.Field], over.ItemsMax)
				require.Greater(r, over.Items, over.ItemsMax)
				if most(over.Field) != entriesMax { // the entries of a map that is set twice may replace each other
					require.LessOrEqual(r, over.Items, lengths[over.Field])
				}
			})
		})
	}
}

func TestCountingSurvivesAnyBytes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(r, "bytes")
		for _, m := range []proto.Message{&queuepb.ProduceRequest{}, &queuepb.WorkRequest{}, &queuepb.ClaimRequest{}, &adminpb.CreateTokenRequest{}} {
			_ = checkItems(b, m, 0)
		}
	})
}

// bomb returns an encoded message of the maximum size with as many minimal elements of one field as
// fit.
func bomb(number protowire.Number, packed bool) []byte {
	const bytes = 16 << 20
	if packed {
		b := protowire.AppendTag(nil, number, protowire.BytesType)
		return protowire.AppendBytes(b, make([]byte, bytes-8))
	}
	element := protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), nil)
	b := make([]byte, 0, bytes)
	for len(b)+len(element) <= bytes {
		b = append(b, element...)
	}
	return b
}

func TestTooManyItemsAreRefusedBeforeMemoryIsTakenForThem(t *testing.T) {
	open := bomb(2, false)
	for name, c := range map[string]struct {
		message proto.Message
		bytes   []byte
	}{
		"tasks":         {&queuepb.EnqueueRequest{}, bomb(2, false)},
		"tasks.headers": {&queuepb.EnqueueRequest{}, protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), bomb(12, false))},
		"tasks.after":   {&queuepb.EnqueueRequest{}, protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), bomb(14, false))},
		"completions":   {&queuepb.CompleteRequest{}, bomb(2, false)},
		"weights":       {&queuepb.ClaimRequest{}, bomb(6, true)},
		"settlements":   {&queuepb.WorkRequest{}, bomb(4, false)},
		"open.queues":   {&queuepb.WorkRequest{}, protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), open)},
		"open.weights":  {&queuepb.WorkRequest{}, protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), bomb(4, true))},
		"ids":           {&adminpb.CancelTasksRequest{}, bomb(2, false)},
		"scopes":        {&adminpb.CreateTokenRequest{}, bomb(2, true)},
	} {
		t.Run(name, func(t *testing.T) { requireRefusedCheaply(t, name, c.message, c.bytes) })
	}
	t.Run("produce", func(t *testing.T) { requireRefusedCheaply(t, "tasks", &queuepb.ProduceRequest{}, bomb(3, false)) })
}

func requireRefusedCheaply(t *testing.T, field string, m proto.Message, b []byte) {
	t.Helper()
	in := Incoming{Message: m, ItemsMax: 1_000}
	data := mem.BufferSlice{mem.SliceBuffer(b)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, Codec().Unmarshal(data, &in))
	runtime.ReadMemStats(&after)
	var over *TooManyError
	require.ErrorAs(t, in.Err, &over)
	assert.Equal(t, field, over.Field)
	assert.Contains(t, over.Error(), fmt.Sprintf("send at most %d in one call", 1_000*most(field)))
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

func TestAReservationIsMadeBeforeDecoding(t *testing.T) {
	b, err := proto.Marshal(&queuepb.EnqueueRequest{Tenant: "t0"})
	require.NoError(t, err)
	m := &queuepb.EnqueueRequest{}
	asked := 0
	in := Incoming{Message: m, ItemsMax: 1, Reserve: func(bytes int) error {
		asked = bytes
		return assert.AnError
	}}
	require.NoError(t, Codec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, &in))
	require.ErrorIs(t, in.Err, assert.AnError)
	assert.Equal(t, len(b), asked)
	assert.Empty(t, m.GetTenant())
	in.Reserve = nil
	require.NoError(t, Codec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, &in))
	require.NoError(t, in.Err)
	assert.Equal(t, "t0", m.GetTenant())
}
