package shard

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/fsck"
)

func (f *fixture) list(l List) (Listed, error) {
	f.t.Helper()
	l.Tenant, l.Queue = tenant, "q"
	got := receive(f.t, ask(f.t, func(r func(Listed, error)) error { return f.List(l, r) }))
	return got.value, got.err
}

func (f *fixture) listAll(l List) (all []Found) {
	f.t.Helper()
	for range 10_000 {
		page, err := f.list(l)
		require.NoError(f.t, err)
		require.LessOrEqual(f.t, len(page.Tasks), l.Limit)
		all = append(all, page.Tasks...)
		if len(page.Next) == 0 {
			return all
		}
		l.After = page.Next
	}
	f.t.Fatal("the list does not end")
	return nil
}

// Every task is in the list of its state and in no other, for any page size. A lookup reports the
// same state.
func TestListsHoldEachTaskOnce(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		fs := vfs.NewMem()
		f := start(t, fs, Options{Queue: queue.Config{WindowTasks: 4}})
		want := map[queue.Ref]TaskState{}
		f.enqueue(queue.NewTask{Queue: "other"}, queue.NewTask{Queue: "q/2"})
		for range 20 {
			tasks := make([]queue.NewTask, 1+r.IntN(8))
			for i := range tasks {
				tasks[i] = queue.NewTask{Queue: "q", Priority: uint8(r.IntN(3)), MaxAttempts: 1 + uint32(r.IntN(2)), DelayMs: []uint64{0, 0, 5, 100_000}[r.IntN(4)]}
			}
			for i, ref := range f.enqueue(tasks...) {
				want[ref] = Ready
				if tasks[i].DelayMs > 0 {
					want[ref] = Delayed
				}
			}
			for _, d := range f.claim(r.IntN(5), "q") {
				want[d.Ref] = Leased
				switch r.IntN(4) {
				case 0:
					f.end(d, queue.Complete)
					delete(want, d.Ref)
				case 1:
					f.end(d, queue.Release)
					want[d.Ref] = Ready
				case 2:
					receive(t, f.settleLater(d, queue.Settlement{Action: queue.Fail, Error: "oops", DelayMs: 50_000}))
					want[d.Ref] = Delayed
					if d.Attempt == d.MaxAttempts {
						want[d.Ref] = Dead
					}
				}
			}
			f.pass(int64(r.IntN(3)))
		}
		f.pass(5)
		for ref, state := range want { // the short delays have ended
			if found, err := f.lookup(tenant, ref); assert.NoError(t, err) && state == Delayed && found.State == Ready {
				want[ref] = Ready
			}
		}
		if seed%2 == 0 {
			now := f.nowMs.Load()
			f.stop()
			f = start(t, fs, Options{Queue: queue.Config{WindowTasks: 4}})
			f.nowMs.Store(now)
		}
		got := map[queue.Ref]TaskState{}
		for _, state := range []TaskState{Ready, Delayed, Leased, Dead} {
			for _, found := range f.listAll(List{State: state, Limit: 1 + r.IntN(7)}) {
				require.NotContains(t, got, found.Ref)
				require.Equal(t, state, found.State)
				require.Equal(t, "q", found.Queue)
				got[found.Ref] = state
				looked, err := f.lookup(tenant, found.Ref)
				require.NoError(t, err)
				require.Equal(t, state, looked.State)
				require.Equal(t, looked.LastError, found.LastError, "of a dead task")
			}
		}
		require.True(t, maps.Equal(want, got), "seed %d: want %v, got %v", seed, want, got)
		f.stop()
	}
}

func TestListsRefuseWhatIsNotTheirs(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	_, err := f.list(List{State: Ready, Limit: 1})
	require.ErrorIs(t, err, ErrNoQueue)
	f.enqueue(newTasks("q", 3)...)
	f.enqueue(newTasks("r", 3)...)
	require.Len(t, f.claim(1, "q"), 1)
	for _, state := range []TaskState{Ready, Delayed, Leased, Dead} {
		for _, place := range []storage.Place{{0}, []byte("t"), []byte("d\x00"), make([]byte, 30), []byte("dd\x00\x00\x00\x01\x00\x00\x00"), []byte("tt\x00\x00\x00\x01\x00\x00\x00")} {
			page, err := f.list(List{State: state, Limit: 10, After: place})
			if err != nil {
				require.ErrorIs(t, err, storage.ErrPlace, "state %d, place %x", state, place)
			}
			for _, found := range page.Tasks {
				require.Equal(t, "q", found.Queue)
				require.Equal(t, uint32(0), found.Ref.Queue)
			}
		}
	}
	_, err = f.list(List{State: Done, Limit: 1})
	require.Error(t, err)
}

func TestDeadTasksAreChosen(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	for i := range 6 {
		f.enqueue(queue.NewTask{Queue: "q", MaxAttempts: 1})
		d := f.claim(1, "q")[0]
		receive(t, f.settleLater(d, queue.Settlement{Action: queue.Fail, Error: fmt.Sprint("problem ", i%2)}))
	}
	got := f.listAll(List{State: Dead, Limit: 2, Match: func(f *Found) bool { return f.LastError == "problem 1" && f.DeadRecord.Reason == queue.AttemptsUsedUp }})
	require.Len(t, got, 3)
	for _, found := range got {
		require.Len(t, found.Attempts, 1)
		assert.Equal(t, "problem 1", found.Attempts[0].Error)
		assert.Equal(t, queue.Failed, found.Attempts[0].Outcome)
	}
}

func TestChangesOfSingleTasks(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	refs := f.enqueue(queue.NewTask{Queue: "q", MaxAttempts: 1}, queue.NewTask{Queue: "q", MaxAttempts: 1}, queue.NewTask{Queue: "q"}, queue.NewTask{Queue: "q"})
	ds := f.claim(3, "q")
	f.end(ds[0], queue.Fail)
	f.end(ds[1], queue.Fail)
	change := func(what Change, of string, refs ...queue.Ref) []error {
		got := receive(t, ask(t, func(r func([]error, error)) error { return f.Change(what, of, refs, r) }))
		require.NoError(t, got.err)
		return got.value
	}
	gone := queue.Ref{Queue: refs[0].Queue, Seq: 77}
	for _, what := range []Change{Cancel, Redrive, PurgeDead} {
		assert.Equal(t, []error{ErrNotFound, ErrNotFound, ErrNotFound}, change(what, tenant, gone, queue.Ref{Queue: 9}, queue.Ref{Priority: 99}))
		assert.Equal(t, []error{ErrNotFound}, change(what, "other", refs[0]), "a task of another tenant")
	}
	assert.Equal(t, []error{ErrNotDead, ErrNotDead, nil}, change(Redrive, tenant, refs[2], refs[3], refs[0]))
	assert.Equal(t, []error{ErrNotDead, ErrNotDead, nil, ErrNotFound}, change(PurgeDead, tenant, refs[2], refs[0], refs[1], refs[1]), "a repetition within one call")
	again := f.claim(1, "q")[0]
	assert.Equal(t, refs[0], again.Ref)
	assert.Equal(t, []uint32{2, 2}, []uint32{again.Attempt, again.MaxAttempts}, "a redriven task gets its initial number of further attempts")
	assert.Equal(t, "oops", again.LastError)
	assert.Equal(t, []error{nil, nil, nil}, change(Cancel, tenant, refs[0], refs[2], refs[3]), "leased or not")
	assert.Equal(t, []error{queue.ErrCancelled}, f.settle(tenant, queue.Settlement{Ref: again.Ref, Token: again.Token, Action: queue.Complete}))
	a := f.audit()[0]
	assert.Equal(t, queue.Counts{Enqueued: 4, Removed: 4}, a.Counts)
}

func TestPurgeEmptiesAQueueInParts(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{Queue: queue.Config{WindowTasks: 100}})
	defer f.stop()
	f.enqueue(newTasks("q", 2_500)...)
	delayed := newTasks("q", 700)
	for i := range delayed {
		delayed[i].DelayMs, delayed[i].Priority = 5_000, 9
	}
	f.enqueue(delayed...)
	f.enqueue(newTasks("other", 5)...)
	held := f.claim(3, "q")
	removed, parts := 0, 0
	for more := true; more; parts++ {
		got := receive(t, ask(t, func(r func(Purged, error)) error { return f.Purge(tenant, "q", 5_000, r) }))
		require.NoError(t, got.err)
		require.LessOrEqual(t, got.value.Removed, purgeMax)
		removed, more = removed+got.value.Removed, got.value.More
		require.Less(t, parts, 200)
	}
	assert.Equal(t, 3_197, removed)
	for _, d := range held {
		f.end(d, queue.Complete)
	}
	f.audit()
	assert.Empty(t, f.claim(10, "q"))
	assert.Len(t, f.claim(10, "other"), 5)
	got := receive(t, ask(t, func(r func(Purged, error)) error { return f.Purge(tenant, "none", 1, r) }))
	require.ErrorIs(t, got.err, ErrNoQueue)
}

// The age of the oldest task is also known after a restart, when no window is in memory.
func TestOldestTaskIsReadWhereNoWindowIs(t *testing.T) {
	fs := vfs.NewMem()
	f := start(t, fs, Options{})
	oldest := func() int64 {
		got := receive(t, ask(t, func(r func(queue.Stats, error)) error { return f.QueueStats(tenant, "q", r) }))
		require.NoError(t, got.err)
		return got.value.ReadySinceMs
	}
	f.enqueue(queue.NewTask{Queue: "q", DelayMs: 50}, queue.NewTask{Queue: "q", DelayMs: 500})
	f.pass(100)
	f.enqueue(queue.NewTask{Queue: "q", Priority: 5})
	for range 2 {
		assert.Equal(t, int64(1_050), oldest(), "the age counts from when the task became due")
		f.stop()
		f = start(t, fs, Options{})
		f.nowMs.Store(1_100)
	}
	require.Len(t, f.claim(2, "q"), 2)
	assert.Greater(t, oldest(), int64(1)<<60)
	got := receive(t, ask(t, func(r func(queue.Stats, error)) error { return f.QueueStats(tenant, "none", r) }))
	require.ErrorIs(t, got.err, ErrNoQueue)
	f.stop()
}

func TestNodesOwnRecordsAndCheckpoints(t *testing.T) {
	fs := vfs.NewMem()
	f := start(t, fs, Options{})
	put := func(records ...storage.SystemRecord) {
		got := receive(t, ask(t, func(r func(struct{}, error)) error { return f.PutSystem(records, r) }))
		require.NoError(t, got.err)
	}
	put(storage.SystemRecord{Key: "a", Value: []byte("1")}, storage.SystemRecord{Key: "b", Value: []byte{}})
	put(storage.SystemRecord{Key: "a"}, storage.SystemRecord{Key: "c", Value: []byte("3")})
	f.enqueue(newTasks("q", 2)...)
	require.NoError(t, f.Checkpoint("copy"))
	f.enqueue(newTasks("q", 2)...)
	f.stop()

	s, err := storage.Open("copy", storage.Options{FS: fs, Durability: storage.Sync})
	require.NoError(t, err)
	records, err := s.System()
	require.NoError(t, err)
	assert.Equal(t, []storage.SystemRecord{{Key: "b", Value: []byte{}}, {Key: "c", Value: []byte("3")}}, records)
	audited, err := s.Audit(1_000)
	require.NoError(t, err)
	assert.Equal(t, uint64(2), audited[0].Stored)
	found, err := fsck.CheckConsistency(t.Context(), s, 1)
	require.NoError(t, err)
	assert.Empty(t, found)
	require.NoError(t, s.Close())
}
