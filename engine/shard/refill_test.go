package shard

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// The deciding goroutine of a replicated shard does not wait for a commit to refill a window. It
// decides other commands during the reading, and the tasks keep their order.
func TestRefillWaitsForNoCommitWhileItDecides(t *testing.T) {
	const n = 9
	f, log := replicatedWith(t, 7, queue.Config{WindowTasks: 2})
	defer func() {
		f.Lose()
		require.NoError(t, f.store.Close())
	}()
	defer log.holding(false)
	refs := f.enqueue(newTasks("q", n)...)
	log.holding(true)
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: n + 2}) // two tasks are in memory
	require.Eventually(t, func() bool { return log.held() == 1 && f.waitsForNothing() }, waitMost, waitStep)
	behind := f.enqueueLater(newTasks("q", 2)...)
	other := f.enqueueLater(newTasks("other", 1)...)
	require.Eventually(t, func() bool { return log.held() >= 2 && f.waitsForNothing() }, waitMost, waitStep,
		"other commands are decided while the refill waits for the commits")
	var polled *worker
	closed := make(chan struct{})
	f.together(func() { // the claim also waits for the refill, without delaying others
		polled = f.work(queue.Claim{Queues: []string{"q"}, Credit: 1, Once: true})
		polled.Close(func() { close(closed) })
	})
	require.Eventually(t, f.waitsForNothing, waitMost, waitStep)
	assert.Empty(t, w.tasks)

	log.holding(false)
	require.NoError(t, receive(t, other).err)
	for _, e := range receive(t, behind).value {
		refs = append(refs, e.Ref)
	}
	receive(t, closed)
	got := map[queue.Ref]bool{}
	for len(polled.tasks) > 0 {
		got[receive(t, polled.tasks).Ref] = true
	}
	require.LessOrEqual(t, len(got), 1)
	last := queue.Ref{}
	for len(got) < len(refs) {
		d := receive(t, w.tasks)
		require.False(t, got[d.Ref], "the task was leased before")
		require.True(t, len(got) <= 1 || d.Seq > last.Seq, "%v after %v", d.Ref, last)
		got[d.Ref], last = true, d.Ref
	}
	for _, ref := range refs {
		require.True(t, got[ref], "%v was passed over", ref)
	}
	f.audit()
}

// Tasks that are cancelled, die or return while the store is read for their windows are leased once
// or not at all, according to their last change.
func TestRefillSeesWhatIsDecidedMeanwhile(t *testing.T) {
	f, log := replicatedWith(t, 7, queue.Config{WindowTasks: 2})
	defer func() {
		f.Lose()
		require.NoError(t, f.store.Close())
	}()
	defer log.holding(false)
	tasks := newTasks("q", 8)
	for i := 4; i < 8; i++ {
		tasks[i].DelayMs = 10
	}
	refs := f.enqueue(tasks...)
	f.nowMs.Add(10)
	first := f.claim(6, "q") // the tasks that were delayed come first
	require.Len(t, first, 6)
	log.holding(true)
	f.enqueueLater(newTasks("other", 1)...)
	require.Eventually(t, func() bool { return log.held() == 1 && f.waitsForNothing() }, waitMost, waitStep)
	for _, d := range first[:5] { // they return beyond the window
		f.settleLater(d, queue.Settlement{Action: queue.Release})
	}
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 20})
	f.settleLater(first[5], queue.Settlement{Action: queue.Release})
	require.Eventually(t, f.waitsForNothing, waitMost, waitStep)
	log.holding(false)
	got := map[queue.Ref]bool{}
	for len(got) < len(refs) {
		d := receive(t, w.tasks)
		require.False(t, got[d.Ref], "%v was leased twice", d.Ref)
		got[d.Ref] = true
	}
	st := f.stats()
	for _, q := range st {
		if q.Name == "q" {
			assert.Equal(t, []uint64{0, 0, 8}, []uint64{q.Ready, q.Delayed, q.Leased})
		}
	}
	f.audit()
}

// Filling the windows of many queues is spread over many turns.
func TestWindowsOfManyQueuesAreFilledInManyTurns(t *testing.T) {
	const queues, each = 64, 100
	fs := vfs.NewMem()
	f := start(t, fs, Options{})
	for q := range queues {
		f.enqueue(newTasks(fmt.Sprint("q", q), each)...)
	}
	f.stop()
	r := &turns{}
	f = start(t, fs, Options{Turned: r.turned}) // the windows are empty
	defer f.stop()
	workers := make([]*worker, queues)
	f.together(func() {
		for q := range workers {
			workers[q] = f.work(queue.Claim{Queues: []string{fmt.Sprint("q", q)}, Credit: each})
		}
	})
	for _, w := range workers {
		for i := range each {
			require.Equal(t, uint64(i), receive(t, w.tasks).Seq)
		}
	}
	f.stats()
	r.mu.Lock()
	defer r.mu.Unlock()
	assert.LessOrEqual(t, r.items, refillItemsMax+2*queue.TurnMax+each, "items filled, granted and visited in one turn")
}
