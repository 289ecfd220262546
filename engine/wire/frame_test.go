package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queuepb"
)

// TestAFrameIsTheMessageItStandsFor compares a frame with the message, and requires that the frame
// is empty after it was sent.
func TestAFrameIsTheMessageItStandsFor(t *testing.T) {
	var f Frame
	rapid.Check(t, func(r *rapid.T) {
		want := &queuepb.ProduceRequest{}
		draw(r, want.ProtoReflect())
		if rapid.Bool().Draw(r, "expect") {
			f.Expect(rapid.IntRange(0, 8_000).Draw(r, "bytes"))
		}
		if want.Tenant != "" {
			f.Text(ProduceRequestTenant, want.GetTenant())
		}
		f.Uint(ProduceRequestFrame, want.GetFrame())
		for i, task := range want.GetTasks() {
			if i == 1 {
				f.Expect(10_000)
			}
			require.NoError(r, f.Message(ProduceRequestTasks, task))
		}
		out, err := Codec().Marshal(&f)
		require.NoError(r, err)
		got := &queuepb.ProduceRequest{}
		require.NoError(r, Codec().Unmarshal(out, got))
		out.Free()
		equal(r, want, got)
	})
	out, err := Codec().Marshal(&f)
	require.NoError(t, err)
	assert.Zero(t, out.Len())
}

// TestASettlementIsTheMessageItStandsFor compares the encodings byte for byte.
func TestASettlementIsTheMessageItStandsFor(t *testing.T) {
	var f Frame
	rapid.Check(t, func(r *rapid.T) {
		want := &queuepb.WorkRequest{}
		for range rapid.IntRange(0, 3).Draw(r, "settlements") {
			m := &queuepb.Settlement{}
			draw(r, m.ProtoReflect())
			want.Settlements = append(want.Settlements, m)
			rest, ok := proto.Clone(m).(*queuepb.Settlement)
			require.True(r, ok)
			rest.Id, rest.Token = "", 0
			b, err := rest.MarshalVT()
			require.NoError(r, err)
			f.Settlement(m.GetId(), m.GetToken(), b)
		}
		b, err := want.MarshalVT()
		require.NoError(r, err)
		out, err := Codec().Marshal(&f)
		require.NoError(r, err)
		require.Equal(r, string(b), string(out.Materialize()))
		out.Free()
	})
}

func TestBuffersHaveTheLengthThatWasAskedFor(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(0, 5_000), rapid.SampledFrom([]int{1 << 10, 1<<10 + 1, 1 << 22, 1<<22 + 1})).Draw(r, "length")
		b := Buffers().Get(n)
		require.Len(r, *b, n)
		if n <= 1<<bufferBitsMax {
			require.LessOrEqual(r, cap(*b), max(1<<bufferBitsMin, 2*n), "at most twice the requested length")
		}
		*b = (*b)[:rapid.IntRange(0, n).Draw(r, "used")]
		Buffers().Put(b)
	})
	odd := make([]byte, 3_000)
	Buffers().Put(&odd)
	for range 10 {
		require.NotEqual(t, 3_000, cap(*Buffers().Get(3_000)), "a buffer of another size is not retained")
	}
}
