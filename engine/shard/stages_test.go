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

// passed returns how much passed each stage.
func passed(t *stages.Times) map[string]uint64 {
	out := map[string]uint64{}
	for _, s := range stages.All() {
		out[s.String()] = t.Read(s).Count
	}
	return out
}

// One command at a time makes one batch each, and each batch passes each stage once.
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

// What commits nothing is not among the commits.
func TestABatchThatCommitsNothingHasNoCommit(t *testing.T) {
	var times stages.Times
	f := start(t, vfs.NewMem(), Options{Stages: &times})
	f.stats()
	f.stop()
	assert.Equal(t, map[string]uint64{
		"receive": 0, "inbox": 1, "decide": 1, "apply": 0, "commit_wait": 0, "commit": 0, "reply": 1, "replicate": 0, "ready": 0,
	}, passed(&times))
}

// A command that waits in the inbox while the shard is held up has waited there; what holds its replies up is reply.
func TestStagesSayWhereABatchWaited(t *testing.T) {
	var times stages.Times
	f := start(t, vfs.NewMem(), Options{Stages: &times})
	const held = 20 * time.Millisecond
	entered, first := make(chan struct{}), make(chan struct{})
	require.NoError(t, put(f.Shard, &query[struct{}]{ // a decision that takes a while
		decided: func(*Shard, int64) (none struct{}, err error) {
			close(entered)
			spin(held)
			return none, nil
		},
		reply: func(struct{}, error) { close(first) },
	}))
	receive(t, entered)
	later := f.enqueueLater(queue.NewTask{Queue: "q"}) // waits for it
	receive(t, first)
	require.NoError(t, receive(t, later).err)
	require.NoError(t, f.Enqueue(tenant, newTasks("q", 1), func([]queue.Enqueued, error) { spin(held) }))
	f.stop()
	decide, inbox, reply := times.Read(stages.Decide), times.Read(stages.Inbox), times.Read(stages.Reply)
	assert.GreaterOrEqual(t, decide.Sum, held)
	assert.GreaterOrEqual(t, reply.Sum, held)
	assert.Greater(t, inbox.Sum, 4*time.Microsecond, "the command was there while the decision went on")
}

// spin keeps its goroutine busy.
func spin(d time.Duration) {
	for until := stages.Now() + d; stages.Now() < until; {
	}
}

// The stage Ready is of each task's first lease, by the clock of the shard. The lease after a release is not one.
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
	require.Len(t, f.claim(10, "q"), 2, "the last one, and the one that was released")
	f.stop()
	ready := times.Read(stages.Ready)
	assert.Equal(t, uint64(5), ready.Count)
	assert.Equal(t, (3*42+2+502)*time.Millisecond, ready.Sum)
}

// A replicated shard has no writing of its own between decision and commit: its commit is that of the log.
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
	assert.Zero(t, got["apply"], "that is the replica's to say")
}

// BenchmarkObserve measures what a batch pays for its stages: the readings of the clock, and the histograms.
func BenchmarkObserve(b *testing.B) {
	s := &Shard{opts: Options{Stages: &stages.Times{}}}
	for b.Loop() {
		t := batchTimes{since: stages.Now()}
		t.began = stages.Now()
		t.decided = stages.Now()
		t.submitted = stages.Now()
		t.taken = stages.Now()
		t.durable = stages.Now()
		s.observe(&t)
	}
}
