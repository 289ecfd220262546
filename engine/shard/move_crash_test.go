package shard

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queue"
)

// place is what determines when a waiting task is claimed. The due time of a fresh task is the time
// of its enqueue.
type place struct {
	priority uint8
	dueMs    int64
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(q.priority, p.priority), cmp.Compare(p.dueMs, q.dueMs))
}

// movedTask is a task that is never leased for long.
type movedTask struct {
	id queue.ID
	// may has the last acknowledged place, and after a leader's end that of a change without a known
	// outcome.
	may []place
}

// movedTasks are the tasks of a queue of one shard, whose clients change the place of each task
// again and again.
type movedTasks struct {
	t     *testing.T
	nowMs func() int64
	rng   *rand.Rand
	tasks []*movedTask
	moved map[string]int // acknowledged changes of a place, by kind
}

func (m *movedTasks) enqueue(g *Group, n int) {
	tasks := make([]queue.NewTask, n)
	for i := range tasks {
		tasks[i] = queue.NewTask{Queue: "q", Priority: uint8(m.rng.IntN(queue.MaxPriority + 1))}
		if m.rng.IntN(2) == 0 {
			tasks[i].DelayMs = uint64(m.rng.IntN(60_000))
		}
	}
	out, err := AwaitReply(context.Background(), func(reply func([]queue.Enqueued, error)) error { return g.Enqueue(tenant, tasks, reply) })
	require.NoError(m.t, err)
	for i := range out {
		require.NoError(m.t, out[i].Err)
		at := place{tasks[i].Priority, m.nowMs() + int64(tasks[i].DelayMs)}
		m.tasks = append(m.tasks, &movedTask{id: queue.ID{Ref: out[i].Ref}, may: []place{at}})
	}
}

// move lets several clients change the places of different tasks, until each has made all its calls
// or the leader fails. The clock must not change meanwhile.
func (m *movedTasks) move(g *Group, calls int) {
	const clients = 6
	var done sync.WaitGroup
	var mu sync.Mutex
	for client := range clients {
		rng := rand.New(rand.NewPCG(m.rng.Uint64(), m.rng.Uint64()))
		done.Go(func() {
			for range calls {
				task := m.tasks[client+clients*rng.IntN(len(m.tasks)/clients)]
				was := task.may[len(task.may)-1]
				var what Change
				kind, to := "priority", was
				if rng.IntN(2) == 0 {
					to.priority = uint8(rng.IntN(queue.MaxPriority + 1))
					what = Prioritize(to.priority)
				} else {
					dueMs := m.nowMs() + int64(rng.IntN(60_000)-20_000)
					if what, kind = Reschedule(dueMs), "due"; dueMs > m.nowMs() || was.dueMs > m.nowMs() {
						to.dueMs = max(dueMs, m.nowMs())
					}
				}
				task.may = append(task.may, to)
				out, err := g.Change(context.Background(), what, tenant, []queue.ID{task.id})
				if err == nil {
					err = out[0]
				}
				if err != nil {
					assert.NotErrorIs(m.t, err, ErrNotFound)
					return
				}
				task.may = []place{to}
				if to != was {
					mu.Lock()
					m.moved[kind]++
					mu.Unlock()
				}
			}
		})
	}
	done.Wait()
}

// check requires that each task has a place that it may have.
func (m *movedTasks) check(g *Group) {
	m.t.Helper()
	for _, task := range m.tasks {
		found, err := AwaitReply(context.Background(), func(reply func(Found, error)) error { return g.Lookup(tenant, task.id, reply) })
		require.NoError(m.t, err)
		is := place{found.Priority(), found.Progress.DueAtMs}
		if is.dueMs == 0 {
			is.dueMs = found.Task.EnqueuedAtMs
		}
		require.Contains(m.t, task.may, is)
		task.may = []place{is}
	}
}

// claim claims and completes ready tasks, which must come in the order of their places.
func (m *movedTasks) claim(g *Group, credit int) {
	m.t.Helper()
	var ready []place
	for _, task := range m.tasks {
		if task.may[0].dueMs <= m.nowMs() {
			ready = append(ready, task.may[0])
		}
	}
	slices.SortFunc(ready, place.compare)
	granted, err := AwaitReply(context.Background(), func(reply func([]Granted, error)) error {
		return g.Claim(queue.Claim{Tenant: tenant, Queues: []string{"q"}, Credit: credit}, reply)
	})
	require.NoError(m.t, err)
	var got []place
	var ends []queue.Settlement
	for _, part := range granted {
		for _, d := range part.Tasks {
			at := slices.IndexFunc(m.tasks, func(task *movedTask) bool { return task.id.Ref == d.Ref })
			require.GreaterOrEqual(m.t, at, 0)
			got = append(got, m.tasks[at].may[0])
			m.tasks = slices.Delete(m.tasks, at, at+1)
			ends = append(ends, queue.Settlement{Shard: part.Shard, Ref: d.Ref, Token: d.Token, Action: queue.Complete})
		}
	}
	require.Equal(m.t, ready[:min(credit, len(ready))], got)
	outcomes, err := AwaitReply(context.Background(), func(reply func([]error, error)) error { return g.Settle(tenant, ends, reply) })
	require.NoError(m.t, err)
	for _, outcome := range outcomes {
		require.NoError(m.t, outcome)
	}
}

// through is the part of a test between two failures.
func (m *movedTasks) through(g *Group, tasks int) {
	m.t.Helper()
	m.check(g)
	m.claim(g, 1+m.rng.IntN(tasks/4))
	m.enqueue(g, tasks-len(m.tasks))
}

func (m *movedTasks) drain(g *Group) {
	m.t.Helper()
	m.check(g)
	for len(m.tasks) > 0 {
		m.claim(g, 16)
	}
	for _, kind := range []string{"due", "priority"} {
		require.Positive(m.t, m.moved[kind], kind)
	}
	m.t.Logf("acknowledged changes: %v", m.moved)
}

// The windows are small, so that most tasks are read from the store.
var movedConfig = queue.Config{WindowTasks: 4, WindowsTasks: 24, CacheBytesMax: 64}

// Tasks keep the due time and the priority that they were given, and are claimed in this order,
// although the leader is killed again and again.
func TestMovedTasksKeepTheirPlaceAcrossLeaderKills(t *testing.T) {
	tasks, kills := 150, longtest.Count(t, 8, 200)
	clock := &fixture{t: t}
	clock.nowMs.Store(1_000)
	m := &movedTasks{t: t, nowMs: clock.nowMs.Load, rng: rand.New(rand.NewPCG(5, 6)), moved: map[string]int{}}
	lead := leaders(t, clock.nowMs.Load, movedConfig)
	for kill := range kills {
		g, _ := lead(uint64(2*kill)+1, 1<<30, 0)
		m.through(g, tasks)
		m.move(g, 10)
		g.Close()
		clock.nowMs.Add(1 + m.rng.Int64N(20_000))
		g, _ = lead(uint64(2*kill)+2, 1+m.rng.IntN(60), m.rng.IntN(3)) // it fails during the changes
		m.move(g, 40)
		g.Close()
		clock.nowMs.Add(1 + m.rng.Int64N(20_000))
	}
	clock.nowMs.Add(120_000)
	g, _ := lead(uint64(2*kills)+1, 1<<30, 0)
	m.drain(g)
	g.Close()
}

// The same for losses of power.
func TestMovedTasksKeepTheirPlaceAcrossPowerLosses(t *testing.T) {
	tasks, losses := 150, longtest.Count(t, 6, 200)
	rng := rand.New(rand.NewPCG(7, 8))
	disk, nowMs := vfs.NewCrashableMem(), int64(1_000)
	options := func(_ int, o *Options) { o.Queue = movedConfig }
	f := startGroupAt(t, disk, 1, nowMs, options)
	m := &movedTasks{t: t, nowMs: func() int64 { return nowMs }, rng: rng, moved: map[string]int{}}
	for range losses {
		m.through(f.Group, tasks)
		m.move(f.Group, 30)
		crashed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		f.stop()
		disk = crashed
		nowMs += 1 + rng.Int64N(20_000)
		f = startGroupAt(t, disk, 1, nowMs, options)
	}
	nowMs += 120_000
	f.nowMs.Store(nowMs)
	f.ClockMoved()
	m.drain(f.Group)
	f.stop()
}
