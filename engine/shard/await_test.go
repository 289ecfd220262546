package shard

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// wait is a wait for the end of a task. The channel of its answers has room for a second one, which
// is an error.
type wait struct {
	answers chan reply[Awaited]
	cancel  func()
}

func (f *fixture) await(ref queue.Ref) *wait {
	f.t.Helper()
	w := &wait{answers: make(chan reply[Awaited], 2)}
	var err error
	w.cancel, err = f.Await(tenant, ref, func(a Awaited, err error) { w.answers <- reply[Awaited]{a, err} })
	require.NoError(f.t, err)
	return w
}

// together makes the shard decide the commands that send puts into the inbox in one turn, with one
// commit.
func (f *fixture) together(send func()) {
	f.t.Helper()
	entered, gate := make(chan struct{}), make(chan struct{})
	require.NoError(f.t, put(f.Shard, &query[struct{}]{
		decided: func(*decider, int64) (none struct{}, err error) {
			close(entered)
			<-gate
			return none, nil
		},
		reply: func(struct{}, error) {},
	}))
	receive(f.t, entered)
	send()
	close(gate)
}

func (f *fixture) settleLater(d queue.Delivery, s queue.Settlement) <-chan reply[[]error] {
	f.t.Helper()
	s.Ref, s.Token = d.Ref, d.Token
	return ask(f.t, func(r func([]error, error)) error { return f.Settle(tenant, []queue.Settlement{s}, r) })
}

func (f *fixture) changed(what Change, ref queue.Ref) error {
	f.t.Helper()
	got := receive(f.t, ask(f.t, func(r func([]error, error)) error { return f.Change(what, tenant, []queue.Ref{ref}, r) }))
	require.NoError(f.t, got.err)
	return got.value[0]
}

// answeredOnce returns a wait's answer, and checks that there is no second one.
func (f *fixture) answeredOnce(w *wait) reply[Awaited] {
	f.t.Helper()
	got := receive(f.t, w.answers)
	w.cancel()
	f.stats() // all earlier decisions are published
	assert.Empty(f.t, w.answers, "second answer")
	return got
}

func TestAwaitAnswersWhenTheTaskEnds(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	refs := f.enqueue(
		queue.NewTask{Queue: "q", RetentionMs: 1_000},
		queue.NewTask{Queue: "q"},
		queue.NewTask{Queue: "q", MaxAttempts: 1},
		queue.NewTask{Queue: "q"},
		queue.NewTask{Queue: "q", TTLMs: 100, DelayMs: 5_000},
		queue.NewTask{Queue: "q", DelayMs: 9_000},
	)
	ds := f.claim(3, "q")
	waits := make([]*wait, len(refs))
	for i, ref := range refs {
		waits[i] = f.await(ref)
	}
	f.stats()
	for _, w := range waits {
		assert.Empty(t, w.answers)
	}
	f.nowMs.Add(10)
	receive(t, f.settleLater(ds[0], queue.Settlement{Action: queue.Complete, Result: []byte("42")}))
	receive(t, f.settleLater(ds[1], queue.Settlement{Action: queue.Complete, Result: []byte("not kept")}))
	receive(t, f.settleLater(ds[2], queue.Settlement{Action: queue.Fail, Error: "oops"}))
	require.NoError(t, f.changed(Cancel, refs[3]))
	f.pass(100) // the fifth task's time to live ends
	waits[5].cancel()

	kept := Awaited{State: Done, Result: queue.Result{CompletedAtMs: 1_010, RetainedUntilMs: 2_010, Value: []byte("42")}}
	want := []reply[Awaited]{
		{value: kept},
		{value: Awaited{State: Done}},
		{value: Awaited{State: Dead, LastError: "oops"}},
		{err: ErrNotFound},
		{value: Awaited{State: Dead}},
		{value: Awaited{State: Delayed}},
	}
	for i, w := range waits {
		got := f.answeredOnce(w)
		assert.ErrorIs(t, got.err, want[i].err)
		assert.Equal(t, want[i].value, got.value, "task %d", i)
	}

	// A later wait gets the same answer, except for a done task without a stored result, of which
	// no record remains.
	want[1], want[4].value.LastError = reply[Awaited]{err: ErrNotFound}, ""
	for i, ref := range refs[:5] {
		got := f.answeredOnce(f.await(ref))
		assert.ErrorIs(t, got.err, want[i].err)
		if want[i].err == nil {
			assert.Equal(t, want[i].value, got.value, "task %d", i)
		}
	}
	f.pass(1_000) // the result's retention has ended, but its bucket still exists
	assert.ErrorIs(t, f.answeredOnce(f.await(refs[0])).err, ErrNotFound)
	for _, ref := range []queue.Ref{{Queue: 7}, {Queue: refs[0].Queue, Seq: 99}, {Queue: refs[0].Queue, Priority: 77}} {
		assert.ErrorIs(t, f.answeredOnce(f.await(ref)).err, ErrNotFound)
	}
	other := receive(t, ask(t, func(r func(Awaited, error)) error {
		_, err := f.Await("other", refs[2], r)
		return err
	}))
	assert.ErrorIs(t, other.err, ErrNotFound, "a task of another tenant")
}

// The begin and the end of a wait may be decided in one commit. There is still exactly one answer.
func TestAwaitAnswersOnceWhateverIsDecidedTogether(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	f.enqueue(queue.NewTask{Queue: "q", RetentionMs: 1_000}, queue.NewTask{Queue: "q", RetentionMs: 1_000}, queue.NewTask{Queue: "q"})
	ds := f.claim(3, "q")
	done := queue.Settlement{Action: queue.Complete, Result: []byte("42")}

	var w *wait
	f.together(func() { // wait and completion
		w = f.await(ds[0].Ref)
		f.settleLater(ds[0], done)
	})
	assert.Equal(t, "42", string(f.answeredOnce(w).value.Result.Value))

	f.together(func() { // wait, completion and cancelled wait
		w = f.await(ds[1].Ref)
		f.settleLater(ds[1], done)
		w.cancel()
	})
	assert.Equal(t, "42", string(f.answeredOnce(w).value.Result.Value))

	f.together(func() { // wait and cancelled wait
		w = f.await(ds[2].Ref)
		w.cancel()
	})
	assert.Equal(t, Leased, f.answeredOnce(w).value.State)
}

func TestCloseAnswersThoseWhoWait(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	ref := f.enqueue(newTasks("q", 1)...)[0]
	waits := []*wait{f.await(ref), f.await(ref), f.await(ref)}
	waits[1].cancel()
	assert.NoError(t, receive(t, waits[1].answers).err)
	f.stop()
	for _, w := range waits {
		w.cancel()
	}
	assert.ErrorIs(t, receive(t, waits[0].answers).err, ErrClosed)
	assert.ErrorIs(t, receive(t, waits[2].answers).err, ErrClosed)
	for _, w := range waits {
		assert.Empty(t, w.answers)
	}
}

// If the commit that ends a task fails, its wait is answered once, with the error, and not before
// the failure.
func TestAwaitIsNotAnsweredBeforeTheEndIsDurable(t *testing.T) {
	disk, fs := newSlowLog()
	f := start(t, fs, Options{})
	defer disk.letGo()
	f.enqueue(newTasks("q", 2)...)
	ds := f.claim(2, "q")
	before := f.await(ds[0].Ref)
	f.stats()
	disk.held.Store(true)
	disk.failing.Store(true)
	f.broken.Store(true)
	settled := f.settleLater(ds[0], queue.Settlement{Action: queue.Complete})
	receive(t, disk.entered)
	during := f.await(ds[1].Ref)
	require.Eventually(t, func() bool {
		_, found, err := f.store.Task(ds[0].Ref)
		return err == nil && !found
	}, waitMost, waitStep)
	assert.Empty(t, before.answers)
	disk.letGo()
	assert.ErrorIs(t, receive(t, settled).err, errDisk)
	assert.ErrorIs(t, receive(t, before.answers).err, errDisk)
	assert.Error(t, receive(t, during.answers).err)
	f.Close()
	assert.Empty(t, before.answers)
	assert.Empty(t, during.answers)
	assert.Error(t, f.store.Close(), "the log is incomplete")
}
