package shard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// chainLedger knows which completions workers asked for and which were acknowledged. The payload of a
// task names the tasks that it waits for.
type chainLedger struct {
	t *testing.T

	mu      sync.Mutex
	asked   map[string]bool // by id
	done    map[string]bool
	members map[string][]string // by the payload of the last task of a batch
	waits   int                 // number of completed tasks that waited
}

// granted checks that all tasks that a task waited for may have been completed.
func (l *chainLedger) granted(id string, payload []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	require.False(l.t, l.done[id], "%s is claimed after its completion was acknowledged", id)
	names := l.members[string(payload)]
	if names == nil && len(payload) > 0 {
		names = strings.Split(string(payload), ",")
	}
	for _, name := range names {
		require.True(l.t, l.asked[name], "%s is claimed, but waits for %s", id, name)
	}
}

func (l *chainLedger) ask(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked[id] = true
}

func (l *chainLedger) complete(id string, waited bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	require.False(l.t, l.done[id], "%s is completed twice", id)
	l.done[id] = true
	if waited {
		l.waits++
	}
}

// enqueue adds a batch with members in all shards, a task after its last task, and tasks after some of
// the members. It returns the number of tasks that wait.
func (l *chainLedger) enqueue(g *Group, rng *rand.Rand, round, members int) (waiting int) {
	add := func(n queue.NewTask) string {
		shard := rng.IntN(g.Len())
		out, err := AwaitReply(context.Background(), func(reply func([]queue.Enqueued, error)) error {
			return g.here.Load().shards[shard].Enqueue(tenant, []queue.NewTask{n}, reply)
		})
		require.NoError(l.t, err)
		require.NoError(l.t, out[0].Err)
		return queue.ID{Shard: uint16(shard), Ref: out[0].Ref}.String()
	}
	last := depending(l.t, "q", nil, uint32(members), "", queue.WaitForDead)
	last.Payload = fmt.Append(nil, "batch ", round)
	w := add(last)
	after := func(ids ...string) {
		n := depending(l.t, "q", ids, 0, "", queue.WaitForDead)
		n.Payload = []byte(strings.Join(ids, ","))
		add(n)
		waiting++
	}
	after(w)
	var ids []string
	for range members {
		ids = append(ids, add(depending(l.t, "q", nil, 0, w, queue.WaitForDead)))
		if len(ids) > 1 && rng.IntN(3) == 0 {
			after(ids[len(ids)-1], ids[rng.IntN(len(ids)-1)])
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.members[string(last.Payload)] = ids
	return waiting + 1
}

// work claims tasks and completes them, until a claim gets none.
func (l *chainLedger) work(g *Group, claims int) (got int) {
	for range claims {
		granted, err := AwaitReply(context.Background(), func(reply func([]Granted, error)) error {
			return g.Claim(queue.Claim{Tenant: tenant, Queues: []string{"q"}, Credit: 20}, reply)
		})
		if err != nil {
			return got
		}
		for _, part := range granted {
			ends := make([]queue.Settlement, len(part.Tasks))
			ids := make([]string, len(part.Tasks))
			for k := range part.Tasks {
				d := &part.Tasks[k]
				got++
				ids[k] = queue.ID{Shard: part.Shard, Ref: d.Ref}.String()
				ends[k] = queue.Settlement{Shard: part.Shard, Ref: d.Ref, Token: d.Token, Action: queue.Complete}
				l.granted(ids[k], d.Payload)
				l.ask(ids[k])
			}
			out, err := AwaitReply(context.Background(), func(reply func([]error, error)) error { return g.Settle(tenant, ends, reply) })
			for k := range out {
				if err == nil && out[k] == nil {
					l.complete(ids[k], len(part.Tasks[k].Payload) > 0)
				}
			}
		}
	}
	return got
}

// Each task that waits for others is claimed after all of them are done, and none is forgotten,
// although the leaders of all shards are killed again and again.
func TestWaitingTasksFollowAcrossLeaderKills(t *testing.T) {
	const shards, members, many = 3, 30, 1 << 30
	kills := longtest.Count(t, 10, 100)
	rng := rand.New(rand.NewPCG(11, 12))
	nowMs := int64(1_000)
	stores, entries := [shards][3]*storage.Store{}, [shards][]storage.LogEntry{}
	for i := range stores {
		for k := range stores[i] {
			var err error
			stores[i][k], err = storage.Open(fmt.Sprint("shard", i, "node", k), storage.Options{FS: vfs.NewMem(), Durability: storage.Sync, Replicated: true})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, stores[i][k].Close()) })
		}
	}
	term := uint64(0)
	lead := func(left func() (proposals, unknown int)) *groupFixture {
		term++
		f := &groupFixture{t: t}
		f.nowMs.Store(nowMs)
		g, err := NewClusterGroup(shards, f.nowMs.Load, nil)
		require.NoError(t, err)
		f.Group = g
		for i := range shards {
			store := stores[i][term%3]
			f.stores = append(f.stores, store)
			proposals, unknown := left()
			log := &leaderLog{store: store, term: term, entries: &entries[i], left: proposals, unknown: unknown}
			_, err := store.Apply(entries[i])
			require.NoError(t, err)
			tenure := storage.Tenure{Term: term, ID: term}
			require.NoError(t, log.appendLocked(tenure.Begin(), true))
			s, err := New(store, Options{
				NowMs: f.nowMs.Load, Replicate: log, Tenure: tenure, Number: i, Deliver: g.Deliver,
				Queue: queue.Config{LeaseMs: 5_000, MaxAttempts: 1_000, Backoff: queue.Backoff{InitialMs: 1, MaxMs: 1}, Shard: i, Shards: shards},
			})
			require.NoError(t, err)
			g.replace(i, s)
		}
		return f
	}
	healthy := func() (int, int) { return many, 0 }
	l := &chainLedger{t: t, asked: map[string]bool{}, done: map[string]bool{}, members: map[string][]string{}}
	waiting := 0
	for kill := range kills {
		f := lead(healthy)
		waiting += l.enqueue(f.Group, rng, kill, members)
		l.work(f.Group, rng.IntN(3))
		f.Close()
		f = lead(func() (int, int) { return 1 + rng.IntN(30), rng.IntN(3) })
		l.work(f.Group, 8)
		f.Close()
		nowMs += 6_000 // the leases that workers did not learn of expire
	}
	f := lead(healthy)
	l.finish(f)
	f.Close()
	require.GreaterOrEqual(t, len(l.asked), waiting+kills*members)
	t.Logf("%d of %d tasks waited; %d completions were acknowledged", waiting, len(l.asked), len(l.done))
}

// The same holds although the power fails again and again while messages are delivered.
func TestWaitingTasksFollowAcrossPowerLosses(t *testing.T) {
	const members = 30
	losses := longtest.Count(t, 8, 100)
	rng := rand.New(rand.NewPCG(13, 14))
	disk := vfs.NewCrashableMem()
	nowMs := int64(1_000)
	options := func(_ int, o *Options) {
		o.Queue.LeaseMs, o.Queue.MaxAttempts, o.Queue.Backoff = 5_000, 1_000, queue.Backoff{InitialMs: 1, MaxMs: 1}
	}
	l := &chainLedger{t: t, asked: map[string]bool{}, done: map[string]bool{}, members: map[string][]string{}}
	f := startGroup(t, disk, 3, options)
	waiting := 0
	for round := range losses {
		waiting += l.enqueue(f.Group, rng, round, members)
		l.work(f.Group, 1+rng.IntN(8))
		crashed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		f.stop()
		nowMs += 6_000
		disk = crashed
		f = startGroupAt(t, disk, 3, nowMs, options)
	}
	l.finish(f)
	f.stop()
	require.GreaterOrEqual(t, len(l.asked), waiting+losses*members)
}

// finish completes all tasks, and requires that nothing is left.
func (l *chainLedger) finish(f *groupFixture) {
	l.t.Helper()
	until(l.t, func() bool {
		if l.work(f.Group, 1) == 0 {
			f.nowMs.Add(6_000)
			f.ClockMoved()
			f.stats()
		}
		for _, q := range f.stats() {
			if q.Stored() > 0 {
				return false
			}
		}
		return true
	})
	f.nothingLeft()
}
