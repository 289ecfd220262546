package shard

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/fsck"
)

func (f *fixture) edit(of string, ref queue.Ref, payload string) error {
	f.t.Helper()
	return receive(f.t, ask(f.t, func(r func(struct{}, error)) error {
		return f.EditDead(of, ref, &queue.Edit{SetPayload: true, Payload: []byte(payload)}, r)
	})).err
}

// Edited payloads survive a restart and a flush, reach the worker after a redrive, and leave no
// record when the task is done.
func TestADeadTaskIsEdited(t *testing.T) {
	fs := vfs.NewMem()
	f := start(t, fs, Options{})
	refs := f.enqueue(queue.NewTask{Queue: "q", MaxAttempts: 1, Payload: []byte("wrong")}, queue.NewTask{Queue: "q"})
	ds := f.claim(2, "q")
	f.end(ds[0], queue.Fail)
	require.ErrorIs(t, f.edit("other", refs[0], "theirs"), ErrNotFound)
	require.ErrorIs(t, f.edit(tenant, refs[1], "leased"), ErrNotDead)
	for i := range 3 {
		want := fmt.Sprint("edit ", i)
		require.NoError(t, f.edit(tenant, refs[0], want))
		found, err := f.lookup(tenant, refs[0])
		require.NoError(t, err)
		assert.Equal(t, want, string(found.Task.Payload))
		f.stop()
		f = start(t, fs, Options{})
		found, err = f.lookup(tenant, refs[0])
		require.NoError(t, err)
		assert.Equal(t, want, string(found.Task.Payload))
		problems, err := fsck.CheckConsistency(t.Context(), f.store, 9)
		require.NoError(t, err)
		assert.Empty(t, problems)
	}
	defer func() { f.stop() }()
	require.NoError(t, f.changed(Redrive, refs[0]))
	d := f.claim(1, "q")[0]
	assert.Equal(t, "edit 2", string(d.Payload))
	f.end(d, queue.Complete)
	_, err := f.lookup(tenant, refs[0])
	require.ErrorIs(t, err, ErrNotFound)
	f.stop()
	f = start(t, fs, Options{})
	_, err = f.lookup(tenant, refs[0])
	require.ErrorIs(t, err, ErrNotFound)
}
