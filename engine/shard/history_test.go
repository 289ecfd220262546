package shard

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/fsck"
	"github.com/pronybench/prony/engine/storage/record"
)

func (f *fixture) configure(p queue.Policy, version uint64) {
	f.t.Helper()
	require.NoError(f.t, receive(f.t, ask(f.t, func(r func(struct{}, error)) error { return f.Configure(tenant, "q", p, version, r) })).err)
}

// history returns all pages of a list.
func (f *fixture) history(l HistoryList) (all []FinishedTask, pages int) {
	f.t.Helper()
	for at := storage.Place(nil); ; pages++ {
		got := receive(f.t, ask(f.t, func(r func(HistoryPage, error)) error { return f.History(l, at, r) }))
		require.NoError(f.t, got.err)
		require.LessOrEqual(f.t, len(got.value.Tasks), l.Limit)
		all = append(all, got.value.Tasks...)
		if got.value.Next == nil {
			return all, pages + 1
		}
		at = got.value.Next.After
	}
}

func (f *fixture) sound() {
	f.t.Helper()
	problems, err := fsck.CheckConsistency(f.t.Context(), f.store, 9)
	require.NoError(f.t, err)
	assert.Empty(f.t, problems)
}

// Entries describe the end of their tasks, survive a restart, and vanish with the time, with a lower
// limit and with the queue.
func TestFinishedTasksStayInTheHistory(t *testing.T) {
	fs := vfs.NewMem()
	f := start(t, fs, Options{})
	f.configure(queue.Policy{HistoryTasksMax: 4, HistoryRetentionMs: 10_000}, 1)
	done := queue.NewTask{Queue: "q", MaxAttempts: 2, Priority: 5, Payload: []byte("p"), Backoff: queue.Backoff{InitialMs: 1, MaxMs: 1}}
	done.AddHeaders(map[string]string{"kind": "welcome"})
	f.enqueue(done)
	enqueuedMs := f.nowMs.Load()
	f.pass(100)
	first := f.nowMs.Load()
	d := f.claim(1, "q")[0]
	f.settle(tenant, queue.Settlement{Ref: d.Ref, Token: d.Token, Action: queue.Fail, Error: "no such mailbox", DelayMs: 1})
	f.pass(50)
	last := f.nowMs.Load()
	d = f.claim(1, "q")[0]
	f.pass(7)
	f.stop()
	f = start(t, fs, Options{})
	f.nowMs.Store(last + 7)
	f.end(d, queue.Complete)
	got, _ := f.history(HistoryList{Tenant: tenant, Queue: "q", Limit: 9})
	require.Len(t, got, 1)
	task := got[0]
	assert.Equal(t, "welcome", task.Headers.Get("kind"))
	task.Headers = nil
	assert.Equal(t, FinishedTask{
		ID: queue.ID{Ref: d.Ref}, Queue: "q", Finished: queue.Finished{
			Ref: d.Ref, How: queue.FinishCompleted, Attempts: 2, EnqueuedAtMs: enqueuedMs, Claims: queue.Claims{FirstMs: first, LastMs: last}, FinishedAtMs: last + 7,
			LastError: "no such mailbox",
		},
	}, task)

	f.enqueue(newTasks("q", 6)...)
	for _, d := range f.claim(6, "q") {
		f.end(d, queue.Complete)
	}
	got, pages := f.history(HistoryList{Tenant: tenant, Queue: "q", Limit: 1})
	assert.Len(t, got, 4, "the last four")
	assert.Equal(t, 4, pages)
	one, _ := f.history(HistoryList{Tenant: tenant, ID: &got[2].ID, Limit: 9})
	assert.Equal(t, got[2:3], one, "found by its id alone")
	gone, _ := f.history(HistoryList{Tenant: tenant, ID: &queue.ID{Ref: d.Ref}, Limit: 9})
	assert.Empty(t, gone)
	for _, l := range []HistoryList{{Tenant: "other", Queue: "q", Limit: 1}, {Tenant: "other", ID: &got[0].ID, Limit: 1}, {Tenant: tenant, Queue: "none", Limit: 1}} {
		refused := receive(t, ask(t, func(r func(HistoryPage, error)) error { return f.History(l, nil, r) }))
		require.ErrorIs(t, refused.err, ErrNoQueue)
	}
	f.sound()
	f.stop()

	f = start(t, fs, Options{})
	f.nowMs.Store(last + 7)
	same, _ := f.history(HistoryList{Tenant: tenant, Queue: "q", Limit: 9})
	assert.Equal(t, got, same)
	f.configure(queue.Policy{HistoryTasksMax: 2, HistoryRetentionMs: 10_000}, 2)
	same, _ = f.history(HistoryList{Tenant: tenant, Queue: "q", Limit: 9})
	assert.Equal(t, got[:2], same)
	f.pass(10_000)
	same, _ = f.history(HistoryList{Tenant: tenant, Queue: "q", Limit: 9})
	assert.Empty(t, same)
	until(t, func() bool {
		f.pass(0)
		snap, entries := f.store.Snapshot(), 0
		require.NoError(t, snap.Scan([]byte{record.PrefixFinished}, func(_, _ []byte) (bool, error) {
			entries++
			return true, nil
		}))
		require.NoError(t, snap.Close())
		return entries == 0
	})
	f.sound()
	f.stop()
}

// The history of a queue that is spread over shards is listed one shard after the other, each entry
// once.
func TestTheHistoryOfAllShardsIsListed(t *testing.T) {
	const shards, n = 3, 40
	f := startGroup(t, vfs.NewMem(), shards, nil)
	defer f.stop()
	ctx := context.Background()
	_, err := f.History(ctx, HistoryList{Tenant: tenant, Queue: "q", Limit: 1}, ListPlace{})
	require.ErrorIs(t, err, ErrNoQueue)
	for i := range shards {
		s := f.here.Load().shards[i]
		require.NoError(t, receive(t, ask(t, func(r func(struct{}, error)) error {
			return s.Configure(tenant, "q", queue.Policy{HistoryTasksMax: n}, 1, r)
		})).err)
	}
	for i := range n {
		f.enqueueAt(i%shards, newTasks("q", 1)...)
	}
	want := map[queue.ID]bool{}
	for len(want) < n {
		for _, d := range f.claim(n-len(want), "q") {
			want[queue.ID{Shard: d.shard, Ref: d.Ref}] = true
			require.NoError(t, f.settle(d.settlement(queue.Complete))[0])
		}
	}
	for _, l := range []HistoryList{{Limit: 1}, {Limit: 7}, {Limit: 100}, {Limit: 100, BytesMax: 300}} {
		t.Run(fmt.Sprint(l.Limit, " ", l.BytesMax), func(t *testing.T) {
			l.Tenant, l.Queue = tenant, "q"
			got := map[queue.ID]bool{}
			for at := &(ListPlace{}); at != nil; {
				page, err := f.History(ctx, l, *at)
				require.NoError(t, err)
				require.LessOrEqual(t, len(page.Tasks), l.Limit)
				for _, task := range page.Tasks {
					require.False(t, got[task.ID])
					got[task.ID] = true
				}
				at = page.Next
			}
			require.Equal(t, want, got)
		})
	}
	for id := range want {
		page, err := f.History(ctx, HistoryList{Tenant: tenant, ID: &id, Limit: 9}, ListPlace{})
		require.NoError(t, err)
		require.Len(t, page.Tasks, 1)
		require.Equal(t, id, page.Tasks[0].ID)
		require.Nil(t, page.Next)
	}
	_, err = f.History(ctx, HistoryList{Tenant: tenant, Queue: "q", Limit: 1}, ListPlace{Shard: shards})
	require.ErrorIs(t, err, storage.ErrPlace)
	_, err = f.History(ctx, HistoryList{Tenant: tenant, ID: &queue.ID{Shard: 99}, Limit: 1}, ListPlace{})
	require.ErrorIs(t, err, ErrNotFound)
}
