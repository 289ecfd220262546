package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAFinalTaskIsDeliveredAfterItsMembersWereCompleted(t *testing.T) {
	l := newLedger(2)
	assert.False(t, l.WatchesCompletions())
	l.WatchFinals(3)
	assert.True(t, l.WatchesCompletions())
	l.Sent(0, 3)
	l.Sent(1, 6)
	l.Enqueued(0, 0, 3)
	l.Enqueued(1, 0, 6)
	l.Delivered(task(0, 1))
	l.Completing(task(0, 1))
	l.Delivered(task(0, 2))
	l.Completing(task(0, 2), task(1, 4))
	l.Delivered(task(0, 0)) // the completions are requested, and not answered yet
	assert.Zero(t, l.Balance().Premature)
	assert.EqualValues(t, 1, l.Balance().Finals)
	l.Completed(task(0, 1), task(0, 2))
	l.Delivered(task(0, 0)) // another delivery

	l.Delivered(task(1, 3))
	l.Delivered(task(1, 0))
	l.Delivered(task(7, 0)) // of no producer
	b := l.Balance()
	assert.EqualValues(t, 2, b.Premature)
	assert.EqualValues(t, 4, b.Finals)
	assert.Contains(t, b.Samples, "premature: producer 1 task 3, the final task of a batch, was delivered before the completion of 1 of its 2 members was requested, such as task 5")
	assert.Contains(t, b.Samples, "premature: producer 1 task 0, the final task of a batch, was delivered before the completion of 2 of its 2 members was requested, such as task 1")
}

// A page whose tasks are all settled is released, and its tasks count as completed.
func TestMembersOfReleasedPagesAreCompleted(t *testing.T) {
	l := newLedger(1)
	l.WatchFinals(pageTasks + 1)
	l.Sent(0, pageTasks+1)
	l.Enqueued(0, 0, pageTasks+1)
	for i := range uint64(pageTasks) {
		l.Completing(task(0, i+1))
		l.Completed(task(0, i+1))
	}
	l.Delivered(task(0, 0))
	assert.Zero(t, l.Balance().Premature)
}

func TestWithoutFinalTasksDeliveriesAreNotChecked(t *testing.T) {
	l := newLedger(1)
	l.Sent(0, 3)
	l.Delivered(task(0, 0))
	assert.Zero(t, l.Balance().Finals)
	assert.Zero(t, l.Balance().Premature)
}
