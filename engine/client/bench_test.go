package client_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

// BenchmarkEnqueue and BenchmarkComplete measure the cost of a session per call, with a server that
// answers immediately.

func BenchmarkEnqueue(b *testing.B) {
	ctx := context.Background()
	f := &fake{produce: func(s produceServer) error {
		for {
			in, err := s.Recv()
			if err != nil {
				return err
			}
			a := &queuepb.EnqueueAnswer{Frame: in.GetFrame(), Ids: make([]string, len(in.GetTasks()))}
			for i := range a.GetIds() {
				a.Ids[i] = "000000000000000000000000"
			}
			if err := s.Send(&queuepb.ProduceResponse{Answers: []*queuepb.EnqueueAnswer{a}}); err != nil {
				return err
			}
		}
	}}
	p, err := f.serve(b).Producer(ctx, "")
	require.NoError(b, err)
	task := client.Task{Queue: "q", Payload: make([]byte, 64)}
	b.SetParallelism(64)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := p.Enqueue(ctx, task); err != nil {
				b.Error(err)
			}
		}
	})
	require.NoError(b, p.Close(ctx))
}

func BenchmarkComplete(b *testing.B) {
	const slots = 1024
	ctx := context.Background()
	f := &fake{work: func(s workServer) error {
		token := uint64(0)
		for {
			in, err := s.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			out := &queuepb.WorkResponse{}
			if len(in.GetSettlements()) > 0 {
				out.Answers = []*queuepb.SettleAnswer{{Frame: in.GetFrame()}}
			}
			for range in.GetCredits() {
				token++
				out.Tasks = append(out.Tasks, &queuepb.Task{Id: "000000000000000000000000", Token: token})
			}
			if err := s.Send(out); err != nil {
				return err
			}
		}
	}}
	w, err := f.serve(b).Worker(ctx, client.WorkerConfig{Queues: []string{"q"}, Slots: slots})
	require.NoError(b, err)
	b.SetParallelism(64)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			task, err := w.Receive(ctx)
			if err == nil {
				err = w.Complete(ctx, task)
			}
			if err != nil {
				b.Error(err)
			}
		}
	})
	b.StopTimer()
	over, cancel := context.WithCancel(ctx)
	cancel()
	_ = w.Close(over) // unreceived tasks would be released by unary calls, which this server lacks
}
