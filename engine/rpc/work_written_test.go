package rpc

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queuepb"
)

// A connection subtracts each byte that it writes from what its stream said that waits to be written. A message that counts more than it
// writes would leave a rest each time, and the server would cut a busy connection whose client reads everything.
func TestAMessageNeverCountsMoreThanItWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out, counted := &queuepb.WorkResponse{}, 0
		text := func(name string) string { return rapid.StringN(0, 40, 100).Draw(t, name) }
		for range rapid.IntRange(1, 30).Draw(t, "items") {
			item := workItem{}
			if rapid.Bool().Draw(t, "task") {
				item.task = &queuepb.Task{
					Id: text("id"), Tenant: text("tenant"), Queue: text("queue"), LastError: text("last error"),
					Payload: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "payload"),
				}
				out.Tasks = append(out.Tasks, item.task)
			} else {
				item.answer = &queuepb.SettleAnswer{Frame: rapid.Uint64().Draw(t, "frame")}
				for range rapid.IntRange(0, 3).Draw(t, "errors") {
					item.answer.Errors = append(item.answer.Errors, &queuepb.ItemError{Message: text("message")})
				}
				out.Answers = append(out.Answers, item.answer)
			}
			counted += item.writtenLeast()
		}
		require.LessOrEqual(t, counted, proto.Size(out))
	})
}

// A task counts at least its payload, so that tasks that wait for a client who does not read are seen.
func TestAMessageCountsPayloads(t *testing.T) {
	item := workItem{task: &queuepb.Task{Payload: make([]byte, 1_000)}}
	require.GreaterOrEqual(t, item.writtenLeast(), 1_000)
}
