package rpc

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/wire"
)

// encodedFrame returns the bytes of a frame and empties it.
func encodedFrame(t require.TestingT, f *wire.Frame) []byte {
	out, err := wire.Codec().Marshal(f)
	require.NoError(t, err)
	defer out.Free()
	return out.Materialize()
}

func oneShard(t *testing.T) *shard.Group {
	store, err := storage.Open(t.TempDir(), storage.Options{Durability: storage.None})
	require.NoError(t, err)
	group, err := shard.NewGroup([]*storage.Store{store}, func(int) shard.Options { return shard.Options{} })
	require.NoError(t, err)
	t.Cleanup(func() {
		group.Close()
		require.NoError(t, store.Close())
	})
	return group
}

// TestTasksAreEncodedAsTheirMessages compares the bytes on a worker's stream with the encoded
// messages.
func TestTasksAreEncodedAsTheirMessages(t *testing.T) {
	_, queues := someQueues(t)
	var e taskEncoder
	var f wire.Frame
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.Uint16().Draw(r, "shard")
		ordered := true
		ds := make([]queue.Delivery, rapid.IntRange(0, 5).Draw(r, "tasks"))
		for i := range ds {
			d := &ds[i]
			d.Queue = rapid.SampledFrom(queues).Draw(r, "queue")
			d.Ref = queue.Ref{Queue: d.Queue.ID(), Priority: rapid.Uint8Range(0, 9).Draw(r, "priority"), Seq: rapid.Uint64().Draw(r, "seq")}
			task := queue.NewTask{Payload: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(r, "payload")}
			headers := rapid.MapOfN(rapid.StringMatching("[a-z]{1,9}"), rapid.StringN(0, 99, 300), 0, 3).Draw(r, "headers")
			task.AddHeaders(headers)
			d.Payload, d.HasHeaders = task.Payload, task.HasHeaders
			ordered = ordered && len(headers) < 2
			d.Attempt, d.MaxAttempts, d.Token = rapid.Uint32().Draw(r, "attempt"), rapid.Uint32().Draw(r, "most"), rapid.Uint64().Draw(r, "token")
			d.ExpiresAtMs, d.EnqueuedAtMs = rapid.Int64().Draw(r, "lease"), rapid.Int64().Draw(r, "enqueued")
			d.LastError = rapid.String().Draw(r, "error")
			if rapid.Bool().Draw(r, "extras") {
				d.Extras = &queue.Extras{ExpiresAtMs: rapid.Int64().Draw(r, "expires")}
			}
			e.add(&f, n, d)
		}
		message := &queuepb.WorkResponse{Tasks: leasedTasks(n, ds)}
		want, err := message.MarshalVT()
		require.NoError(r, err)
		got := encodedFrame(r, &f)
		if ordered {
			require.Equal(r, string(want), string(got))
			return
		}
		decoded := &queuepb.WorkResponse{} // the entries of a map have any order
		require.NoError(r, proto.Unmarshal(got, decoded))
		require.True(r, proto.Equal(message, decoded))
		require.Len(r, got, len(want))
	})
}

// TestIDsAreEncodedAsTheirAnswer compares the bytes on a producer's stream with the encoded
// message.
func TestIDsAreEncodedAsTheirAnswer(t *testing.T) {
	var f wire.Frame
	rapid.Check(t, func(r *rapid.T) {
		want := &queuepb.ProduceResponse{}
		for range rapid.IntRange(0, 3).Draw(r, "answers") {
			a := &queuepb.EnqueueAnswer{Frame: rapid.Uint64Range(0, 3).Draw(r, "frame")}
			accepted := make([]queue.Enqueued, rapid.IntRange(1, 70).Draw(r, "tasks"))
			for i := range accepted {
				accepted[i] = queue.Enqueued{Shard: rapid.Uint16().Draw(r, "shard"), Ref: queue.Ref{Queue: 7, Seq: rapid.Uint64().Draw(r, "seq")}}
				a.Ids = append(a.Ids, queue.ID{Shard: accepted[i].Shard, Ref: accepted[i].Ref}.String())
			}
			encodeIDs(&f, a.GetFrame(), accepted)
			want.Answers = append(want.Answers, a)
		}
		b, err := want.MarshalVT()
		require.NoError(r, err)
		require.Equal(r, string(b), string(encodedFrame(r, &f)))
	})
}

// TestFieldsOfTasks checks that the encoder knows all fields of the schema, except those that leased
// tasks do not have.
func TestFieldsOfTasks(t *testing.T) {
	fields := (&queuepb.Task{}).ProtoReflect().Descriptor().Fields()
	require.NotNil(t, fields.ByName("note"), "deliveries do not have it")
	require.NotNil(t, fields.ByName("waiting_for"), "deliveries do not have it")
	require.Equal(t, 15+2, fields.Len(), "new field: add it to taskEncoder")
	require.Equal(t, 4, (&queuepb.EnqueueAnswer{}).ProtoReflect().Descriptor().Fields().Len(), "new field: add it to encodeIDs")
}
