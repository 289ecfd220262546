package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queuepb"
)

func part(number protowire.Number, value string) string {
	return string(protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), value))
}

func received(b string, m proto.Message) error {
	in := Incoming{Message: m, ItemsMax: 1_000}
	if err := Codec().Unmarshal(mem.BufferSlice{mem.SliceBuffer([]byte(b))}, &in); err != nil {
		return err
	}
	return in.Err
}

func TestWhyAMessageIsMalformed(t *testing.T) {
	enqueue, produce, work, claim := &queuepb.EnqueueRequest{}, &queuepb.ProduceRequest{}, &queuepb.WorkRequest{}, &queuepb.ClaimRequest{}
	task := part(2, part(1, "q"))
	for _, c := range []struct {
		name, bytes string
		into        proto.Message
		want        string
	}{
		{"no field", "\xff\xff\xff", enqueue, "the message is malformed: no field begins at byte 0 of the message"},
		{"no field in a task", task + part(2, "\xff\xff"), enqueue, "tasks[1]: is malformed: no field begins at byte 7 of the message"},
		{"cut in a task", task + "\x12\x09\x0a", enqueue, "tasks[1]: is malformed: the value at byte 6 of the message was cut off, or has no end"},
		{"cut in an unknown field", "\xfa\x07\x05", enqueue, "the message is malformed: the value at byte 2 of the message was cut off, or has no end"},
		{"a queue", task + part(2, part(1, "a\xff")), enqueue, `tasks[1].queue: "a\xff" is not valid UTF-8: it has the byte 0xff at offset 1`},
		{"a queue on a stream", part(3, part(1, "\xe4")), produce, `tasks[0].queue: "\xe4" is not valid UTF-8: it has the byte 0xe4 at offset 0`},
		{"a queue to work on", part(1, part(2, "a")+part(2, "b\xff")), work, `open.queues[1]: "b\xff" is not valid UTF-8: it has the byte 0xff at offset 1`},
		{"an error of a settlement", part(4, part(4, "\x80")), work, `settlements[0].error: "\x80" is not valid UTF-8: it has the byte 0x80 at offset 0`},
		{"a long text", part(2, strings.Repeat("q", 200)+"\xff"), claim, `queues[0]: "` + strings.Repeat("q", 64) + `" is not valid UTF-8: it has the byte 0xff at offset 200`},
	} {
		var malformed *MalformedError
		require.ErrorAs(t, received(c.bytes, c.into), &malformed, c.name)
		assert.Equal(t, c.want, malformed.Error(), c.name)
	}
	require.NoError(t, received(part(2, part(3, "\xff")), enqueue), "a payload is not text")
	var malformed *MalformedError
	require.ErrorAs(t, received("", nil), &malformed)
}

// Exactly the messages that proto refuses are refused as malformed.
func TestMalformedMessagesAreThoseOfProto(t *testing.T) {
	whole := part(1, "t0") + part(2, part(1, "q")+part(3, "\xff\x00")+part(9, "\x08\x01")) + part(2, part(11, "key"))
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(whole)[:rapid.IntRange(0, len(whole)).Draw(t, "length")]
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			if len(b) > 0 {
				b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
			}
		}
		refused := proto.Unmarshal(b, &queuepb.EnqueueRequest{})
		err := received(string(b), &queuepb.EnqueueRequest{})
		if refused == nil {
			require.NoError(t, err)
			return
		}
		var malformed *MalformedError
		require.ErrorAs(t, err, &malformed)
	})
}
