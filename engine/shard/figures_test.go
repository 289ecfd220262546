package shard

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// comeBack fills a queue with far more tasks than a window holds. They become ready, delayed and
// leased in every possible way. Leases end at 2,000 ms, and delays between 1,001 ms and 1,200 ms.
func (f *fixture) comeBack() {
	f.t.Helper()
	delayed := newTasks("q", 200)
	for i := range delayed {
		delayed[i].DelayMs = uint64(1 + i)
	}
	f.enqueue(newTasks("q", 300)...)
	f.enqueue(delayed...)
	for i := range 3 {
		f.enqueue(queue.NewTask{Queue: "other", Priority: uint8(i), DelayMs: uint64(100 * i)})
	}
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 250, LeaseMs: 1_000})
	for i := range 250 {
		d := receive(f.t, w.tasks)
		switch {
		case i < 40:
			f.end(d, queue.Release)
		case i < 60:
			f.end(d, queue.Fail) // delayed by approximately a second
		}
	}
	closed := make(chan struct{})
	w.Close(func() { close(closed) })
	receive(f.t, closed)
}

// checkDepths checks the figures of each kind of request against the store.
func (f *fixture) checkDepths() map[string]storage.States {
	f.t.Helper()
	got := map[string]storage.States{}
	for _, st := range f.stats() { // this also ends expired leases
		got[st.Name] = storage.States{Ready: st.Ready, Delayed: st.Delayed, Leased: st.Leased, Dead: st.Dead}
		one := receive(f.t, ask(f.t, func(r func(queue.Stats, error)) error { return f.QueueStats(tenant, st.Name, r) }))
		require.NoError(f.t, one.err)
		require.Equal(f.t, st, one.value)
		require.Equal(f.t, st.Ready > 0, st.ReadySinceMs <= f.nowMs.Load(), "%+v", st)
	}
	require.NoError(f.t, f.settleNothing()) // wait until the decisions of the figures are committed
	for _, a := range f.audit() {
		require.Equal(f.t, a.Found, got[a.Name], "%s at %d", a.Name, f.nowMs.Load())
	}
	return got
}

// Tasks that became ready after a delay, a release or the end of a lease count as ready at once,
// also after a restart and before any claim.
func TestDepthByStateIsExactAfterARestart(t *testing.T) {
	fs := vfs.NewMem()
	cfg := Options{Queue: queue.Config{WindowTasks: 10}}
	f := start(t, fs, cfg)
	f.comeBack()
	f.checkDepths()
	for _, nowMs := range []int64{1_050, 1_050, 1_150, 1_300, 2_500, 9_000} {
		now := max(nowMs, f.nowMs.Load())
		f.stop()
		f = start(t, fs, cfg)
		f.nowMs.Store(now)
		f.checkDepths()
	}
	assert.Equal(t, storage.States{Ready: 500}, f.checkDepths()["q"])
	f.stop()
}

// The figures are exact also if the next leader's clock is behind or ahead.
func TestDepthByStateIsExactAfterAFailover(t *testing.T) {
	f, log := replicated(t)
	f.opts.Queue.WindowTasks = 10
	f.comeBack()
	f.nowMs.Store(1_150)
	f.enqueue(newTasks("q", 1)...) // the queue is stored with what is due now
	before := f.checkDepths()["q"]
	for i, skewMs := range []int64{-80, 40, -20, 0} {
		f.Lose()
		nowMs := f.nowMs.Load() + skewMs
		next := &fixture{t: t, store: f.store}
		next.nowMs.Store(nowMs)
		log.mu.Lock()
		log.term++
		tenure := storage.Tenure{Term: log.term, ID: uint64(2 + i)}
		log.mu.Unlock()
		require.NoError(t, log.Propose(tenure.Begin()).Wait())
		var err error
		next.Shard, err = New(f.store, Options{NowMs: next.nowMs.Load, Replicate: log, Tenure: tenure, Queue: queue.Config{WindowTasks: 10, LookMax: 64}})
		require.NoError(t, err)
		f = next
		states := f.checkDepths()["q"]
		if i == 0 {
			assert.Equal(t, before.Ready-80, states.Ready, "by this clock, that many tasks are delayed again")
		}
	}
	f.Lose()
	require.NoError(t, f.store.Close())
}

// Other commands are decided while the shard counts many due tasks.
func TestFiguresLetOthersHaveTheirTurn(t *testing.T) {
	fs := vfs.NewMem()
	cfg := Options{Queue: queue.Config{WindowTasks: 10, LookMax: 100}}
	f := start(t, fs, cfg)
	const n = 5_000
	delayed := newTasks("q", n)
	for i := range delayed {
		delayed[i].DelayMs = 50
	}
	f.enqueue(delayed...)
	f.stats()
	f.nowMs.Add(50)
	gate, order := make(chan struct{}), make(chan string, 2)
	require.NoError(t, put(f.Shard, &query[struct{}]{
		decided: func(*decider, int64) (none struct{}, err error) { <-gate; return none, nil },
		reply:   func(struct{}, error) {},
	}))
	require.NoError(t, f.Stats(func(st []queue.Stats, err error) {
		assert.NoError(t, err)
		// Figures of other queues may come first.
		i := slices.IndexFunc(st, func(q queue.Stats) bool { return q.Name == "q" })
		assert.Equal(t, uint64(n), st[i].Ready)
		order <- "figures"
	}))
	require.NoError(t, f.Enqueue(tenant, newTasks("other", 1), func([]queue.Enqueued, error) { order <- "enqueue" }))
	close(gate)
	assert.Equal(t, "enqueue", receive(t, order))
	assert.Equal(t, "figures", receive(t, order))
	f.stop()
}

// A shard that stops or fails answers all requests for figures.
func TestFiguresAreAnsweredWhenTheShardStops(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	f.enqueue(newTasks("q", 1)...)
	asked := ask(t, f.Stats)
	f.stop()
	assert.NoError(t, receive(t, asked).err)
	assert.ErrorIs(t, f.Stats(nil), ErrClosed)
}

// A request for the figures of all queues visits only the changed queues, a bounded number in each
// turn.
func TestFiguresCostWhatChanged(t *testing.T) {
	const queues = 3*figuresQueuesMax + 7
	r := &turns{}
	f := start(t, vfs.NewMem(), Options{Turned: r.turned})
	defer f.stop()
	tasks := make([]queue.NewTask, queues)
	for i := range tasks {
		tasks[i].Queue = fmt.Sprint("q", i)
	}
	f.enqueue(tasks...)
	changed := func() int {
		return receive(t, ask(t, func(r func(int, error)) error {
			return put(f.Shard, &query[int]{decided: func(d *decider, _ int64) (int, error) { return d.state.ChangedQueues(), nil }, reply: r})
		})).value
	}
	require.Equal(t, queues, changed())
	r.reset()
	require.Len(t, f.stats(), queues)
	require.LessOrEqual(t, r.reset(), figuresQueuesMax)

	f.enqueue(tasks[:5]...)
	assert.Equal(t, 5, changed(), "unchanged queues are not visited")
	byName := map[string]uint64{}
	for _, st := range f.stats() {
		byName[st.Name] = st.Ready
	}
	require.Len(t, byName, queues)
	for i := range queues {
		want := uint64(1)
		if i < 5 {
			want = 2
		}
		assert.Equal(t, want, byName[fmt.Sprint("q", i)])
	}
}

// After a recovery, each turn requests readings for a bounded number of queues.
func TestFiguresReadForFewQueuesInATurn(t *testing.T) {
	const turnsMin = 10
	fs := vfs.NewMem()
	f := start(t, fs, Options{})
	tasks := make([]queue.NewTask, turnsMin*figuresReadsMax)
	for i := range tasks {
		tasks[i].Queue = fmt.Sprint("q", i)
	}
	f.enqueue(tasks...)
	f.stop()
	r := &turns{}
	f = start(t, fs, Options{Turned: r.turned})
	defer f.stop()
	require.Len(t, f.stats(), len(tasks))
	r.mu.Lock()
	defer r.mu.Unlock()
	require.GreaterOrEqual(t, r.n, turnsMin)
}
