package shard

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// A queue has many tasks in each of the other states. A page reads only its own tasks, wherever it
// is in the list.
func TestAPageOfTasksReadsOnlyItsTasks(t *testing.T) {
	const many, limit = 3_000, 50
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	f.enqueue(newTasks("q", many)...)
	for left := many; left > 0; {
		taken := f.claim(min(left, 500), "q")
		require.NotEmpty(t, taken)
		left -= len(taken)
		ends := make([]queue.Settlement, len(taken))
		for i, d := range taken {
			ends[i] = queue.Settlement{Ref: d.Ref, Token: d.Token, Action: queue.Fail, Permanent: true, Error: "no such account"}
		}
		f.settle(tenant, ends...)
	}
	later := newTasks("q", many)
	for i := range later {
		later[i].DelayMs = 3_600_000
	}
	f.enqueue(later...)
	f.enqueue(newTasks("q", 3*limit)...)
	all := f.stats()[0]
	require.Equal(t, []uint64{3 * limit, many, many}, []uint64{all.Ready, all.Delayed, all.Dead})

	for state, name := range map[TaskState]string{Ready: "ready", Delayed: "delayed", Dead: "dead"} {
		t.Run(name, func(t *testing.T) {
			l := List{Tenant: tenant, Queue: "q", State: state, Limit: limit}
			for page := range 3 {
				before := f.read()
				got, err := f.list(l)
				require.NoError(t, err)
				// A page seeks once in each lane, and a dead letter has an attempt.
				assert.LessOrEqual(t, f.read()-before, uint64(2*limit+2*queue.Lanes), "page %d", page)
				require.Len(t, got.Tasks, limit, "page %d", page)
				l.After = got.Next
			}
		})
	}
}
