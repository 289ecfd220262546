package shard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// groupLedger records the leases of the tasks of groups that workers know to have. It forgets a
// lease before the worker settles it, so it never counts more leases than the shard.
type groupLedger struct {
	t    *testing.T
	most int

	mu    sync.Mutex
	group map[queue.Ref]int
	held  []map[uint64]int64 // by group: the expiries of the leases, by token
	done  []int              // by group: acknowledged completions while counts is true

	counts bool // the leader will not fail in this round, and all groups can have leases
}

func (l *groupLedger) granted(d *queue.Delivery, nowMs int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	group := l.group[d.Ref]
	held := l.held[group]
	for token, untilMs := range held {
		if untilMs <= nowMs {
			delete(held, token)
		}
	}
	held[d.Token] = d.ExpiresAtMs
	require.LessOrEqual(l.t, len(held), l.most, "leases of group %d", group)
}

// settles forgets a lease, and returns a function that counts its acknowledged completion.
func (l *groupLedger) settles(ref queue.Ref, token uint64) (completed func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	group := l.group[ref]
	delete(l.held[group], token)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.counts {
			l.done[group]++
		}
	}
}

// checkStored requires that the stored leases obey the limit.
func (l *groupLedger) checkStored(store *storage.Store) {
	l.t.Helper()
	snap := store.Snapshot()
	defer func() { require.NoError(l.t, snap.Close()) }()
	n := make([]int, len(l.held))
	require.NoError(l.t, snap.Leases(func(b queue.RecoveredLease) (bool, error) {
		for i := range b.Refs {
			if ref := &b.Refs[i]; ref.Attempt != 0 {
				group := l.group[ref.Ref]
				n[group]++
				require.LessOrEqual(l.t, n[group], l.most, "stored leases of group %d", group)
			}
		}
		return true, nil
	}))
}

// jain returns Jain's fairness index (Jain, Chiu and Hawe, 1984).
func jain(shares []int) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range shares {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// round lets all workers claim at the same time, and then end most of the leases in all ways.
func (l *groupLedger) round(g *Group, seeds *rand.Rand, nowMs int64, workers, credit int) {
	granted := make([][]Granted, workers)
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			granted[i], _ = AwaitReply(context.Background(), func(reply func([]Granted, error)) error {
				return g.Claim(queue.Claim{Tenant: tenant, Queues: []string{"q"}, Credit: credit}, reply)
			})
			for _, part := range granted[i] {
				for k := range part.Tasks {
					l.granted(&part.Tasks[k], nowMs)
				}
			}
		})
	}
	all.Wait()
	for i := range workers {
		rng := rand.New(rand.NewPCG(seeds.Uint64(), 1))
		all.Go(func() {
			var ends []queue.Settlement
			var completed []func()
			for _, part := range granted[i] {
				for _, d := range part.Tasks {
					s := queue.Settlement{Shard: part.Shard, Ref: d.Ref, Token: d.Token, Action: queue.Complete}
					switch rng.IntN(300) {
					case 0:
						s.Action = queue.Release
					case 1:
						s.Action = queue.Fail
					case 2:
						continue
					}
					ends, completed = append(ends, s), append(completed, l.settles(d.Ref, d.Token))
				}
			}
			out, err := AwaitReply(context.Background(), func(reply func([]error, error)) error { return g.Settle(tenant, ends, reply) })
			for k := range out {
				if err == nil && out[k] == nil && ends[k].Action == queue.Complete {
					completed[k]()
				}
			}
		})
	}
	all.Wait()
}

// enqueue adds tasks of each group, those of a group together in the order of the queue. The sum of all
// tasks must not exceed the number of tasks that a queue can park.
func (l *groupLedger) enqueue(g *Group, groups, each int) {
	for group := range groups {
		tasks := make([]queue.NewTask, each)
		for i := range tasks {
			tasks[i] = ofGroup("q", fmt.Sprint("customer-", group))
		}
		out, err := AwaitReply(context.Background(), func(reply func([]queue.Enqueued, error)) error { return g.Enqueue(tenant, tasks, reply) })
		require.NoError(l.t, err)
		for i := range out {
			l.group[out[i].Ref] = group
		}
	}
}

// No group has more than two leased tasks, although the leader is killed again and again, and no
// group with a large backlog takes the turns of others.
func TestGroupsKeepTheirLimitAcrossLeaderKills(t *testing.T) {
	const workers, most, rounds = 16, 2, 4
	groups, kills := 1_000, longtest.Count(t, 5, 100)
	seeds := rand.New(rand.NewPCG(7, 8))
	clock := &fixture{t: t}
	clock.nowMs.Store(1_000)
	lead := leaders(t, clock.nowMs.Load, queue.Config{})
	l := &groupLedger{t: t, most: most, group: map[queue.Ref]int{}, held: make([]map[uint64]int64, groups), done: make([]int, groups)}
	for i := range l.held {
		l.held[i] = map[uint64]int64{}
	}
	g, _ := lead(1, 1<<30, 0)
	require.NoError(t, g.Configure(context.Background(), tenant, "q", queue.Policy{GroupLimit: queue.Limit{LeasedMax: most}, LeaseMs: 5_000}))
	g.Close()
	credit := 1 + most*groups/workers
	for kill := range kills {
		clock.nowMs.Add(6_000) // the leases that workers did not learn of expire
		g, store := lead(uint64(2*kill)+2, 1<<30, 0)
		each := most*rounds + 1 // a little more than the workers complete until the next kill
		if kill == 0 {
			each += 10
		}
		l.enqueue(g, groups, each)
		for i := range rounds {
			l.counts = i > 0 // expired leases end during the first round
			l.round(g, seeds, clock.nowMs.Load(), workers, credit)
			clock.nowMs.Add(100)
		}
		l.checkStored(store)
		g.Close()
		g, store = lead(uint64(2*kill)+3, 1+seeds.IntN(40), seeds.IntN(3)) // it fails during a round
		l.checkStored(store)
		l.counts = false
		l.round(g, seeds, clock.nowMs.Load(), workers, credit)
		g.Close()
	}
	index := jain(l.done)
	require.GreaterOrEqual(t, index, 0.99)
	t.Logf("Jain's index of the completions of %d groups is %.4f", groups, index)
}
