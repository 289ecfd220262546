package client

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queuepb"
)

// once injects one fault into the next frame that settles, or that does not settle.
func (c *cluster) once(f fault, settles bool) {
	c.change(func() {
		c.fault = func(_ int, s bool) fault {
			if s != settles {
				return noFault
			}
			c.fault = nil
			return f
		}
	})
}

// TestWhatAFaultMeansForAnEnqueue tries each fault on a task with a key, one without, and one with
// a generated key.
func TestWhatAFaultMeansForAnEnqueue(t *testing.T) {
	for f := noFault; f < faults; f++ {
		for _, given := range []string{"", "key", "session"} {
			t.Run(fmt.Sprintf("%d %s", f, given), func(t *testing.T) {
				ctx := bounded(t)
				c := running(t, 2, 1)
				client := c.client(t, nil, hasty)
				client.keys = given == "session"
				p, err := client.Producer(ctx, "")
				require.NoError(t, err)
				task := Task{Queue: "q"}
				if given == "key" {
					task.Key = "k"
				}
				c.once(f, false)
				id, err := p.Enqueue(ctx, task)
				stored := len(c.payloads())
				if given == "" && f != noFault && f != refusedFrame {
					require.ErrorIs(t, err, ErrUnknownOutcome)
					require.Empty(t, id)
					if f.takesEffect() {
						assert.Equal(t, 1, stored)
					} else {
						assert.Zero(t, stored)
					}
				} else {
					require.NoError(t, err)
					assert.Equal(t, c.stored[0].id, id)
					assert.Equal(t, 1, stored)
				}
				_, err = p.Enqueue(ctx, Task{Queue: "q"})
				require.NoError(t, err, "the session continues")
				require.NoError(t, p.Close(ctx))
			})
		}
	}
}

// TestWhatWasNotSentIsSentAgain checks calls, with and without keys, that waited for room on a link
// that broke.
func TestWhatWasNotSentIsSentAgain(t *testing.T) {
	const calls = 20
	ctx := bounded(t)
	c := running(t, 2, 1)
	p, err := c.client(t, nil, hasty).Producer(ctx, "")
	require.NoError(t, err)
	l, ok := p.links.pick()
	require.True(t, ok)
	c.change(func() { c.nodes[0].hangs = true })
	failed := make(chan error, calls)
	const sent = produceFramesMax
	for i := range calls {
		go func() {
			_, err := p.Enqueue(ctx, Task{Queue: "q"})
			failed <- err
		}()
		require.Eventually(t, func() bool { // one frame after another, and then calls that wait
			l.batcher.mu.Lock()
			defer l.batcher.mu.Unlock()
			return len(l.batcher.frames) == min(i+1, sent) && len(l.batcher.waiting) == max(0, i+1-sent)
		}, patience, time.Millisecond)
	}
	c.lead(1, 0)
	c.nodes[0].kill()
	unknown := 0
	for range calls {
		if err := <-failed; err != nil {
			require.ErrorIs(t, err, ErrUnknownOutcome)
			unknown++
		}
	}
	assert.Equal(t, sent, unknown, "exactly the sent tasks")
	assert.Len(t, c.stored, calls-sent)
	require.NoError(t, p.Close(ctx))
}

func TestWhatAFaultMeansForASettlement(t *testing.T) {
	for f := noFault; f < faults; f++ {
		// The end of the lease by the server's clock, which differs.
		for _, lease := range []time.Duration{time.Hour, -time.Hour} {
			t.Run(fmt.Sprintf("%d %v", f, lease), func(t *testing.T) {
				ctx := bounded(t)
				c := running(t, 2, 1)
				c.lease = lease
				client := c.client(t, nil, hasty)
				c.add(2)
				w, err := client.Worker(ctx, WorkerConfig{Queues: []string{"q"}, Slots: 1})
				require.NoError(t, err)
				task, err := w.Receive(ctx)
				require.NoError(t, err)
				c.once(f, true)
				if errs, err := w.CompleteBatch(ctx, []*queuepb.Task{task}); f != noFault && f.takesEffect() {
					require.ErrorIs(t, errors.Join(append(errs, err)...), ErrUnknownOutcome, "the server has confirmed nothing")
					var refused *Error
					assert.False(t, errors.As(err, &refused), "the error is not a refusal")
				} else {
					require.NoError(t, err)
					require.Nil(t, errs)
				}
				require.ErrorIs(t, w.Complete(ctx, task), ErrStaleToken, "a refusal at the first try remains a refusal")
				_, err = w.Receive(ctx)
				require.NoError(t, err, "its slot is free")
				assert.Equal(t, 1, c.stored[0].completed)
				require.NoError(t, w.Close(ctx))
			})
		}
	}
}

// add stores tasks on the shards in turn.
func (c *cluster) add(n int) {
	c.change(func() {
		for range n {
			s := &storedTask{id: fmt.Sprint(len(c.stored)), shard: len(c.stored) % len(c.leaders)}
			c.stored, c.byID[s.id] = append(c.stored, s), s
		}
	})
}

// TestARepeatedExtensionIsNoEnd checks that a repeated extension of an ended lease is refused as
// stale, and not as an unknown outcome: an extension ends no lease.
func TestARepeatedExtensionIsNoEnd(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 2, 1)
	c.add(1)
	w, err := c.client(t, nil, hasty).Worker(ctx, WorkerConfig{Queues: []string{"q"}, Slots: 1})
	require.NoError(t, err)
	task, err := w.Receive(ctx)
	require.NoError(t, err)
	c.once(lostAnswer, true)
	require.NoError(t, w.Extend(ctx, task, time.Hour))
	c.change(func() { c.stored[0].token = 1 << 40 })
	c.once(lostFrame, true)
	require.ErrorIs(t, w.Extend(ctx, task, time.Hour), ErrStaleToken)
	require.NoError(t, w.Close(ctx))
}

// TestARepeatedSettlementOfACancelledTaskIsRefused checks that the outcome is not unknown: if the
// first try had settled the task, the task could not have been cancelled during that lease.
func TestARepeatedSettlementOfACancelledTaskIsRefused(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 2, 1)
	c.add(1)
	w, err := c.client(t, nil, hasty).Worker(ctx, WorkerConfig{Queues: []string{"q"}, Slots: 1})
	require.NoError(t, err)
	task, err := w.Receive(ctx)
	require.NoError(t, err)
	c.change(func() { c.stored[0].cancelled = true })
	c.once(lostFrame, true)
	err = w.Complete(ctx, task)
	require.ErrorIs(t, err, ErrCancelled)
	require.NotErrorIs(t, err, ErrUnknownOutcome)
	require.NoError(t, w.Close(ctx))
}
