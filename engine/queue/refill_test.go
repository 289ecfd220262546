package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A refill visits a bounded number of tasks, including those that it skips. A recovery does not
// visit skipped tasks again.
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

// A task that is cancelled between the reading for a window and the answer is not leased. A task
// that is enqueued or returned in this period is not skipped.
func TestRefillKnowsWhatChangedAfterTheReading(t *testing.T) {
	for name, delayMs := range map[string]uint64{"fresh": 0, "returned": 5} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Config{WindowTasks: 4})
			refs := f.fill("a", 6, func(n *NewTask) { n.DelayMs = delayMs })
			f.now += 5
			f.Flush()
			s, err := New(f.cfg, f.journal, f.journal.recovered())
			require.NoError(t, err)
			f.State = s
			w := f.wait(100, "a")
			require.Empty(t, f.Dispatch(f.now, nil))
			require.True(t, f.Awaits(w))
			require.False(t, f.Unfinished(), "the queue's turns continue after the answer")
			var answers []func()
			for _, r := range f.Refills() {
				answers = append(answers, f.journal.read(f.State, r))
			}
			for _, ref := range []Ref{refs[1], refs[4]} {
				stored, found := f.journal.look(ref)
				require.True(t, found)
				f.Cancel(&stored)
			}
			refs = append(refs, f.fill("a", 1)...)
			f.Flush()
			for _, answer := range answers {
				answer()
			}
			var got []Ref
			for _, d := range f.dispatch()[w] {
				got = append(got, d.Ref)
			}
			assert.Equal(t, []Ref{refs[0], refs[2], refs[3], refs[5], refs[6]}, got)
			assert.False(t, f.Awaits(w))
		})
	}
}
