package shard

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

func (f *fixture) page(l queue.QueueList) QueuePage {
	f.t.Helper()
	got := receive(f.t, ask(f.t, func(r func(QueuePage, error)) error { return f.ListQueues(l, r) }))
	require.NoError(f.t, got.err)
	return got.value
}

// read returns the number of records that the store has read.
func (f *fixture) read() uint64 {
	c := f.store.Counters()
	return c.Gets + c.Scanned
}

// After a recovery the figures of no queue are known. A page reads those of its queues only.
func TestAPageOfQueuesReadsOnlyItsQueues(t *testing.T) {
	const queues, limit = 10_000, 50
	fs := vfs.NewMem()
	f := start(t, fs, Options{Queue: queue.Config{QueuesPerTenant: queues, Queues: queues}})
	tasks := make([]queue.NewTask, queues)
	for i := range tasks {
		tasks[i].Queue = fmt.Sprintf("q%05d", i)
	}
	f.enqueue(tasks...)
	f.stop()
	f = start(t, fs, Options{Queue: queue.Config{QueuesPerTenant: queues, Queues: queues}})
	defer f.stop()
	f.nowMs.Add(1_000)
	for _, after := range []string{"", "q00049", "q05000"} {
		l := queue.QueueList{Limit: limit}
		first := 0
		if after != "" {
			l.After = &queue.Name{Tenant: tenant, Queue: after}
			_, err := fmt.Sscanf(after, "q%d", &first)
			require.NoError(t, err)
			first++
		}
		before := f.read()
		page := MergePages([]QueuePage{f.page(l)}, limit)
		assert.LessOrEqual(t, f.read()-before, uint64(3*limit))
		require.Len(t, page.Queues, limit)
		for i, q := range page.Queues {
			assert.Equal(t, fmt.Sprintf("q%05d", first+i), q.Name)
			assert.EqualValues(t, 1, q.Ready)
			assert.EqualValues(t, 1_000, q.ReadySinceMs, "the oldest task is read")
		}
		require.Equal(t, page.Queues[limit-1].Name, page.End.Queue)
	}
}

func TestAPageOfQueuesIsExact(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{Queue: queue.Config{WindowTasks: 10}})
	defer f.stop()
	f.comeBack()
	want := f.stats()
	assert.ElementsMatch(t, want, f.page(queue.QueueList{Limit: len(want)}).Queues)
	assert.Empty(t, f.page(queue.QueueList{Tenant: "nobody", Limit: 1}).Queues)
}

// Each part has all of its queues up to its end, and perhaps fewer than the limit.
func TestPagesOfQueuesAreMerged(t *testing.T) {
	stats := func(names ...string) (out []queue.Stats) {
		for _, name := range names {
			out = append(out, queue.Stats{Tenant: "t", Name: name, Ready: 1})
		}
		return out
	}
	end := func(name string) *queue.Name { return &queue.Name{Tenant: "t", Queue: name} }
	for _, c := range []struct {
		parts []QueuePage
		want  []queue.Stats
		end   *queue.Name
	}{
		{nil, nil, nil},
		{[]QueuePage{{Queues: stats("c", "a")}, {Queues: stats("b")}}, stats("a", "b", "c"), nil},
		{[]QueuePage{{Queues: stats("a", "c", "d")}, {Queues: stats("b", "e")}}, stats("a", "b", "c"), end("c")},
		{[]QueuePage{{Queues: stats("a"), End: end("b")}, {Queues: stats("b", "c", "d")}}, stats("a", "b"), end("b")},
		{[]QueuePage{{End: end("a")}, {Queues: stats("b"), End: end("c")}}, nil, end("a")},
	} {
		got := MergePages(c.parts, 3)
		assert.Equal(t, c.end, got.End)
		require.Len(t, got.Queues, len(c.want))
		for i := range c.want {
			assert.Equal(t, c.want[i], got.Queues[i])
		}
	}
	got := MergePages([]QueuePage{{Queues: stats("a")}, {Queues: stats("a")}}, 3)
	require.Len(t, got.Queues, 1)
	assert.EqualValues(t, 2, got.Queues[0].Ready)
}
