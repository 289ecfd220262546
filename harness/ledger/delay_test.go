package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTasksThatComeBeforeTheyAreDue(t *testing.T) {
	l := newLedger(1)
	for _, late := range []time.Duration{time.Hour, 0, -DelayTolerance} {
		l.ClaimedDelayed(task(0, 0), time.Second, late)
	}
	assert.Zero(t, l.Balance().Early)
	l.ClaimedDelayed(task(0, 3), time.Second, -1500*time.Microsecond)
	balance := l.Balance()
	assert.Equal(t, []uint64{4, 1}, []uint64{balance.Delayed, balance.Early})
	assert.Equal(t, []string{"early: producer 0 task 3, enqueued with a delay of 1s, was claimed 1.5ms before the delay ended"}, balance.Samples)
}
