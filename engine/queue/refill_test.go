package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A refill visits a bounded number of tasks, including those that it passes over. A recovery does not visit them again.
func TestRefillPassesOverABoundedNumberOfTasks(t *testing.T) {
	const window, delayed = 8, 500
	f := newFixture(t, Config{WindowTasks: window, LookMax: 2 * window})
	f.fill("a", delayed, func(n *NewTask) { n.DelayMs = 60_000 })
	f.fill("a", 1)
	oldest := func() (reads int) {
		f.Flush()
		s, err := New(f.cfg, f.journal, f.journal.recovered())
		require.NoError(t, err)
		f.State = s
		f.Tick(f.now)
		q, _ := f.Named("t", "a")
		for !f.Refresh(q, f.now) {
			for _, r := range f.Refills() {
				if r.Stream == StreamFresh {
					reads++
					require.LessOrEqual(t, r.LookMax, 2*window)
				}
				f.journal.answer(f.State, r)
			}
			require.Less(t, reads, delayed)
		}
		require.Equal(t, f.now, f.Stats(q, f.now).ReadySinceMs)
		return reads
	}
	assert.GreaterOrEqual(t, oldest(), delayed/(2*window))
	f.fill("a", 1) // stores the queue with the new cursor
	assert.Less(t, oldest(), delayed/(2*window)/10)
}
