package shard

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/fsck"
)

// Lists, lookups, claims and a restart agree on the place of a task that was moved.
func TestMovedTasksAreFoundInTheirNewPlace(t *testing.T) {
	fs := vfs.NewMem()
	f := start(t, fs, Options{})
	refs := f.enqueue(queue.NewTask{Queue: "q"}, queue.NewTask{Queue: "q", DelayMs: 60_000}, queue.NewTask{Queue: "q", MaxAttempts: 1}, queue.NewTask{Queue: "q"}, queue.NewTask{Queue: "q", Priority: 5})
	fresh, delayed, dead, leased, urgent := refs[0], refs[1], refs[2], refs[3], refs[4]
	require.NoError(t, f.changed(Reschedule(50_000), fresh))
	d := f.claim(3, "q")
	require.Equal(t, []queue.Ref{urgent, dead, leased}, []queue.Ref{d[0].Ref, d[1].Ref, d[2].Ref})
	f.end(d[0], queue.Complete)
	f.end(d[1], queue.Fail)
	for _, change := range []struct {
		what Change
		ref  queue.Ref
		err  error
	}{
		{Reschedule(0), fresh, nil},
		{Reschedule(70_000), delayed, nil},
		{Reschedule(0), dead, ErrNotWaiting},
		{Reschedule(0), leased, ErrNotWaiting},
		{Prioritize(9), fresh, nil},
		{Prioritize(8), delayed, nil},
		{Prioritize(7), dead, nil},
		{Prioritize(6), leased, ErrLeased},
		{Reschedule(0), urgent, ErrNotFound},
		{Prioritize(0), urgent, ErrNotFound},
	} {
		require.Equal(t, change.err, f.changed(change.what, change.ref))
	}
	check := func() {
		t.Helper()
		for ref, want := range map[queue.Ref]struct {
			state    TaskState
			priority uint8
			dueAtMs  int64
		}{fresh: {Ready, 9, 1_000}, delayed: {Delayed, 8, 70_000}, dead: {Dead, 7, 1_000}, leased: {Leased, 0, 0}} {
			found, err := f.lookup(tenant, ref)
			require.NoError(t, err)
			assert.Equal(t, want.state, found.State)
			assert.Equal(t, want.priority, found.Priority())
			assert.Equal(t, want.dueAtMs, found.Progress.DueAtMs)
			listed := f.listAll(List{State: want.state, Limit: 9})
			require.Len(t, listed, 1)
			assert.Equal(t, ref, listed[0].Ref)
			assert.Equal(t, want.priority, listed[0].Priority())
		}
		found, err := fsck.CheckConsistency(t.Context(), f.store, 9)
		require.NoError(t, err)
		assert.Empty(t, found)
	}
	check()
	f.stop()
	f = start(t, fs, Options{})
	defer func() { f.stop() }()
	check()
	f.nowMs.Store(70_000)
	require.NoError(t, f.changed(Redrive, dead))
	d = f.claim(4, "q")
	got := []queue.Ref{}
	for i := range d {
		got = append(got, d[i].Ref)
	}
	assert.Equal(t, []queue.Ref{fresh, delayed, dead, leased}, got)
	f.stop()
	f = start(t, fs, Options{})
	f.nowMs.Store(70_000)
	f.end(d[0], queue.Release)
	after, err := f.lookup(tenant, fresh)
	require.NoError(t, err)
	assert.EqualValues(t, 9, after.Priority(), "the lease was recovered")
}
