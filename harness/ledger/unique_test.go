package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func uniqueLedger() (*Ledger, Address) {
	l := newLedger(2)
	l.WatchUnique()
	return l, NewAddress("t0", "q0")
}

func TestAKeyHasOneUnfinishedTask(t *testing.T) {
	l, to := uniqueLedger()
	l.Sent(0, 3)
	l.Sent(1, 1)
	l.Enqueued(0, 0, 3)
	l.HoldsKey(task(0, 0), to, 5)
	l.HoldsKey(task(0, 0), to, 5) // its delivery
	l.HoldsKey(task(0, 1), to, 6)
	l.HoldsKey(task(0, 2), NewAddress("t0", "q1"), 5)
	l.Completing(task(0, 0))
	l.Enqueued(1, 0, 1)
	l.HoldsKey(task(1, 0), to, 5)
	assert.Zero(t, l.Balance().Doubled)
	l.KeyTaken(3)
	assert.EqualValues(t, 3, l.Balance().Taken)
}

func TestTwoUnfinishedTasksOfAKeyAreDoubled(t *testing.T) {
	l, to := uniqueLedger()
	l.Sent(0, 1)
	l.Sent(1, 1)
	l.Enqueued(0, 0, 1)
	l.HoldsKey(task(0, 0), to, 5)
	// The second task is delivered before its enqueue is acknowledged.
	l.HoldsKey(task(1, 0), to, 5)
	b := l.Balance()
	assert.EqualValues(t, 1, b.Doubled)
	assert.Equal(t, []string{
		"lost: producer 0 task 0: enqueue acknowledged, never completed",
		"doubled: producer 0 task 0 and producer 1 task 0, both sent to t0/q0 under key 5, were unfinished at the same time",
	}, b.Samples)
	l.Enqueued(1, 0, 1)
	l.HoldsKey(task(1, 0), to, 5)
	assert.EqualValues(t, 1, l.Balance().Doubled, "each pair counts once")
}

// Answers may be processed in another order than the server's. A task whose completion was requested
// before its enqueue was answered no longer holds its key.
func TestAKeyIsFreeOnceTheCompletionWasRequested(t *testing.T) {
	l, to := uniqueLedger()
	l.Sent(0, 2)
	l.Sent(1, 1)
	l.HoldsKey(task(0, 0), to, 5)
	l.Completing(task(0, 0))
	l.Enqueued(1, 0, 1)
	l.HoldsKey(task(1, 0), to, 5)
	l.Enqueued(0, 0, 1)
	l.HoldsKey(task(0, 0), to, 5)
	l.Completed(task(0, 0))
	l.HoldsKey(task(0, 0), to, 5)
	l.Refused(0, 1, 1)
	l.HoldsKey(task(0, 1), to, 5)
	l.HoldsKey(task(1, 9), to, 5) // was never sent
	assert.Zero(t, l.Balance().Doubled)
	// Completing the earlier task does not free the key of the later one.
	l.Completing(task(0, 0))
	l.Sent(1, 1)
	l.Enqueued(1, 1, 1)
	l.HoldsKey(task(1, 1), to, 5)
	assert.EqualValues(t, 1, l.Balance().Doubled)
}
