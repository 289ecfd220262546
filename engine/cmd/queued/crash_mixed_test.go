package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// mixed is the clients' record of tasks with keys, retries and results, by name.
type mixed struct {
	mu      sync.Mutex
	ids     map[string]map[string]bool // the ids in the acknowledgements of a name
	unsure  []*queuepb.NewTask         // sent without an answer
	results map[string]string          // of acknowledged completions, by id
	maybe   map[string]bool            // ids whose completion may have taken effect
	again   []string                   // ids delivered after their completion was acknowledged
	leases  map[string]uint64          // the greatest token of each id
	tokens  []string                   // ids leased with a token not greater than the previous one
	failed  int
}

func (m *mixed) note(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

var mixedQueues = []string{"plain", "mail/urgent", "reports", "quiet"}

// gone reports whether err means that the server is down.
func gone(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.Canceled || code == codes.DeadlineExceeded
}

// produce enqueues batches until the server is down. It first repeats the unanswered batches; their
// keys prevent duplicates.
func (m *mixed) produce(ctx context.Context, t *testing.T, api queuepb.QueueServiceClient, name string) {
	for i := 0; ; i++ {
		var batch []*queuepb.NewTask
		m.note(func() {
			n := min(len(m.unsure), 20)
			batch, m.unsure = m.unsure[:n:n], m.unsure[n:]
		})
		for len(batch) < 8 {
			one := fmt.Sprintf("%s/%d/%d", name, i, len(batch))
			batch = append(batch, &queuepb.NewTask{
				Queue: mixedQueues[rand.IntN(len(mixedQueues))], Payload: []byte(one), IdempotencyKey: one, Priority: uint32(rand.IntN(10)),
				ResultRetentionMs: 3_600_000, MaxAttempts: 1_000, DelayMs: uint64(rand.IntN(4)), Backoff: &queuepb.Backoff{InitialMs: 1, MaxMs: 5},
			})
		}
		out, err := api.Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: batch})
		if err != nil {
			assert.True(t, gone(err), "refused: %v", err)
			m.note(func() { m.unsure = append(m.unsure, batch...) })
			return
		}
		m.note(func() {
			for i, r := range out.GetResults() {
				assert.Nil(t, r.GetError())
				name := string(batch[i].GetPayload())
				if m.ids[name] == nil {
					m.ids[name] = map[string]bool{}
				}
				m.ids[name][r.GetId()] = true
			}
		})
	}
}

// work claims, and completes, fails or releases, until the server is down or ctx ends.
func (m *mixed) work(ctx context.Context, t *testing.T, api queuepb.QueueServiceClient) {
	for {
		out, err := api.Claim(ctx, &queuepb.ClaimRequest{
			Queues: mixedQueues, Weights: []uint32{4, 3, 2, 1}, MaxTasks: 16, LeaseMs: uint64(crashLease.Milliseconds()), WaitMs: 200,
		})
		if err != nil {
			assert.True(t, gone(err), "refused: %v", err)
			return
		}
		for _, task := range out.GetTasks() {
			m.note(func() {
				id := task.GetId()
				if m.results[id] != "" {
					m.again = append(m.again, id)
				}
				if task.GetToken() <= m.leases[id] {
					m.tokens = append(m.tokens, id)
				}
				m.leases[id] = task.GetToken()
			})
		}
		if !m.settle(ctx, t, api, out.GetTasks()) {
			return
		}
	}
}

func (m *mixed) settle(ctx context.Context, t *testing.T, api queuepb.QueueServiceClient, tasks []*queuepb.Task) bool {
	var completions []*queuepb.Completion
	var failures []*queuepb.Failure
	for _, task := range tasks {
		if rand.IntN(5) == 0 {
			failures = append(failures, &queuepb.Failure{Id: task.GetId(), Token: task.GetToken(), Error: "oops"})
			continue
		}
		completions = append(completions, &queuepb.Completion{Id: task.GetId(), Token: task.GetToken(), Result: []byte("result of " + string(task.GetPayload()))})
	}
	if len(failures) > 0 {
		out, err := api.Fail(ctx, &queuepb.FailRequest{Failures: failures})
		if err != nil {
			assert.True(t, gone(err), "refused: %v", err)
			return false
		}
		m.note(func() { m.failed += len(out.GetResults()) })
	}
	if len(completions) == 0 {
		return true
	}
	out, err := api.Complete(ctx, &queuepb.CompleteRequest{Completions: completions})
	m.note(func() {
		for i, c := range completions {
			switch {
			case err != nil:
				m.maybe[c.GetId()] = true
			case out.GetResults()[i].GetError() == nil:
				m.results[c.GetId()] = string(c.GetResult())
			default: // the lease had expired
				assert.Equal(t, queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN, out.GetResults()[i].GetError().GetCode())
			}
		}
	})
	if err != nil {
		assert.True(t, gone(err), "refused: %v", err)
	}
	return err == nil
}

// TestAKilledServerKeepsKeysRetriesAndResults kills a server with three shards during batches with
// keys, retries and results in several queues. The clients repeat unanswered enqueues with the same
// keys.
func TestAKilledServerKeepsKeysRetriesAndResults(t *testing.T) {
	for _, durability := range []string{"sync", "interval", "none"} {
		t.Run(durability, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(2+killRounds(t))*patience)
			defer cancel()
			args := []string{"--data", t.TempDir(), "--durability", durability, "--shards", "3"}
			m := &mixed{ids: map[string]map[string]bool{}, results: map[string]string{}, maybe: map[string]bool{}, leases: map[string]uint64{}}
			for round := range killRounds(t) {
				p := start(t, args...)
				c := p.dialOnce()
				var wg sync.WaitGroup
				for i := range 4 {
					wg.Go(func() { m.produce(ctx, t, c.API(), fmt.Sprintf("%d/%d", round, i)) })
					wg.Go(func() { m.work(ctx, t, c.API()) })
				}
				completed := func() (n int) { m.note(func() { n = len(m.results) }); return n }
				before := completed()
				require.Eventually(t, func() bool { return completed() > before+50 }, patience, time.Millisecond)
				// A random moment is intended.
				<-time.After(time.Duration(rand.IntN(150)) * time.Millisecond)
				p.kill()
				wg.Wait()
				require.NoError(t, c.Close())
			}
			p := start(t, args...)
			m.finish(ctx, t, p)
			m.check(ctx, t, p)
			assert.Equal(t, 0, p.terminate(syscall.SIGTERM))
		})
	}
}

// finish repeats the unanswered enqueues and completes everything.
func (m *mixed) finish(ctx context.Context, t *testing.T, p *process) {
	t.Helper()
	c := p.dial()
	defer func() { require.NoError(t, c.Close()) }()
	for len(m.unsure) > 0 {
		n := min(len(m.unsure), 500)
		out, err := c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: m.unsure[:n]})
		require.NoError(t, err)
		for i, r := range out.GetResults() {
			require.Nil(t, r.GetError())
			name := string(m.unsure[i].GetPayload())
			if m.ids[name] == nil {
				m.ids[name] = map[string]bool{}
			}
			m.ids[name][r.GetId()] = true
		}
		m.unsure = m.unsure[n:]
	}
	working, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { m.work(working, t, c.API()) })
	}
	require.Eventually(t, func() bool { return p.audit().Stored == 0 }, patience, 20*time.Millisecond)
	stop()
	wg.Wait()
}

func (m *mixed) check(ctx context.Context, t *testing.T, p *process) {
	t.Helper()
	assert.Empty(t, m.again, "delivered after the acknowledgement of their completion")
	assert.Empty(t, m.tokens, "leased with a token not greater than the previous one")
	c := p.dial()
	defer func() { require.NoError(t, c.Close()) }()
	looked := 0
	for name, ids := range m.ids {
		require.Len(t, ids, 1, "%s was stored more than once despite its key", name)
		for id := range ids {
			_, acked := m.results[id]
			require.True(t, acked || m.maybe[id], "%s was acknowledged and is lost", name)
			if looked++; looked > 200 {
				continue
			}
			out, err := c.API().AwaitResult(ctx, &queuepb.AwaitResultRequest{Id: id})
			require.NoError(t, err, "the result of %s", name)
			require.Equal(t, queuepb.TaskState_TASK_STATE_DONE, out.GetState())
			require.Equal(t, "result of "+name, string(out.GetResult()))
		}
	}
	require.Positive(t, looked)
	a := p.audit()
	assert.Equal(t, len(m.ids), a.Enqueued)
	assert.Equal(t, a.Enqueued, a.Completed)
	assert.Positive(t, m.failed, "some tasks were retried")
	t.Logf("in all: %d tasks, each stored once; %d completions acknowledged, %d perhaps; %d failed attempts", len(m.ids), len(m.results), len(m.maybe), m.failed)
}
