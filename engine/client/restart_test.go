package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

// restarted is a server without a cluster that restarts at the same address with the same data.
type restarted struct {
	*testing.T

	config node.Config
	node   *node.Node
}

func newRestarted(t *testing.T) *restarted { return startRestarted(t, node.TLS{}) }

func startRestarted(t *testing.T, files node.TLS) *restarted {
	t.Helper()
	r := &restarted{T: t, config: node.Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Durability: storage.None, DiskLow: storage.SpaceMark{Set: true}, TLS: files}}
	r.start()
	r.config.Listen = r.node.Addresses()
	t.Cleanup(func() { r.stop(false) })
	return r
}

func (r *restarted) start() {
	r.Helper()
	require.Eventually(r, func() (ok bool) {
		n, err := node.Open(r.config)
		if err != nil && strings.Contains(err.Error(), "address already in use") {
			return false // another process's outgoing connection uses the port for a moment
		}
		require.NoError(r, err)
		r.node = n
		return true
	}, patience, time.Millisecond)
}

// stop stops the server: in order, or by cutting all connections.
func (r *restarted) stop(cut bool) {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if cut {
		cancel()
	}
	require.NoError(r, r.node.Shutdown(ctx))
}

// restartLoad runs producers and workers across restarts of the server. Each payload is enqueued
// once.
type restartLoad struct {
	*testing.T

	ctx      context.Context
	giveUp   context.CancelFunc // ends ctx: the test has failed
	producer *client.Producer
	worker   *client.Worker
	progress chan struct{} // has an element when a task was enqueued or completed
	enqueued atomic.Int64
	done     atomic.Int64
	cut      atomic.Bool // connections were cut: the outcome of a call may be unknown

	mu      sync.Mutex
	stored  map[string]bool // payloads whose enqueue was acknowledged
	unknown map[string]bool // payloads whose enqueue may have taken effect
	ids     map[string]string
	// Payloads whose completion was acknowledged, or may have taken effect.
	completed map[string]bool
}

func (l *restartLoad) advanced(n *atomic.Int64) {
	n.Add(1)
	select {
	case l.progress <- struct{}{}:
	default:
	}
}

// produce enqueues until stop is closed. With keys, the producer's calls never fail.
func (l *restartLoad) produce(name string, keys bool, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-l.ctx.Done():
			return
		default:
		}
		payload := fmt.Sprintf("%s/%d", name, i)
		task := client.Task{Queue: "q", Payload: []byte(payload)}
		if keys {
			task.Key = payload
		}
		cut := l.cut.Load()
		_, err := l.producer.Enqueue(l.ctx, task)
		l.mu.Lock()
		if errors.Is(err, client.ErrUnknownOutcome) && !keys && (cut || l.cut.Load()) {
			l.unknown[payload] = true
		} else if assert.NoError(l, err, payload) {
			l.stored[payload] = true
		} else {
			l.giveUp()
		}
		l.mu.Unlock()
		l.advanced(&l.enqueued)
	}
}

// work completes tasks until ctx ends. A completion may have an unknown outcome once the task's
// lease may have expired, or after a cut.
func (l *restartLoad) work(ctx context.Context) {
	for {
		task, err := l.worker.Receive(ctx)
		if err != nil {
			assert.ErrorIs(l, err, context.Canceled)
			return
		}
		payload := string(task.GetPayload())
		l.mu.Lock()
		id, twice := l.ids[payload]
		if twice {
			assert.Equal(l, id, task.GetId(), "%s is stored twice", payload)
		}
		l.ids[payload] = task.GetId()
		l.mu.Unlock()
		err = l.worker.Complete(l.ctx, task)
		expired := time.Now().UnixMilli() >= task.GetLeaseExpiresAtMs()
		switch {
		case err == nil, errors.Is(err, client.ErrUnknownOutcome) && (l.cut.Load() || expired):
			l.mu.Lock()
			l.completed[payload] = true
			l.mu.Unlock()
			l.advanced(&l.done)
		// A slow host: the task is delivered again.
		case errors.Is(err, client.ErrStaleToken) && expired:
		default:
			assert.NoError(l, err, payload)
			l.giveUp()
			return
		}
	}
}

// advance waits until the given number of further tasks was enqueued and completed.
func (l *restartLoad) advance(by int64) {
	l.Helper()
	enqueued, done := l.enqueued.Load()+by, l.done.Load()+by
	for l.enqueued.Load() < enqueued || l.done.Load() < done {
		select {
		case <-l.progress:
		case <-l.ctx.Done():
			require.FailNow(l, "the sessions make no progress", "%d enqueued, %d completed", l.enqueued.Load(), l.done.Load())
		}
	}
}

// A server restarts twenty times. The client has one address and default options, with a producer
// session and a worker session. An orderly stop fails no call, because the server names the frames
// that it did not execute. After a cut connection, a task without a key may have an unknown
// outcome. No acknowledged task is lost, and no payload is stored twice.
func TestSessionsSurviveRestartsOfOneServer(t *testing.T) {
	const restarts, callers = 20, 4
	ctx, giveUp := context.WithCancel(bounded(t))
	defer giveUp()
	server := newRestarted(t)
	c := dial(t, server.config.Listen[0])
	l := &restartLoad{
		T: t, ctx: ctx, giveUp: giveUp, progress: make(chan struct{}, 1),
		stored: map[string]bool{}, unknown: map[string]bool{}, ids: map[string]string{}, completed: map[string]bool{},
	}
	var err error
	l.producer, err = c.Producer(ctx, "")
	require.NoError(t, err)
	l.worker, err = c.Worker(ctx, client.WorkerConfig{Queues: []string{"q"}, Slots: 2 * callers, Lease: 2 * time.Second})
	require.NoError(t, err)
	var producing, working sync.WaitGroup
	receiving, stopReceiving := context.WithCancel(ctx)
	defer stopReceiving()
	stop := make(chan struct{})
	for i := range callers {
		producing.Go(func() { l.produce(fmt.Sprint("plain", i), false, stop) })
		producing.Go(func() { l.produce(fmt.Sprint("keyed", i), true, stop) })
		working.Go(func() { l.work(receiving) })
	}
	for i := range restarts {
		l.cut.Store(i >= restarts/2)
		l.advance(20)
		server.stop(l.cut.Load())
		server.start()
	}
	l.advance(20)
	close(stop)
	producing.Wait()
	left := func() (n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for payload := range l.stored {
			if !l.completed[payload] {
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return left() == 0 }, patience, time.Millisecond, "an acknowledged task is lost")
	stopReceiving()
	working.Wait()
	require.NoError(t, l.producer.Close(ctx))
	require.NoError(t, l.worker.Close(ctx))
	for payload := range l.completed {
		assert.True(t, l.stored[payload] || l.unknown[payload], "%s was refused but is stored", payload)
	}
}

// Idle sessions reconnect to a restarted server. Receive and AwaitResult continue to wait.
func TestIdleSessionsFindTheRestartedServer(t *testing.T) {
	for name, cut := range map[string]bool{"after an orderly stop": false, "after a cut": true} {
		t.Run(name, func(t *testing.T) { findTheRestartedServer(t, cut) })
	}
}

func findTheRestartedServer(t *testing.T, cut bool) {
	ctx := bounded(t)
	server := newRestarted(t)
	c := dial(t, server.config.Listen[0])
	p, err := c.Producer(ctx, "")
	require.NoError(t, err)
	w := open(ctx, t, c, 2)
	id, err := p.Enqueue(ctx, client.Task{Queue: "other", Payload: []byte("1"), ResultRetention: time.Hour})
	require.NoError(t, err)
	received := make(chan *queuepb.Task, 1)
	go func() {
		task, err := w.Receive(ctx)
		assert.NoError(t, err)
		received <- task
	}()
	awaited := make(chan []byte, 1)
	go func() {
		out, err := c.AwaitResult(ctx, "", id)
		assert.NoError(t, err)
		awaited <- out.GetResult()
	}()
	server.stop(cut)
	called := make(chan error, 1)
	go func() { // while the server is down
		_, err := c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
		called <- err
	}()
	server.start()
	require.NoError(t, <-called)
	require.NoError(t, w.Complete(ctx, <-received))
	_, err = p.Enqueue(ctx, client.Task{Queue: "q", Key: "k"})
	require.NoError(t, err)
	require.NoError(t, w.Complete(ctx, receive(ctx, t, w)))

	claimed := claimNow(ctx, t, c, "other")
	require.Len(t, claimed, 1)
	done, err := c.API().Complete(ctx, &queuepb.CompleteRequest{Completions: []*queuepb.Completion{
		{Id: claimed[0].GetId(), Token: claimed[0].GetToken(), Result: []byte("42")},
	}})
	require.NoError(t, err)
	require.Nil(t, done.GetResults()[0].GetError())
	assert.Equal(t, "42", string(<-awaited))
	require.NoError(t, p.Close(ctx))
	require.NoError(t, w.Close(ctx))
}

// Without a server, a call fails with ErrUnavailable once its context or the time of WithRetryMax
// ends. The session survives.
func TestCallsWithoutAServerEndInTime(t *testing.T) {
	ctx := bounded(t)
	server := newRestarted(t)
	c := dial(t, server.config.Listen[0], client.WithRetryMax(100*time.Millisecond))
	p := opened(t, func() (*client.Producer, error) { return c.Producer(ctx, "") })
	w := open(ctx, t, c, 1)
	server.stop(false)
	_, err := p.Enqueue(ctx, client.Task{Queue: "q"})
	require.ErrorIs(t, err, client.ErrUnavailable)
	require.NotErrorIs(t, err, client.ErrUnknownOutcome, "the call was never sent")
	_, err = c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
	require.ErrorIs(t, err, client.ErrUnavailable)
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_, err = dial(t, server.config.Listen[0]).API().Enqueue(short, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
	require.ErrorIs(t, err, client.ErrUnavailable, "the default of WithRetryMax is longer")
	_, err = w.Receive(ctx)
	require.ErrorIs(t, err, client.ErrUnavailable)
	server.start()
	require.Eventually(t, func() bool { _, err = p.Enqueue(ctx, client.Task{Queue: "q"}); return err == nil }, patience, time.Millisecond)
	require.Eventually(t, func() bool { _, err = w.Receive(ctx); return err == nil }, patience, time.Millisecond)
	require.NoError(t, p.Close(ctx))
	require.NoError(t, w.Close(ctx))
}
