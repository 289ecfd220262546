package shard

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/fsck"
	"github.com/pronybench/prony/engine/storage/record"
)

// finishing are producers and workers of a queue with a history, with their acknowledged tasks.
type finishing struct {
	g *Group

	mu        sync.Mutex
	enqueued  []queue.Ref
	completed []queue.Ref
}

func (f *finishing) produce(rng *rand.Rand, calls int) {
	for range calls {
		out, err := AwaitReply(context.Background(), func(reply func([]queue.Enqueued, error)) error {
			return f.g.Enqueue(tenant, newTasks("q", 1+rng.IntN(8)), reply)
		})
		if err != nil {
			return
		}
		f.mu.Lock()
		for i := range out {
			f.enqueued = append(f.enqueued, out[i].Ref)
		}
		f.mu.Unlock()
	}
}

func (f *finishing) work(rng *rand.Rand, calls int) {
	for range calls {
		granted, err := AwaitReply(context.Background(), func(reply func([]Granted, error)) error {
			return f.g.Claim(queue.Claim{Tenant: tenant, Queues: []string{"q"}, Credit: 16}, reply)
		})
		if err != nil {
			return
		}
		var ends []queue.Settlement
		var cancelled []queue.ID
		for _, part := range granted {
			for _, d := range part.Tasks {
				s := queue.Settlement{Shard: part.Shard, Ref: d.Ref, Token: d.Token, Action: queue.Complete}
				switch rng.IntN(8) {
				case 0:
					s.Action, s.Permanent = queue.Fail, true
				case 1:
					s.Action = queue.Fail
				case 2:
					cancelled = append(cancelled, queue.ID{Shard: part.Shard, Ref: d.Ref})
					continue
				}
				ends = append(ends, s)
			}
		}
		outcomes, err := AwaitReply(context.Background(), func(reply func([]error, error)) error { return f.g.Settle(tenant, ends, reply) })
		if err != nil {
			return
		}
		f.mu.Lock()
		for i, outcome := range outcomes {
			if outcome == nil && ends[i].Action == queue.Complete {
				f.completed = append(f.completed, ends[i].Ref)
			}
		}
		f.mu.Unlock()
		if _, err := f.g.Change(context.Background(), Cancel, tenant, cancelled); err != nil {
			return
		}
	}
}

// stored returns how each task of the history finished, and the stored tasks that are not dead.
func (f *finishing) stored(t *testing.T, store *storage.Store) (finished map[queue.Ref]queue.Finish, unfinished map[queue.Ref]bool) {
	t.Helper()
	problems, err := fsck.CheckConsistency(t.Context(), store, 9)
	require.NoError(t, err)
	require.Empty(t, problems)
	snap := store.Snapshot()
	defer func() { require.NoError(t, snap.Close()) }()
	finished, unfinished = map[queue.Ref]queue.Finish{}, map[queue.Ref]bool{}
	require.NoError(t, snap.Scan([]byte{record.PrefixFinished}, func(k, v []byte) (bool, error) {
		id, _, err := record.ParseFinishedKey(k)
		require.NoError(t, err)
		e, err := record.DecodeFinished(id, v)
		require.NotContains(t, finished, e.Ref, "it finished twice")
		require.Positive(t, e.EnqueuedAtMs)
		finished[e.Ref] = e.How
		return true, err
	}))
	require.NoError(t, snap.Scan([]byte{record.PrefixTask}, func(k, _ []byte) (bool, error) {
		ref, err := record.ParseRefKey(k)
		dead, derr := snap.Exists(record.RefKey(record.PrefixDead, ref))
		require.NoError(t, derr)
		if !dead {
			unfinished[ref] = true
		}
		return true, err
	}))
	return finished, unfinished
}

// Each task is either unfinished or in the history, once, although the leader is killed again and
// again.
func TestEachFinishedTaskIsInTheHistoryAcrossLeaderKills(t *testing.T) {
	kills := longtest.Count(t, 8, 100)
	seeds := rand.New(rand.NewPCG(7, 8))
	clock := &fixture{t: t}
	clock.nowMs.Store(1_000)
	lead := leaders(t, clock.nowMs.Load, queue.Config{MaxAttempts: 2, Backoff: queue.Backoff{InitialMs: 1, MaxMs: 1}})
	f := &finishing{}
	g, _ := lead(1, 1<<30, 0)
	err := g.Configure(context.Background(), tenant, "q", queue.Policy{HistoryTasksMax: queue.HistoryTasksLimit})
	require.NoError(t, err)
	g.Close()
	for kill := range kills {
		clock.nowMs.Add(1_000 * seeds.Int64N(60))
		g, store := lead(uint64(kill)+2, 20+seeds.IntN(60), seeds.IntN(3))
		f.g = g
		f.stored(t, store)
		var done sync.WaitGroup
		for i := range 12 {
			rng := rand.New(rand.NewPCG(seeds.Uint64(), seeds.Uint64()))
			done.Go(func() {
				if i%2 == 0 {
					f.produce(rng, 40)
				} else {
					f.work(rng, 40)
				}
			})
		}
		done.Wait()
		g.Close()
	}
	g, store := lead(uint64(kills)+2, 1<<30, 0)
	defer g.Close()
	finished, unfinished := f.stored(t, store)
	ways := map[queue.Finish]int{}
	for ref, how := range finished {
		ways[how]++
		require.NotContains(t, unfinished, ref)
	}
	for _, ref := range f.enqueued {
		require.True(t, unfinished[ref] || finished[ref] != 0, "%v is lost", ref)
	}
	for _, ref := range f.completed {
		require.Equal(t, queue.FinishCompleted, finished[ref], "%v", ref)
	}
	for _, how := range []queue.Finish{queue.FinishCompleted, queue.FinishDied, queue.FinishCancelled} {
		require.Positive(t, ways[how], "how %d", how)
	}
	t.Logf("%d enqueued, %d completed, finished %v", len(f.enqueued), len(f.completed), ways)
}
