package shard

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

func (f *fixture) cancelLater(refs ...queue.Ref) <-chan reply[[]error] {
	f.t.Helper()
	return ask(f.t, func(r func([]error, error)) error { return f.Change(Cancel, tenant, refs, r) })
}

// removed waits until the removal of a task is visible in the store.
func (f *fixture) removed(ref queue.Ref) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		_, found, err := f.store.Task(ref)
		return err == nil && !found
	}, waitMost, waitStep)
}

// The subscription that holds a cancelled lease learns of it once the cancellation is durable, and
// before the caller that cancelled the task. No other subscription does.
func TestAHolderLearnsOfACancelledTaskOnceThatIsDurable(t *testing.T) {
	disk, fs := newSlowLog()
	f := start(t, fs, Options{})
	defer f.stop()
	defer disk.letGo()
	f.enqueue(newTasks("q", 3)...)
	w, other := f.work(queue.Claim{Queues: []string{"q"}, Credit: 1}), f.work(queue.Claim{Queues: []string{"q"}, Credit: 1})
	first, second := receive(t, w.tasks), receive(t, other.tasks)
	waiting := queue.Ref{Queue: first.Ref.Queue, Seq: 2}

	disk.held.Store(true)
	cancelled := f.cancelLater(waiting, first.Ref)
	receive(t, disk.entered)
	f.removed(first.Ref)
	assert.Empty(t, w.cancelled, "the cancellation is not durable")
	assert.Empty(t, cancelled)
	disk.letGo()
	assert.Equal(t, []error{nil, nil}, receive(t, cancelled).value)
	require.Len(t, w.cancelled, 1)
	assert.Equal(t, ended{0, first.Ref, first.Token}, <-w.cancelled)

	closed := make(chan struct{})
	other.Close(func() { close(closed) })
	receive(t, closed)
	assert.Equal(t, []error{nil}, receive(t, f.cancelLater(second.Ref)).value)
	assert.Empty(t, other.cancelled, "the subscription is closed")
	assert.Empty(t, w.cancelled)
	f.audit()
}

// A cancellation that did not take effect is not reported.
func TestAHolderDoesNotLearnOfARefusedCancellation(t *testing.T) {
	f, log := replicated(t)
	defer func() { require.NoError(t, f.store.Close()) }()
	f.enqueue(newTasks("q", 1)...)
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 1})
	task := receive(t, w.tasks)
	log.mu.Lock()
	log.hold = true
	log.mu.Unlock()
	cancelled := f.cancelLater(task.Ref)
	require.Eventually(t, func() bool { return log.held() == 1 }, waitMost, waitStep)
	log.proposed[0].answer(&NotLeaderError{0})
	require.ErrorIs(t, receive(t, cancelled).err, ErrNotLeader)
	f.Lose()
	assert.Empty(t, w.cancelled)
}

// The deletion of a queue with its tasks reports their leases, in all shards.
func TestHoldersLearnThatTheirQueueIsDeleted(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 2, nil)
	defer f.stop()
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 6})
	for i := range 2 {
		f.enqueueAt(i, newTasks("q", 4)...)
	}
	want := map[ended]bool{}
	var tasks []leased
	for range 6 {
		task := receive(t, w.tasks)
		want[ended{task.shard, task.Ref, task.Token}] = true
		tasks = append(tasks, task)
	}
	removed, err := f.Delete(context.Background(), tenant, "q", true)
	require.NoError(t, err)
	assert.EqualValues(t, 8, removed)
	got := map[ended]bool{}
	for len(w.cancelled) > 0 {
		got[<-w.cancelled] = true
	}
	assert.Equal(t, want, got)
	outcome := receive(t, ask(t, func(r func([]error, error)) error {
		return f.Settle(tenant, []queue.Settlement{tasks[0].settlement(queue.Complete)}, r)
	}))
	assert.Equal(t, []error{queue.ErrCancelled}, outcome.value)
}
