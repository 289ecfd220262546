//go:build planted

package shard

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/queue"
)

// enable enables a fault with amount 1, so that it occurs each time.
func enable(t *testing.T, fault string) {
	t.Helper()
	t.Cleanup(func() { require.NoError(t, planted.Begin()) })
	t.Setenv("PRONY_PLANTED", fault+":1")
	require.NoError(t, planted.Begin())
}

// plant enables a fault and starts a shard.
func plant(t *testing.T, fault string) *fixture {
	t.Helper()
	enable(t, fault)
	f := start(t, vfs.NewMem(), Options{})
	t.Cleanup(f.stop)
	return f
}

func TestPlantedLossOfATask(t *testing.T) {
	f := plant(t, planted.Lost)
	refs := f.enqueue(newTasks("q", 3)...)
	assert.NotEqual(t, refs[1], refs[2])
	_, err := f.lookup(tenant, refs[2])
	require.ErrorIs(t, err, ErrNotFound)
	assert.Len(t, f.claim(3, "q"), 2)
}

func TestPlantedDropOfACompletion(t *testing.T) {
	f := plant(t, planted.Dropped)
	f.enqueue(newTasks("q", 1)...)
	f.end(f.claim(1, "q")[0], queue.Complete)
	assert.EqualValues(t, 1, f.stats()[0].Leased)
	f.pass(plantedLeaseMs)
	assert.EqualValues(t, 2, f.claim(1, "q")[0].Attempt)
}

func TestPlantedRepetitionOfACompletedTask(t *testing.T) {
	f := plant(t, planted.Again)
	f.enqueue(newTasks("q", 1)...)
	f.end(f.claim(1, "q")[0], queue.Complete)
	assert.Len(t, f.claim(1, "q"), 1)
}

func TestPlantedChangesOfDeliveries(t *testing.T) {
	f := plant(t, planted.Flipped)
	f.enqueue(newTasks("q", 1)...)
	assert.Equal(t, []byte{1}, f.claim(1, "q")[0].Payload)

	f = plant(t, planted.Reversed)
	f.enqueue(newTasks("q", 3)...)
	got := f.claim(3, "q")
	require.Len(t, got, 3)
	assert.Greater(t, got[0].Seq, got[2].Seq)
}

func TestPlantedSecondTaker(t *testing.T) {
	for fault, of := range map[string]string{planted.Twice: tenant, planted.Stranger: "other"} {
		f := plant(t, fault)
		other := f.work(queue.Claim{Tenant: of, Queues: []string{"q"}})
		require.NoError(t, other.Credit(1))
		receive(t, ask(t, func(r func([]queue.Enqueued, error)) error { return f.Enqueue(of, newTasks("q", 1), r) }))
		own := receive(t, other.tasks)
		if fault == planted.Twice { // no other subscription exists yet
			assert.Equal(t, own.Token, receive(t, other.tasks).Token)
		}

		w := f.work(queue.Claim{Queues: []string{"q"}})
		require.NoError(t, w.Credit(1))
		f.enqueue(newTasks("q", 1)...)
		d := receive(t, w.tasks)
		assert.NotEqual(t, own.Ref, d.Ref)
		assert.Equal(t, d.Token, receive(t, other.tasks).Token, fault)
	}
}

func TestPlantedReadOfAnotherTenantsTask(t *testing.T) {
	f := plant(t, planted.Read)
	ref := f.enqueue(newTasks("q", 1)...)[0]
	_, err := f.lookup("stranger", ref)
	require.NoError(t, err)
}

func TestPlantedTaskIsForgottenByARestart(t *testing.T) {
	fs := vfs.NewMem()
	f := start(t, fs, Options{})
	f.enqueue(newTasks("q", 4)...)
	f.stop()
	t.Cleanup(func() { require.NoError(t, planted.Begin()) })
	t.Setenv("PRONY_PLANTED", planted.Forgotten+":2")
	require.NoError(t, planted.Begin())
	f = start(t, fs, Options{})
	assert.Len(t, f.claim(4, "q"), 2)
	f.stop()
}

func TestPlantedAcknowledgementBeforeTheFsync(t *testing.T) {
	for fault, synced := range map[string]bool{planted.Unsynced: false, planted.Lost: true} {
		f := plant(t, fault)
		before := f.store.Counters().LogFsyncs
		f.enqueue(newTasks("q", 2)...)
		assert.Equal(t, synced, f.store.Counters().LogFsyncs > before, fault)
	}
}

func TestPlantedAcknowledgementBeforeTheFollowers(t *testing.T) {
	t.Cleanup(func() { require.NoError(t, planted.Begin()) })
	t.Setenv("PRONY_PLANTED", planted.Early)
	require.NoError(t, planted.Begin())
	f, log := replicated(t)
	log.mu.Lock()
	log.hold = true
	log.mu.Unlock()
	require.NoError(t, receive(t, f.enqueueLater(newTasks("q", 1)...)).err)
	log.mu.Lock()
	require.NotEmpty(t, log.proposed, "the log still holds the entry")
	for _, p := range log.proposed {
		p.answer(log.apply(p.entry))
	}
	log.hold = false
	log.mu.Unlock()
	f.stop()
}

func TestPlantedWritesOfAQueue(t *testing.T) {
	sets := map[string]uint64{}
	for _, fault := range []string{planted.Read, "writes"} {
		f := plant(t, fault)
		f.enqueue(newTasks("q", 1)...)
		before := f.store.Counters().Sets
		f.enqueue(newTasks("q", 1)...)
		sets[fault] = f.store.Counters().Sets - before
	}
	assert.Equal(t, sets[planted.Read]+1, sets["writes"])
}

func TestPlantedSecondTaskOfAUniqueKey(t *testing.T) {
	f := plant(t, planted.Doubled)
	task := newTasks("q", 1)[0]
	task.Key, task.KeyScope = "k", queue.UntilFinished
	first, second := f.enqueue(task), f.enqueue(task)
	assert.NotEqual(t, first, second)
	assert.Len(t, f.claim(2, "q"), 2)
}

func TestPlantedEndOfABatch(t *testing.T) {
	f := plant(t, planted.Hasty)
	final := queue.NewTask{Queue: "final"}
	require.Nil(t, final.Depend(nil, 1, "", queue.WaitForDead))
	f.enqueue(final)
	assert.Len(t, f.claim(1, "final"), 1)
}

func TestPlantedSkipOfADueTime(t *testing.T) {
	enable(t, planted.Skipped)
	f := startGroup(t, vfs.NewMem(), 1, nil)
	defer f.stop()
	_, err := f.SetRecurring(t.Context(), tenant, "q", "r", everyMs(1_000))
	require.NoError(t, err)
	f.nowMs.Add(5_000)
	f.ClockMoved()
	v, err := f.Recurring(t.Context(), tenant, "q", "r")
	require.NoError(t, err)
	assert.Zero(t, v.Progress.Runs)
	assert.EqualValues(t, 1, v.Progress.Refused)
}

func TestPlantedCancellationWithoutEffect(t *testing.T) {
	f := plant(t, planted.Uncancelled)
	f.enqueue(newTasks("q", 1)...)
	first := f.claim(1, "q")[0]
	got := receive(t, ask(t, func(r func([]error, error)) error { return f.Change(Cancel, tenant, []queue.Ref{first.Ref}, r) }))
	require.NoError(t, got.err)
	assert.Equal(t, []error{nil}, got.value)
	f.end(first, queue.Complete)
	assert.Zero(t, f.stats()[0].Removed)
	assert.EqualValues(t, 1, f.stats()[0].Completed)
}

func TestPlantedChangeOfHeaders(t *testing.T) {
	f := plant(t, planted.Relabelled)
	task := queue.NewTask{Queue: "q", Payload: []byte("p")}
	task.AddHeaders(map[string]string{"kind": "a"})
	f.enqueue(task)
	d := f.claim(1, "q")[0]
	headers, payload := d.Split()
	assert.Equal(t, map[string]string{"kind": "`"}, headers.Map())
	assert.Equal(t, []byte("p"), payload)
}
