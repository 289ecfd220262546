package wire

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/queuepb"
)

// BenchmarkReceive decodes frames of 64 tasks of 128 bytes, with and without bounds.
func BenchmarkReceive(b *testing.B) {
	in := &queuepb.ProduceRequest{Frame: 7}
	for i := range 64 {
		in.Tasks = append(in.Tasks, &queuepb.NewTask{Queue: fmt.Sprintf("queue-%d", i%8), Payload: make([]byte, 128)})
	}
	frame, err := proto.Marshal(in)
	require.NoError(b, err)
	for _, bounded := range []bool{false, true} {
		b.Run(fmt.Sprintf("bounded=%t", bounded), func(b *testing.B) {
			var m queuepb.ProduceRequest
			var v any = &m
			if bounded {
				v = &Incoming{Message: &m, ItemsMax: 1_000}
			}
			data := mem.BufferSlice{mem.SliceBuffer(frame)}
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, Codec().Unmarshal(data, v))
				RecycleProduceRequest(&m)
			}
		})
	}
}
