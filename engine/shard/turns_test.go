package shard

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queue"
)

// turnItemsMax bounds the items of a turn: about queue.TurnMax for each kind of work, plus the one
// command, Refill or waiter's share of each kind that may exceed it.
const turnItemsMax = 4*queue.TurnMax + 2_000

// turnItemsBeside is the margin for items of other work than that which a stage tests.
const turnItemsBeside = 200

// turnRefill bounds the records in the answer to one Refill of a window. One turn applies them.
const turnRefill = 2 * queue.TurnMax

// turns records the turns of a shard.
type turns struct {
	mu      sync.Mutex
	n       int
	items   int // of the largest turn
	longest time.Duration
	over    int // turns longer than 2 ms

	// CPU time of the thread at the end of the last turn, and of the turn that used most.
	cpu, longestCPU time.Duration
	overCPU         int // turns with more than 2 ms of CPU time
}

func (r *turns) turned(t TurnStats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cpu == 0 {
		// From here on, the thread's CPU time is that of the deciding goroutine.
		runtime.LockOSThread()
	}
	cpu := threadCPU()
	// used includes the work between turns: sleeping and draining the inbox.
	if used := cpu - r.cpu; r.cpu > 0 {
		r.longestCPU = max(r.longestCPU, used)
		if used > 2*time.Millisecond {
			r.overCPU++
		}
	}
	r.cpu = cpu
	r.n++
	r.items, r.longest = max(r.items, t.Items), max(r.longest, t.Took)
	if t.Took > 2*time.Millisecond {
		r.over++
	}
}

// reset returns the items of the largest turn so far and begins a new measurement.
func (r *turns) reset() (items int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	items = r.items
	r.n, r.items, r.longest, r.over, r.longestCPU, r.overCPU = 0, 0, 0, 0, 0, 0
	return items
}

// Each turn of the deciding goroutine handles a bounded number of items, with many dead letters,
// leases and waiters and for every kind of call. The long form has the numbers of a large server.
// The test logs times but does not check them, because they depend on the machine.
func TestNoTurnHandlesMoreThanABoundedNumberOfItems(t *testing.T) {
	dead, leases, waiting := longtest.Count(t, 10_000, 1_000_000), longtest.Count(t, 10_000, 100_000), longtest.Count(t, 2_000, 10_000)
	r := &turns{}
	f := start(t, vfs.NewMem(), Options{Turned: r.turned})
	defer f.stop()
	stageOf := func(name string, most int) {
		f.stats()
		r.mu.Lock()
		t.Logf("%-28s %6d turns, at most %5d items, longest %v, %d above 2 ms; on CPU longest %v, %d above 2 ms",
			name, r.n, r.items, r.longest, r.over, r.longestCPU, r.overCPU)
		r.mu.Unlock()
		require.LessOrEqual(t, r.reset(), most, name)
	}
	stage := func(name string) { stageOf(name, turnItemsMax) }
	fill := func(name string, n int, maxAttempts uint32) {
		for n > 0 {
			tasks := newTasks(name, min(n, 1_000))
			for i := range tasks {
				tasks[i].MaxAttempts = maxAttempts
			}
			n -= len(tasks)
			f.enqueue(tasks...)
		}
	}
	fill("dead", dead, 1)
	w := f.work(queue.Claim{Queues: []string{"dead"}, LeaseMs: 10, BytesMax: 1 << 40})
	for left := dead; left > 0; left -= min(left, 10_000) {
		require.NoError(t, w.Credit(min(left, 10_000)))
		for range min(left, 10_000) {
			receive(t, w.tasks)
		}
		stage("lease")
		f.nowMs.Add(20)
		require.Eventually(t, func() bool { return f.stats()[0].Leased == 0 }, waitMost, waitStep)
		stage("expire")
	}
	require.Equal(t, uint64(dead), f.stats()[0].Dead)

	fill("held", leases, 20)
	h := f.work(queue.Claim{Queues: []string{"held"}, LeaseMs: 1 << 40, BytesMax: 1 << 40})
	var held []queue.Delivery
	for left := leases; left > 0; left -= min(left, 10_000) {
		require.NoError(t, h.Credit(min(left, 10_000)))
		for range min(left, 10_000) {
			held = append(held, receive(t, h.tasks))
		}
	}
	polls := make([]*worker, waiting)
	for i := range polls {
		polls[i] = f.work(queue.Claim{Queues: []string{"polled", "idle"}, Credit: 1, Once: true})
	}
	stage("wait")

	page, err := f.listOf("dead", List{State: Dead, Limit: 1_000})
	require.NoError(t, err)
	var refs []queue.Ref
	for _, task := range page.Tasks {
		refs = append(refs, task.Ref)
	}
	for _, what := range []Change{Redrive, PurgeDead, Cancel} {
		third := refs[:len(refs)/3]
		refs = refs[len(refs)/3:]
		got := receive(t, ask(t, func(reply func([]error, error)) error { return f.Change(what, tenant, third, reply) }))
		require.NoError(t, got.err)
		for _, outcome := range got.value {
			require.NoError(t, outcome)
		}
	}
	stageOf("redrive, purge dead, cancel", sliceMax+turnItemsBeside)
	var leased []queue.Ref
	for _, d := range held[:1_000] {
		leased = append(leased, d.Ref)
	}
	got := receive(t, ask(t, func(reply func([]error, error)) error { return f.Change(Cancel, tenant, leased, reply) }))
	require.NoError(t, got.err)
	for _, d := range held[1_000:1_100] {
		found, err := f.lookup(tenant, d.Ref)
		require.NoError(t, err)
		require.Equal(t, Leased, found.State)
		waits := f.await(d.Ref)
		waits.cancel()
		require.NoError(t, receive(t, waits.answers).err)
	}
	stageOf("cancel, look up, await leased", sliceMax+turnItemsBeside)
	fill("polled", waiting/2, 20)
	for _, p := range polls[waiting/2:] {
		p.Close(func() {})
	}
	stage("poll")
	_, err = f.listOf("held", List{State: Leased, Limit: 1_000})
	require.NoError(t, err)
	stage("list")
	fill("purged", 5_000, 20)
	stage("enqueue")
	for more := true; more; {
		p := receive(t, ask(t, func(reply func(Purged, error)) error { return f.Purge(tenant, "purged", 5_000, reply) }))
		require.NoError(t, p.err)
		more = p.value.More
	}
	stageOf("purge", purgeMax+turnRefill+turnItemsBeside)

	const calls = 20 // large calls, in one turn
	answered := make(chan struct{}, calls)
	f.together(func() {
		for range calls {
			require.NoError(t, f.Enqueue(tenant, newTasks("crowd", 1_000), func([]queue.Enqueued, error) { answered <- struct{}{} }))
		}
	})
	for range calls {
		receive(t, answered)
	}
	stageOf("enqueue at once", 2*1_000+turnItemsBeside)
	var crowd []*worker
	f.together(func() {
		for range calls {
			crowd = append(crowd, f.work(queue.Claim{Queues: []string{"crowd"}, Credit: 1_000, LeaseMs: 1 << 40}))
		}
	})
	for _, w := range crowd {
		for range 1_000 {
			receive(t, w.tasks)
		}
		w.Close(func() {})
	}
	stageOf("lease to many", queue.TurnMax+turnRefill+turnItemsBeside)

	var late [calls][]queue.Delivery // by lease batch
	for i := range late {
		fill("late", 1_000, 20)
		late[i] = f.claim(1_000, "late")
		require.Len(t, late[i], 1_000)
	}
	stage("claim")
	// All leases have expired, and each call settles tasks of different lease batches.
	f.together(func() {
		f.nowMs.Add(1 << 20)
		for i := range calls {
			var settlements []queue.Settlement
			for _, batch := range late {
				settlements = append(settlements, queue.Settlement{Ref: batch[i].Ref, Token: batch[i].Token, Action: queue.Complete})
			}
			require.NoError(t, f.Settle(tenant, settlements, func([]error, error) { answered <- struct{}{} }))
		}
	})
	for range calls {
		receive(t, answered)
	}
	stageOf("settle what expired", 3*queue.TurnMax+turnRefill+turnItemsBeside)

	mortal := newTasks("mortal", 1_000)
	for i := range mortal {
		mortal[i].TTLMs = 10
	}
	for range 5 {
		f.enqueue(mortal...)
	}
	f.nowMs.Add(20)
	require.Eventually(t, func() bool {
		st := f.stats()
		i := slices.IndexFunc(st, func(q queue.Stats) bool { return q.Name == "mortal" })
		return st[i].Dead == 5_000
	}, waitMost, waitStep)
	stageOf("time to live", queue.TurnMax+turnRefill+turnItemsBeside)
	f.nowMs.Add(1 << 41)
	require.Eventually(t, func() bool {
		for _, st := range f.stats() {
			if st.Leased > 0 && st.Name == "held" {
				return false
			}
		}
		return true
	}, waitMost, waitStep)
	stage("expire all")
}

// threadCPU returns the CPU time that the calling thread has used.
func threadCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

func (f *fixture) listOf(queue string, l List) (Listed, error) {
	l.Tenant, l.Queue = tenant, queue
	got := receive(f.t, ask(f.t, func(r func(Listed, error)) error { return f.List(l, r) }))
	return got.value, got.err
}

// A claim that does not wait gets all the ready tasks that it asks for in one answer, even if the
// dispatch takes several turns.
func TestClaimThatSpansTurnsGetsAllThatIsReady(t *testing.T) {
	r := &turns{}
	f := start(t, vfs.NewMem(), Options{Turned: r.turned})
	defer f.stop()
	receive(t, ask(t, func(reply func(struct{}, error)) error { return f.Pause(tenant, "q", true, reply) }))
	for range 6 {
		f.enqueue(newTasks("q", 1_000)...)
	}
	stream := f.work(queue.Claim{Queues: []string{"q"}, Credit: 5_000})
	f.stats()
	closed := make(chan struct{})
	var claim *worker
	f.together(func() {
		require.NoError(t, f.Pause(tenant, "q", false, func(struct{}, error) {}))
		claim = f.work(queue.Claim{Queues: []string{"q"}, Credit: 900, Once: true})
		claim.Close(func() { close(closed) })
	})
	receive(t, closed)
	require.Len(t, claim.tasks, 900)
	for range 5_000 {
		receive(t, stream.tasks)
	}
	r.mu.Lock()
	require.LessOrEqual(t, r.items, turnItemsMax)
	r.mu.Unlock()
}
