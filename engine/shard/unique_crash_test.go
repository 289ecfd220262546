package shard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/record"
)

// racing are producers and workers of one queue, whose tasks hold their keys until they are finished.
type racing struct {
	g    *Group
	keys int

	stored, duplicates, refused atomic.Int64
}

func (r *racing) task(rng *rand.Rand) queue.NewTask {
	return queue.NewTask{
		Queue: "q", Key: fmt.Sprint("k", rng.IntN(r.keys)), KeyScope: queue.UntilFinished, MaxAttempts: 2, LeaseMs: 5_000,
		KeyConflict: queue.Conflict(rng.IntN(int(queue.Refuse) + 1)), DelayMs: uint64(rng.IntN(2)) * 500,
	}
}

// produce enqueues up to calls batches. It ends early when the leader has failed.
func (r *racing) produce(rng *rand.Rand, calls int) {
	for range calls {
		tasks := make([]queue.NewTask, 1+rng.IntN(8))
		for i := range tasks {
			tasks[i] = r.task(rng)
		}
		out, err := AwaitReply(context.Background(), func(reply func([]queue.Enqueued, error)) error { return r.g.Enqueue(tenant, tasks, reply) })
		if err != nil {
			return
		}
		for i := range out {
			switch {
			case out[i].Duplicate:
				r.duplicates.Add(1)
			case errors.Is(out[i].Err, queue.ErrKeyTaken):
				r.refused.Add(1)
			case out[i].Err == nil:
				r.stored.Add(1)
			}
		}
	}
}

// work claims tasks and ends their leases in each possible way, or leaves them to expire. It ends
// early when the leader has failed.
func (r *racing) work(rng *rand.Rand, calls int) {
	for range calls {
		granted, err := AwaitReply(context.Background(), func(reply func([]Granted, error)) error {
			return r.g.Claim(queue.Claim{Tenant: tenant, Queues: []string{"q"}, Credit: 16}, reply)
		})
		if err != nil {
			return
		}
		var ends []queue.Settlement
		var redriven []queue.ID
		for _, part := range granted {
			for _, d := range part.Tasks {
				s := queue.Settlement{Shard: part.Shard, Ref: d.Ref, Token: d.Token}
				switch rng.IntN(6) {
				case 0:
					s.Action = queue.Release
				case 1:
					s.Action = queue.Fail
				case 2:
					s.Action, s.Permanent = queue.Fail, true
					redriven = append(redriven, queue.ID{Shard: part.Shard, Ref: d.Ref})
				case 3:
					continue
				default:
					s.Action = queue.Complete
				}
				ends = append(ends, s)
			}
		}
		_, err = AwaitReply(context.Background(), func(reply func([]error, error)) error { return r.g.Settle(tenant, ends, reply) })
		if err != nil {
			return
		}
		if _, err := r.g.Change(context.Background(), Redrive, tenant, redriven); err != nil {
			return
		}
	}
}

// unfinished returns the tasks that are neither done nor dead, by key. It requires that there is at
// most one for each key.
func unfinished(t *testing.T, store *storage.Store) map[queue.KeyHash]queue.Ref {
	t.Helper()
	snap := store.Snapshot()
	defer func() { require.NoError(t, snap.Close()) }()
	dead := map[queue.Ref]bool{}
	require.NoError(t, snap.Scan([]byte{record.PrefixDead}, func(k, _ []byte) (bool, error) {
		ref, err := record.ParseRefKey(k)
		dead[ref] = true
		return true, err
	}))
	tasks := map[queue.KeyHash]queue.Ref{}
	require.NoError(t, snap.Scan([]byte{record.PrefixTask}, func(k, v []byte) (bool, error) {
		ref, err := record.ParseRefKey(k)
		require.NoError(t, err)
		task, err := record.DecodeTask(v)
		require.NoError(t, err)
		if dead[ref] {
			return true, nil
		}
		key := task.Extras.Unique.Key
		other, has := tasks[key]
		require.False(t, has, "%v and %v are unfinished with one key", other, ref)
		tasks[key] = ref
		return true, nil
	}))
	return tasks
}

// At most one unfinished task has a key, although many producers race for the keys and the leader is
// killed again and again.
func TestAKeyHasOneUnfinishedTaskAcrossLeaderKills(t *testing.T) {
	const producers, workers = 64, 4
	keys, kills := longtest.Count(t, 200, 1_000), longtest.Count(t, 8, 100)
	seeds := rand.New(rand.NewPCG(5, 6))
	clock := &fixture{t: t}
	clock.nowMs.Store(1_000)
	lead := leaders(t, clock.nowMs.Load, queue.Config{})
	r := &racing{keys: keys}
	for kill := range kills {
		clock.nowMs.Add(1_000 * seeds.Int64N(8))
		g, store := lead(uint64(kill)+1, 20+seeds.IntN(60), seeds.IntN(3))
		r.g = g
		unfinished(t, store)
		var done sync.WaitGroup
		for i := range producers + workers {
			rng := rand.New(rand.NewPCG(seeds.Uint64(), seeds.Uint64()))
			done.Go(func() {
				if i < producers {
					r.produce(rng, 40)
				} else {
					r.work(rng, 40)
				}
			})
		}
		done.Wait()
		g.Close()
	}
	require.Greater(t, r.stored.Load(), int64(2*keys), "keys are taken again")
	require.Positive(t, r.duplicates.Load())
	require.Positive(t, r.refused.Load())

	// Each key belongs to the task that has it, and a key without a task is free.
	g, store := lead(uint64(kills)+1, 1<<30, 0)
	defer g.Close()
	before := unfinished(t, store)
	for i := range keys {
		key := fmt.Sprint("k", i)
		task := queue.NewTask{Queue: "q", Key: key, KeyScope: queue.UntilFinished}
		out, err := AwaitReply(context.Background(), func(reply func([]queue.Enqueued, error)) error {
			return g.Enqueue(tenant, []queue.NewTask{task}, reply)
		})
		require.NoError(t, err)
		require.NoError(t, out[0].Err)
		holder, held := before[queue.HashKey(key)]
		require.Equal(t, held, out[0].Duplicate, "key %s of %v, %v", key, holder, out[0])
		if held {
			require.Equal(t, holder, out[0].Ref)
		}
	}
	require.Len(t, unfinished(t, store), keys)
	t.Logf("%d tasks were stored, %d enqueues were duplicates, %d were refused", r.stored.Load(), r.duplicates.Load(), r.refused.Load())
}
