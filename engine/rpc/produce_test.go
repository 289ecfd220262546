package rpc_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/queuepb"
)

type produceStream struct {
	*testing.T
	grpc.BidiStreamingClient[queuepb.ProduceRequest, queuepb.ProduceResponse]
}

func (s *server) produce() *produceStream {
	s.Helper()
	stream, err := s.Produce(s.ctx)
	require.NoError(s, err)
	return &produceStream{s.T, stream}
}

func (p *produceStream) send(in *queuepb.ProduceRequest) {
	p.Helper()
	require.NoError(p, p.Send(in))
}

// answers reads the answers to n frames.
func (p *produceStream) answers(n int) (all []*queuepb.EnqueueAnswer) {
	p.Helper()
	for len(all) < n {
		in, err := p.Recv()
		require.NoError(p, err)
		all = append(all, in.GetAnswers()...)
	}
	require.Len(p, all, n)
	return all
}

// end reads to the end of the stream and returns its error.
func end(recv func() error) error {
	for {
		if err := recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (p *produceStream) end() error {
	return end(func() error { _, err := p.Recv(); return err })
}

func TestProduceAnswersEachFrameInOrder(t *testing.T) {
	const frames = 50
	s := serve(t, nil)
	p := s.produce()
	for f := range frames {
		p.send(&queuepb.ProduceRequest{Frame: uint64(f) + 1_000, Tasks: []*queuepb.NewTask{
			{Queue: "q", Payload: fmt.Appendf(nil, "%d.0", f)}, {Queue: "q", Payload: fmt.Appendf(nil, "%d.1", f)},
		}})
	}
	answers := p.answers(frames)
	tasks := s.claimNow(1_000, "q")
	require.Len(t, tasks, 2*frames)
	for f, a := range answers {
		assert.EqualValues(t, f+1_000, a.GetFrame())
		assert.Empty(t, a.GetErrors())
		require.Len(t, a.GetIds(), 2)
		for i, id := range a.GetIds() {
			assert.Equal(t, fmt.Sprintf("%d.%d", f, i), string(tasks[2*f+i].GetPayload()))
			assert.Equal(t, tasks[2*f+i].GetId(), id)
		}
	}
	require.NoError(t, p.CloseSend())
	require.NoError(t, p.end())
}

func TestProduceRefusesABadTaskAlone(t *testing.T) {
	s := serve(t, nil)
	p := s.produce()
	p.send(&queuepb.ProduceRequest{Frame: 1, Tasks: []*queuepb.NewTask{{Queue: "?"}, {Queue: "q", Payload: []byte("ok")}, {Queue: "q", Priority: 10}}})
	p.send(&queuepb.ProduceRequest{Frame: 2, Tasks: []*queuepb.NewTask{{}}})
	p.send(&queuepb.ProduceRequest{Frame: 3, Tasks: newTasks("q", 1)})
	byFrame := map[uint64]*queuepb.EnqueueAnswer{}
	for _, a := range p.answers(3) {
		byFrame[a.GetFrame()] = a
	}
	first := byFrame[1]
	require.Len(t, first.GetIds(), 3)
	assert.Empty(t, first.GetIds()[0])
	assert.NotEmpty(t, first.GetIds()[1])
	assert.Empty(t, first.GetIds()[2])
	require.Len(t, first.GetErrors(), 2)
	requireItemError(t, first.GetErrors()[0], codeInvalid, "queue")
	assert.EqualValues(t, 0, first.GetErrors()[0].GetIndex())
	requireItemError(t, first.GetErrors()[1], codeInvalid, "priority")
	assert.EqualValues(t, 2, first.GetErrors()[1].GetIndex())
	require.Len(t, byFrame[2].GetErrors(), 1)
	assert.Empty(t, byFrame[3].GetErrors())
	assert.Equal(t, []string{"ok", "0"}, payloads(s.claimNow(10, "q")))
	require.NoError(t, p.CloseSend())
	require.NoError(t, p.end())
}

func TestProduceReadsTheTenantFromTheFirstFrame(t *testing.T) {
	s := serve(t, nil)
	p := s.produce()
	p.send(&queuepb.ProduceRequest{Tenant: "a", Frame: 1, Tasks: newTasks("q", 1)})
	p.send(&queuepb.ProduceRequest{Tenant: "b", Frame: 2, Tasks: newTasks("q", 1)})
	p.answers(2)
	out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Tenant: "a", Queues: []string{"q"}, MaxTasks: 10})
	require.NoError(t, err)
	assert.Len(t, out.GetTasks(), 2)
	require.NoError(t, p.CloseSend())
	require.NoError(t, p.end())
}

func TestABadFrameEndsTheProduceStream(t *testing.T) {
	s := serve(t, nil)
	for field, in := range map[string]*queuepb.ProduceRequest{
		"tenant": {Tenant: "no spaces", Tasks: newTasks("q", 1)},
		"tasks":  {Tasks: newTasks("q", 1_001)},
	} {
		p := s.produce()
		p.send(in)
		requireField(t, field, p.end())
	}
	p := s.produce()
	p.send(&queuepb.ProduceRequest{Frame: 9})
	requireField(t, "tasks", p.end())
}

func TestHalfCloseDrainsTheProduceStream(t *testing.T) {
	const frames = 300 // more than the bound on unanswered frames
	s := serve(t, nil)
	p := s.produce()
	for f := range frames {
		p.send(&queuepb.ProduceRequest{Frame: uint64(f), Tasks: newTasks("q", 1)})
	}
	require.NoError(t, p.CloseSend())
	p.answers(frames)
	require.NoError(t, p.end())
	assert.Len(t, s.claimNow(1_000, "q"), frames)
}

// TestAnswersStayBelowWhatClientsTake refuses so many tasks at once that a single message with all
// answers would exceed the limit of a gRPC client.
func TestAnswersStayBelowWhatClientsTake(t *testing.T) {
	const frames, each = 40, 1_000
	s := serve(t, nil)
	p := s.produce()
	bad := make([]*queuepb.NewTask, each)
	for i := range bad {
		bad[i] = &queuepb.NewTask{Queue: strings.Repeat("ä", 64)} // the message escapes it
	}
	for f := range frames {
		p.send(&queuepb.ProduceRequest{Frame: uint64(f), Tasks: bad})
	}
	for _, a := range p.answers(frames) {
		assert.Len(t, a.GetErrors(), each)
	}
	require.NoError(t, p.CloseSend())
	require.NoError(t, p.end())
}
