package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/longtest"
)

// ledger is the clients' record of every task, by payload, across all crashes of the server.
type ledger struct {
	mu          sync.Mutex
	acked       map[string]bool // the enqueue was acknowledged
	unknown     map[string]bool // the enqueue may have taken effect
	completed   map[string]bool // the completion was acknowledged
	maybe       map[string]bool // the completion may have taken effect
	resurrected []string        // delivered after their completion was acknowledged
	twice       []string        // completed twice
	invented    []string        // delivered without an enqueue
}

func newLedger() *ledger {
	return &ledger{acked: map[string]bool{}, unknown: map[string]bool{}, completed: map[string]bool{}, maybe: map[string]bool{}}
}

func (l *ledger) note(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// produce enqueues until the server is down. It records tasks as unknown before it sends them.
func (l *ledger) produce(ctx context.Context, t *testing.T, p *client.Producer, name string) {
	for i := 0; ; i++ {
		payload := fmt.Sprintf("%s/%d", name, i)
		l.note(func() { l.unknown[payload] = true })
		_, err := p.Enqueue(ctx, client.Task{Queue: []string{"a", "b"}[i%2], Payload: []byte(payload)})
		if err != nil {
			var refused *client.Error
			assert.False(t, errors.As(err, &refused), "refused: %v", err)
			return
		}
		l.note(func() {
			delete(l.unknown, payload)
			l.acked[payload] = true
		})
	}
}

// work completes tasks until the server is down or ctx ends.
func (l *ledger) work(ctx context.Context, t *testing.T, w *client.Worker) {
	for {
		task, err := w.Receive(ctx)
		if err != nil {
			return
		}
		payload := string(task.GetPayload())
		l.note(func() {
			if l.completed[payload] {
				l.resurrected = append(l.resurrected, payload)
			}
			if !l.acked[payload] && !l.unknown[payload] {
				l.invented = append(l.invented, payload)
			}
		})
		err = w.Complete(ctx, task)
		l.note(func() {
			switch {
			case err == nil && l.completed[payload]:
				l.twice = append(l.twice, payload)
			case err == nil:
				l.completed[payload] = true
			case errors.Is(err, client.ErrUnknownOutcome):
				l.maybe[payload] = true
			case errors.Is(err, client.ErrUnavailable): // the call had no effect
			default:
				assert.ErrorIs(t, err, client.ErrStaleToken)
			}
		})
	}
}

func (l *ledger) count(of map[string]bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(of)
}

// killRounds returns how often a server is killed.
func killRounds(t *testing.T) int {
	t.Helper()
	return longtest.Count(t, 2, 167)
}

// crashLease is short, so that tasks leased before a kill return within the test.
const crashLease = time.Second

// TestAKilledServerLosesNothingThatItAcknowledged kills a loaded server several times. With sync,
// the guarantee covers a power loss too, which this test cannot simulate. With none and interval,
// acknowledged data has reached the operating system, where it survives the process.
func TestAKilledServerLosesNothingThatItAcknowledged(t *testing.T) {
	for _, durability := range []string{"sync", "interval", "none"} {
		t.Run(durability, func(t *testing.T) {
			t.Parallel()
			const producers, workers = 8, 8
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(2+killRounds(t))*patience)
			defer cancel()
			args := []string{"--data", t.TempDir(), "--durability", durability}
			l := newLedger()
			for round := range killRounds(t) {
				p := start(t, args...)
				c := p.dialOnce()
				producer := opened(t, func() (*client.Producer, error) { return c.Producer(ctx, "") })
				worker := opened(t, func() (*client.Worker, error) {
					return c.Worker(ctx, client.WorkerConfig{Queues: []string{"a", "b"}, Slots: 64, Lease: crashLease})
				})
				var wg sync.WaitGroup
				for i := range producers {
					wg.Go(func() { l.produce(ctx, t, producer, fmt.Sprintf("%d/%d", round, i)) })
				}
				for range workers {
					wg.Go(func() { l.work(ctx, t, worker) })
				}
				before := l.count(l.completed)
				require.Eventually(t, func() bool { return l.count(l.completed) > before+10 }, patience, time.Millisecond)
				// A random moment is intended.
				<-time.After(time.Duration(rand.IntN(150)) * time.Millisecond)
				p.kill()
				wg.Wait()
				require.NoError(t, producer.Close(ctx))
				require.NoError(t, worker.Close(ctx))
				require.NoError(t, c.Close())
			}
			p := start(t, args...)
			defer p.kill()
			drain(ctx, t, p, l)
			l.check(t, p)
		})
	}
}

// audited is one queue in the server's audit.
type audited struct {
	Enqueued, Completed, Ready, Leased, Delayed, Dead, Stored int
}

func (p *process) audit() (all audited) {
	p.Helper()
	var out struct{ Queues []audited }
	require.NoError(p, json.Unmarshal([]byte(p.get("/audit")), &out))
	for _, q := range out.Queues {
		assert.Equal(p, q.Stored, q.Ready+q.Leased+q.Delayed+q.Dead)
		all.Enqueued += q.Enqueued
		all.Completed += q.Completed
		all.Dead += q.Dead
		all.Stored += q.Stored
	}
	return all
}

// drain completes all remaining tasks.
func drain(ctx context.Context, t *testing.T, p *process, l *ledger) {
	t.Helper()
	c := p.dial()
	worker, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"a", "b"}, Slots: 256, Lease: time.Minute})
	require.NoError(t, err)
	working, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() { l.work(working, t, worker) })
	}
	require.Eventually(t, func() bool { return p.audit().Stored == 0 }, patience, 20*time.Millisecond)
	require.NoError(t, worker.Close(ctx)) // waits for the last acknowledgements
	stop()
	wg.Wait()
	require.NoError(t, c.Close())
}

// check compares the clients' record with the server's audit.
func (l *ledger) check(t *testing.T, p *process) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Empty(t, l.resurrected, "delivered after the acknowledgement of their completion")
	assert.Empty(t, l.twice, "completed twice")
	assert.Empty(t, l.invented, "delivered without an enqueue")
	var lost []string
	for payload := range l.acked {
		if !l.completed[payload] && !l.maybe[payload] {
			lost = append(lost, payload)
		}
	}
	assert.Empty(t, lost, "acknowledged and lost")
	a := p.audit()
	assert.Zero(t, a.Stored)
	assert.Equal(t, a.Enqueued, a.Completed)
	assert.GreaterOrEqual(t, a.Enqueued, len(l.acked))
	assert.LessOrEqual(t, a.Enqueued, len(l.acked)+len(l.unknown))
	assert.NotEmpty(t, l.acked)
	t.Logf("in all: %d acknowledged, %d of unknown outcome; %d completed, %d perhaps", len(l.acked), len(l.unknown), len(l.completed), len(l.maybe))
}
