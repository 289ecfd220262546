package rpc

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/wire"
)

// recordingStream records the sizes of sent messages; link records the accounted bytes.
type recordingStream struct {
	grpc.BidiStreamingServer[queuepb.WorkRequest, queuepb.WorkResponse]
	call.Link

	sent    []int
	counted []int
	held    int
}

func (s *recordingStream) SendMsg(m any) error {
	out, err := wire.Codec().Marshal(m)
	if err == nil {
		s.sent = append(s.sent, out.Len())
		out.Free()
	}
	return err
}

func (s *recordingStream) Answers(bytes int) { s.counted = append(s.counted, bytes) }
func (s *recordingStream) Holds(bytes int)   { s.held += bytes }

// A connection subtracts the bytes that it writes from the bytes that its streams reported as
// waiting. If a message counted more bytes than it writes, the remainders would add up until the
// server cuts a busy connection whose client reads everything. If it counted fewer, tasks waiting
// for a client that does not read would be hidden.
func TestAMessageCountsWhatItWrites(t *testing.T) {
	group, queues := someQueues(t)
	rapid.Check(t, func(t *rapid.T) {
		s := &recordingStream{}
		w := &workStream{
			service: &Service{shards: group}, stream: s, link: s, inFlight: newInFlight(framesMax), sentBytes: make([]int64, 1),
			out: newOutbox[workItem](),
		}
		for range rapid.IntRange(1, 30).Draw(t, "items") {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				w.cancel(0, queue.Ref{Seq: rapid.Uint64().Draw(t, "seq")}, rapid.Uint64().Draw(t, "token"))
				continue
			case 1:
				ds := make([]queue.Delivery, rapid.IntRange(1, 4).Draw(t, "count"))
				for i := range ds {
					ds[i] = queue.Delivery{
						Queue: rapid.SampledFrom(queues).Draw(t, "queue"), LastError: rapid.StringN(0, 40, 100).Draw(t, "last error"),
						Payload: make([]byte, rapid.SampledFrom([]int{0, 1, 200, messageBytesMax / 3, messageBytesMax}).Draw(t, "payload")),
					}
				}
				w.deliver(0, ds)
				continue
			}
			require.True(t, w.inFlight.acquire(t.Context()))
			a := &queuepb.SettleAnswer{Frame: rapid.Uint64().Draw(t, "frame")}
			for range rapid.IntRange(0, 3).Draw(t, "errors") {
				a.Errors = append(a.Errors, &queuepb.ItemError{Message: rapid.StringN(0, 40, 100).Draw(t, "message")})
			}
			w.out.put(answerItem(a))
		}
		require.NoError(t, w.sendItems(w.out.take(nil)))
		require.NotEmpty(t, s.sent)
		require.Equal(t, s.sent, s.counted)
		require.Zero(t, s.held, "no bytes are counted once all are sent")
		require.Zero(t, w.held.Load(), "the end of the stream has nothing to subtract")
		require.True(t, w.inFlight.close(), "all frames are answered")
		for _, n := range s.sent {
			require.Less(t, n, 3*messageBytesMax, "a message exceeds its size by at most one item")
		}
	})
}

// A stream whose client does not read keeps a bounded number of cancelled leases. Once it has sent
// them, it takes further ones.
func TestCancelledLeasesThatWaitAreBounded(t *testing.T) {
	s := &recordingStream{}
	w := &workStream{service: &Service{shards: oneShard(t)}, stream: s, link: s, inFlight: newInFlight(framesMax), out: newOutbox[workItem]()}
	for range 2 {
		for i := range uint64(cancelledMax + 10) {
			w.cancel(0, queue.Ref{Seq: i}, i+1)
		}
		items := w.out.take(nil)
		require.Len(t, items, cancelledMax)
		require.EqualValues(t, cancelledMax, items[cancelledMax-1].cancelled.GetToken(), "the first ones are kept")
		require.NoError(t, w.sendItems(items))
		require.Zero(t, s.held)
	}
	w.ended.Store(true)
	w.cancel(0, queue.Ref{}, 1)
	require.True(t, w.out.empty(), "a stream that has ended takes nothing")
}

// someQueues returns a group of one shard, and queues of two tenants as its deliveries name them.
func someQueues(t *testing.T) (*shard.Group, []*queue.Queue) {
	group := oneShard(t)
	var all []*queue.Queue
	for _, tenant := range []string{"a", "b"} {
		for _, name := range []string{"q", "another"} {
			got := make(chan []queue.Delivery, 1)
			_, err := group.Subscribe(queue.Claim{Tenant: tenant, Queues: []string{name}, Credit: 1},
				func(_ uint16, ds []queue.Delivery) { got <- ds }, func(error) {}, nil)
			require.NoError(t, err)
			require.NoError(t, group.Enqueue(tenant, []queue.NewTask{{Queue: name}}, func([]queue.Enqueued, error) {}))
			all = append(all, (<-got)[0].Queue)
		}
	}
	return group, all
}
