package rpc_test

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

// stopping shuts the node down in the background. The returned function waits for the end, which
// must not cut connections.
func (s *server) stopping() (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.stop()
	}()
	return func() {
		s.Helper()
		select {
		case <-done:
		case <-s.ctx.Done():
			s.Fatal("the shutdown does not end")
		}
	}
}

func TestStopLetsWaitingClaimsReturnEmpty(t *testing.T) {
	s := serve(t, nil)
	got := make(chan error, 1)
	go func() {
		out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 60_000})
		assert.Empty(t, out.GetTasks())
		got <- err
	}()
	s.waitForClaim()
	wait := s.stopping()
	require.NoError(t, <-got)
	wait()
}

func TestStopEndsIdleStreams(t *testing.T) {
	s := serve(t, nil)
	p := s.produce()
	p.send(&queuepb.ProduceRequest{Tasks: newTasks("q", 1)})
	require.Empty(t, p.answers(1)[0].GetErrors())
	w := s.work(10, "q")
	task := w.take(1)[0]
	w.send(&queuepb.WorkRequest{Settlements: []*queuepb.Settlement{completion(task)}})
	w.answer()
	wait := s.stopping()
	requireNotLeader(t, p.end()) // unanswered frames had no effect
	requireNotLeader(t, w.end())
	wait()
}

// TestStopAnswersWhatItReadAndEndsBusyStreams keeps sending frames on several streams while the
// server stops. All effects are acknowledged, and the streams end although their clients continue.
func TestStopAnswersWhatItReadAndEndsBusyStreams(t *testing.T) {
	const streams = 6
	dir := t.TempDir()
	// Answers lag behind frames.
	s := serve(t, func(c *node.Config) { c.DataDir, c.Durability = dir, storage.Sync })
	var frames atomic.Int64
	ended := make(chan error, streams)
	for range streams {
		p := s.produce()
		go func() {
			for {
				in, err := p.Recv()
				if err != nil {
					ended <- err
					return
				}
				for _, a := range in.GetAnswers() {
					assert.Empty(t, a.GetErrors())
				}
				frames.Add(int64(len(in.GetAnswers())))
			}
		}()
		go func() {
			in := &queuepb.ProduceRequest{Tasks: newTasks("q", 1)}
			for p.Send(in) == nil {
			}
		}()
	}
	require.Eventually(t, func() bool { return frames.Load() > 1_000 }, patience, time.Millisecond)
	wait := s.stopping()
	require.Eventually(t, func() bool {
		defer http.DefaultClient.CloseIdleConnections()
		answer, err := http.Get("http://" + s.node.Admin() + "/readyz")
		// Stopped or stopping.
		return err != nil || answer.Body.Close() == nil && answer.StatusCode != http.StatusOK
	}, patience, time.Millisecond)
	atStop := int(frames.Load())
	for range streams {
		requireNotLeader(t, <-ended)
	}
	wait()

	s = serve(t, func(c *node.Config) { c.DataDir = dir })
	stored := 0
	for {
		tasks := s.claimNow(1_000, "q")
		if len(tasks) == 0 {
			break
		}
		stored += len(tasks)
	}
	answered := int(frames.Load())
	// Frames read but unanswered at the stop, and answers in the client's window.
	assert.LessOrEqual(t, answered-atStop, streams*(256+4_000), "no further frames are read")
	assert.Equal(t, answered, stored, "clients repeat unanswered frames")
}

func TestStopAnswersTheSettlementsItRead(t *testing.T) {
	const n = 1_000
	dir := t.TempDir()
	s := serve(t, func(c *node.Config) { c.DataDir, c.Durability = dir, storage.Sync })
	s.enqueue(newTasks("q", n)...)
	w := s.work(n, "q")
	tasks := w.take(n)
	go func() {
		for _, task := range tasks {
			if w.Send(&queuepb.WorkRequest{Settlements: []*queuepb.Settlement{completion(task)}}) != nil {
				return
			}
		}
	}()
	w.until(func() bool { return len(w.answers) > n/10 })
	wait := s.stopping()
	requireNotLeader(t, w.end())
	wait()

	s = serve(t, func(c *node.Config) { c.DataDir = dir })
	left := 0
	for _, task := range tasks {
		if _, err := s.GetTask(s.ctx, &queuepb.GetTaskRequest{Id: task.GetId()}); err == nil {
			left++
		}
	}
	assert.Equal(t, len(w.answers), n-left, "clients repeat unanswered frames")
}

func TestStopEndsHealthWatches(t *testing.T) {
	s := serve(t, nil)
	watch, err := healthpb.NewHealthClient(s.conn).Watch(s.ctx, &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	in, err := watch.Recv()
	require.NoError(t, err)
	assert.Equal(t, healthpb.HealthCheckResponse_SERVING, in.GetStatus())
	wait := s.stopping()
	for err == nil {
		_, err = watch.Recv()
	}
	assert.NotErrorIs(t, err, io.EOF)
	wait()
}

func TestAStoppedServerRefusesNewCalls(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(newTasks("q", 1)...)
	s.stop()
	_, err := s.Enqueue(context.Background(), &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
	requireCode(t, codes.Unavailable, err)
}
