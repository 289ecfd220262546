package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
)

func TestACancelledTaskHasEnded(t *testing.T) {
	l := newLedger(1)
	l.WatchReads()
	l.Sent(0, 3)
	l.Enqueued(0, 0, 1)
	assert.True(t, l.Cancelled(task(0, 0), true))
	assert.True(t, l.Cancelled(task(0, 1), true), "before the enqueue is answered")
	l.Enqueued(0, 1, 2)
	assert.EqualValues(t, 1, l.Outstanding())
	l.Completed(task(0, 2))
	assert.False(t, l.Cancelled(task(0, 9), true), "was never sent")
	assert.Equal(t, result.Ledger{Enqueued: 3, Completed: 1, Cancelled: 2}, l.Balance())
	assert.Zero(t, l.Outstanding())
}

func TestFaultsOfCancelledTasks(t *testing.T) {
	l := newLedger(1)
	l.Sent(0, 2)
	l.Enqueued(0, 0, 1)
	assert.True(t, l.Cancelled(task(0, 0), false))
	assert.Zero(t, l.Completed(task(0, 0)))
	l.Cancelled(task(0, 1), true)
	l.Refused(0, 1, 1)
	b := l.Balance()
	assert.EqualValues(t, []uint64{1, 1, 1, 1}, []uint64{b.Cancelled, b.Unnoticed, b.Duplicated, b.Corrupted})
	assert.Equal(t, []string{
		"duplicated: producer 0 task 0: a completion was acknowledged again, or after the task was cancelled",
		"refused: producer 0 tasks 1 to 1: 1 completed although their enqueue was refused",
		"unnoticed: producer 0 task 0 was cancelled while it was leased, and its worker was not notified",
	}, b.Samples)
	assert.Zero(t, l.Outstanding())
}
