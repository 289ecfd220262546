package audit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

func TestConserved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		counts   observe.Counts
		ledger   result.Ledger
		problems []string
	}{
		{name: "nothing happened"},
		{
			name:   "all completed",
			counts: observe.Counts{Enqueued: 10, Completed: 10},
			ledger: result.Ledger{Enqueued: 10, Completed: 10},
		},
		{
			name:   "some left, in every state",
			counts: observe.Counts{Enqueued: 10, Completed: 6, Ready: 1, Leased: 1, Delayed: 1, Dead: 1, Stored: 4},
			ledger: result.Ledger{Enqueued: 10, Completed: 6},
		},
		{
			name:   "unknown tasks were enqueued, and are still held",
			counts: observe.Counts{Enqueued: 12, Completed: 10, Ready: 2, Stored: 2},
			ledger: result.Ledger{Enqueued: 10, Unknown: 2, Completed: 10},
		},
		{
			name:   "unknown tasks were never enqueued",
			counts: observe.Counts{Enqueued: 10, Completed: 10},
			ledger: result.Ledger{Enqueued: 10, Unknown: 2, Completed: 10},
		},
		{
			name:   "unknown tasks were completed",
			counts: observe.Counts{Enqueued: 12, Completed: 12},
			ledger: result.Ledger{Enqueued: 10, Unknown: 2, Completed: 10},
		},
		{
			name:   "completions in doubt took effect",
			counts: observe.Counts{Enqueued: 10, Completed: 10},
			ledger: result.Ledger{Enqueued: 10, Completed: 8, InDoubt: 2},
		},
		{
			name:   "completions in doubt took no effect",
			counts: observe.Counts{Enqueued: 10, Completed: 8, Leased: 2, Stored: 2},
			ledger: result.Ledger{Enqueued: 10, Completed: 8, InDoubt: 2},
		},
		{
			name:     "more tasks were completed than were in doubt",
			counts:   observe.Counts{Enqueued: 10, Completed: 10},
			ledger:   result.Ledger{Enqueued: 10, Completed: 8, InDoubt: 1},
			problems: []string{"the server acknowledged the completion of 8 tasks, but counts 10"},
		},
		{
			name:   "tasks are dead after their last attempt failed",
			counts: observe.Counts{Enqueued: 10, Completed: 8, Dead: 2, Stored: 2},
			ledger: result.Ledger{Enqueued: 10, Completed: 8, Failed: 5, Retried: 3, Dead: 2},
		},
		{
			name:     "a task is not dead after its last attempt failed",
			counts:   observe.Counts{Enqueued: 10, Completed: 8, Dead: 1, Delayed: 1, Stored: 2},
			ledger:   result.Ledger{Enqueued: 10, Completed: 8, Failed: 5, Retried: 3, Dead: 2},
			problems: []string{"the server acknowledged the last failure of 2 tasks, but counts 1 dead"},
		},
		{
			name:     "the store lost a record",
			counts:   observe.Counts{Enqueued: 10, Completed: 9, Ready: 1},
			ledger:   result.Ledger{Enqueued: 10, Completed: 9},
			problems: []string{"the server reports 1 held tasks, but its store has 0"},
		},
		{
			name:     "the store kept a record",
			counts:   observe.Counts{Enqueued: 10, Completed: 10, Stored: 1},
			ledger:   result.Ledger{Enqueued: 10, Completed: 10},
			problems: []string{"the server reports 0 held tasks, but its store has 1"},
		},
		{
			name:     "the server's counters do not add up",
			counts:   observe.Counts{Enqueued: 10, Completed: 8, Ready: 1, Stored: 1},
			ledger:   result.Ledger{Enqueued: 10, Completed: 8},
			problems: []string{"the server reports 10 enqueued tasks, but 8 completed and 1 held are 9"},
		},
		{
			name:   "the server forgot an acknowledged enqueue",
			counts: observe.Counts{Enqueued: 9, Completed: 9},
			ledger: result.Ledger{Enqueued: 10, Completed: 9},
			problems: []string{
				"the server acknowledged 10 enqueues, but counts 9",
			},
		},
		{
			name:   "the server counts more enqueues than possible",
			counts: observe.Counts{Enqueued: 13, Completed: 12, Ready: 1, Stored: 1},
			ledger: result.Ledger{Enqueued: 10, Unknown: 2, Completed: 10},
			problems: []string{
				"the server acknowledged 10 enqueues, but counts 13",
			},
		},
		{
			name:   "the server acknowledged a completion and kept the task",
			counts: observe.Counts{Enqueued: 10, Completed: 9, Leased: 1, Stored: 1},
			ledger: result.Ledger{Enqueued: 10, Completed: 10},
			problems: []string{
				"the server acknowledged the completion of 10 tasks, but counts 9",
				"expected 0 remaining tasks, but the server holds 1 (0 ready, 1 leased, 0 delayed, 0 dead)",
			},
		},
		{
			name:   "the server completed tasks without a request",
			counts: observe.Counts{Enqueued: 10, Completed: 10},
			ledger: result.Ledger{Enqueued: 10, Completed: 8},
			problems: []string{
				"the server acknowledged the completion of 8 tasks, but counts 10",
			},
		},
		{
			name:   "more completed than enqueued does not wrap around",
			counts: observe.Counts{Enqueued: 10, Completed: 10},
			ledger: result.Ledger{Enqueued: 9, Unknown: 1, Completed: 10},
		},
		{
			name:   "the server has more tasks than can remain",
			counts: observe.Counts{Enqueued: 12, Completed: 8, Delayed: 3, Dead: 1, Stored: 4},
			ledger: result.Ledger{Enqueued: 11, Unknown: 1, Completed: 9},
			problems: []string{
				"the server acknowledged the completion of 9 tasks, but counts 8",
				"expected 2 remaining tasks, but the server holds 4 (0 ready, 0 leased, 3 delayed, 1 dead)",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.problems, Conserved(c.counts, &c.ledger))
		})
	}
}

// The account of a correct server balances for any outcome of the unknown tasks. No single count
// can be wrong by more than these tasks without being found.
func TestConservedOfAnHonestServer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Uint64Range(0, 1000)
		l := result.Ledger{Enqueued: count.Draw(t, "enqueued"), Unknown: count.Draw(t, "unknown")}
		l.Completed = rapid.Uint64Range(0, l.Enqueued).Draw(t, "completed")
		stored := rapid.Uint64Range(0, l.Unknown).Draw(t, "unknown tasks that were enqueued")
		done := rapid.Uint64Range(0, stored).Draw(t, "completed unknown tasks")
		c := observe.Counts{Enqueued: l.Enqueued + stored, Completed: l.Completed + done}
		c.Stored = c.Enqueued - c.Completed
		c.Ready = rapid.Uint64Range(0, c.Stored).Draw(t, "ready")
		c.Leased = c.Stored - c.Ready
		assert.Empty(t, Conserved(c, &l))

		by := l.Unknown + rapid.Uint64Range(1, 10).Draw(t, "error")
		for _, wrong := range []*uint64{&c.Enqueued, &c.Completed, &c.Ready, &c.Leased, &c.Delayed, &c.Dead, &c.Stored} {
			*wrong += by
			assert.NotEmpty(t, Conserved(c, &l))
			*wrong -= by
		}
	})
}

// A cancelled task is neither completed nor held. One whose cancellation is in doubt may be either.
func TestConservedWithCancelledTasks(t *testing.T) {
	l := &result.Ledger{Enqueued: 10, Completed: 7, Cancelled: 3}
	assert.Empty(t, Conserved(observe.Counts{Enqueued: 10, Completed: 7}, l))
	assert.Equal(t, []string{"the server reports 10 enqueued tasks, but 7 completed, 1 held and 3 cancelled are 11"},
		Conserved(observe.Counts{Enqueued: 10, Completed: 7, Ready: 1, Stored: 1}, l))
	l.Cancelled, l.InDoubt = 2, 1
	assert.Empty(t, Conserved(observe.Counts{Enqueued: 10, Completed: 7}, l))
	l.InDoubt = 0
	assert.Equal(t, []string{"the server reports 10 enqueued tasks, but 7 completed, 0 held and 2 cancelled are 9"},
		Conserved(observe.Counts{Enqueued: 10, Completed: 7}, l))
}
