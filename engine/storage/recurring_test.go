package storage

import (
	"cmp"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/schedule"
	"github.com/pronybench/prony/engine/storage/record"
)

type recurringName struct {
	queue uint32
	name  string
}

func compareNames(a, b recurringName) int {
	return cmp.Or(cmp.Compare(a.queue, b.queue), strings.Compare(a.name, b.name))
}

func (c *contents) mutateRecurring(t *rapid.T, b *Batch, ref queue.Ref, drop bool) {
	key := recurringName{ref.Queue, rapid.SampledFrom(someKeys).Draw(t, "name")}
	if drop {
		delete(c.recurring, key)
		b.DropRecurring(key.queue, key.name)
		return
	}
	r := queue.Recurring{
		Queue: key.queue, Name: key.name,
		Spec:     queue.RecurringSpec{Schedule: schedule.Spec{EveryMs: rapid.Uint64().Draw(t, "interval")}},
		Progress: queue.RecurringProgress{Last: drawFewRef(t), Runs: rapid.Uint64Range(0, 2).Draw(t, "runs")},
	}
	c.recurring[key] = r
	b.PutRecurring(key.queue, key.name, &r.Spec)
	b.PutRecurringProgress(key.queue, key.name, &r.Progress)
}

func (c *contents) recoveredRecurring() (out []queue.RecoveredRecurring) {
	for _, key := range sorted(c.recurring, compareNames) {
		r := c.recurring[key]
		_, stored := c.tasks[r.Progress.Last]
		_, dead := c.dead[r.Progress.Last]
		out = append(out, queue.RecoveredRecurring{Recurring: r, Unfinished: stored && !dead && r.Progress.Runs > 0})
	}
	return out
}

func TestARecurringTaskWithoutProgressIsAnError(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	commit(t, s, func(b *Batch) {
		b.PutRecurring(1, "r", &queue.RecurringSpec{})
		b.delete(record.RecurringKey(record.PrefixRuns, 1, "r"))
	})
	_, err := s.Recover()
	require.ErrorIs(t, err, errNoProgress)
	require.ErrorContains(t, err, `recurring task "r" of queue 1`)
}
