package shard

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/queue"
)

// passed returns the number of observations of each stage.
func passed(t *stages.Times) map[string]uint64 {
	out := map[string]uint64{}
	for _, s := range stages.All() {
		out[s.String()] = t.Read(s).Count
	}
	return out
}

// Commands that arrive one at a time form one batch each, and each batch passes each stage once.
func TestABatchPassesEachStageOnce(t *testing.T) {
	var times stages.Times
	f := start(t, vfs.NewMem(), Options{Stages: &times})
	for range 5 {
		f.enqueue(queue.NewTask{Queue: "q"})
	}
	f.stop()
	assert.Equal(t, map[string]uint64{
		"receive": 0, "inbox": 5, "decide": 5, "apply": 5, "commit_wait": 5, "commit": 5, "reply": 5, "replicate": 0, "ready": 0,
	}, passed(&times))
	for _, s := range stages.All() {
		assert.GreaterOrEqual(t, times.Read(s).Sum, time.Duration(0), s)
	}
}

// A turn without mutations is not counted as a commit.
func TestABatchThatCommitsNothingHasNoCommit(t *testing.T) {
	var times stages.Times
	f := start(t, vfs.NewMem(), Options{Stages: &times})
	f.stats()
	f.stop()
	assert.Equal(t, map[string]uint64{
		"receive": 0, "inbox": 1, "decide": 1, "apply": 0, "commit_wait": 0, "commit": 0, "reply": 1, "replicate": 0, "ready": 0,
	}, passed(&times))
}

// The wait of a command in the inbox of a busy shard counts as inbox, and slow reply functions
// count as reply.
func TestStagesSayWhereABatchWaited(t *testing.T) {
	var times stages.Times
	f := start(t, vfs.NewMem(), Options{Stages: &times})
	const held = 20 * time.Millisecond
	entered, first := make(chan struct{}), make(chan struct{})
	require.NoError(t, put(f.Shard, &query[struct{}]{ // a slow decision
		decided: func(*decider, int64) (none struct{}, err error) {
			close(entered)
			spin(held)
			return none, nil
		},
		reply: func(struct{}, error) { close(first) },
	}))
	receive(t, entered)
	later := f.enqueueLater(queue.NewTask{Queue: "q"}) // waits for the decision
	receive(t, first)
	require.NoError(t, receive(t, later).err)
	require.NoError(t, f.Enqueue(tenant, newTasks("q", 1), func([]queue.Enqueued, error) { spin(held) }))
	f.stop()
	decide, inbox, reply := times.Read(stages.Decide), times.Read(stages.Inbox), times.Read(stages.Reply)
	assert.GreaterOrEqual(t, decide.Sum, held)
	assert.GreaterOrEqual(t, reply.Sum, held)
	assert.Greater(t, inbox.Sum, 4*time.Microsecond, "the command waited in the inbox during the decision")
}

func spin(d time.Duration) {
	for until := stages.Now() + d; stages.Now() < until; {
	}
}

// The stage Ready measures the time until each task's first lease, by the clock of the shard. A
// lease after a release does not count.
func TestReadyIsTheTimeUntilTheFirstLease(t *testing.T) {
	var times stages.Times
	f := start(t, vfs.NewMem(), Options{Stages: &times})
	f.enqueue(newTasks("q", 3)...)
	f.pass(40)
	f.enqueue(newTasks("q", 2)...)
	f.pass(2)
	leased := f.claim(4, "q")
	require.Len(t, leased, 4)
	f.end(leased[0], queue.Release)
	f.pass(500)
	require.Len(t, f.claim(10, "q"), 2, "the last task and the released one")
	f.stop()
	ready := times.Read(stages.Ready)
	assert.Equal(t, uint64(5), ready.Count)
	assert.Equal(t, (3*42+2+502)*time.Millisecond, ready.Sum)
}

// A replicated shard does not write between decision and commit: the log's commit is its commit.
func TestAReplicatedBatchHasTheLogsStages(t *testing.T) {
	f, log := replicated(t)
	f.enqueue(queue.NewTask{Queue: "q"})
	log.mu.Lock()
	require.Empty(t, log.proposed)
	log.mu.Unlock()
	f.Lose()
	got := passed(f.opts.Stages)
	require.NoError(t, f.store.Close())
	assert.Equal(t, uint64(1), got["commit_wait"])
	assert.Equal(t, uint64(1), got["commit"])
	assert.Zero(t, got["apply"], "the replica measures it")
}

// BenchmarkObserve measures the cost of a batch's stage times: reading the clock and updating the
// histograms.
func BenchmarkObserve(b *testing.B) {
	p := &publisher{shard: &Shard{opts: Options{Stages: &stages.Times{}}}}
	for b.Loop() {
		t := batchTimes{since: stages.Now()}
		t.began = stages.Now()
		t.decided = stages.Now()
		t.submitted = stages.Now()
		t.taken = stages.Now()
		t.durable = stages.Now()
		p.observe(&t)
	}
}
