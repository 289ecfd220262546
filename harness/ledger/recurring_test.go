package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
)

func recurringAccount() *Recurring {
	r := NewRecurring(time.Second)
	r.Begins("a", 1000)
	r.Begins("b", 2000)
	return r
}

func TestEachDueTimeIsOneTask(t *testing.T) {
	r := recurringAccount()
	r.Received("a", "1", 1000, time.UnixMilli(1005))
	r.Received("a", "1", 1000, time.UnixMilli(1900)) // delivered again
	r.Received("b", "2", 2000, time.UnixMilli(2000))
	assert.False(t, r.Complete(time.UnixMilli(2500)))
	r.Received("a", "3", 2000, time.UnixMilli(2010))
	assert.True(t, r.Complete(time.UnixMilli(2500)))
	r.Received("a", "4", 3000, time.UnixMilli(3010))
	balance, late := r.Balance(time.UnixMilli(2500))
	assert.Equal(t, result.Recurring{Due: 3}, balance)
	assert.EqualValues(t, 4, late.TotalCount())
	assert.InDelta(t, 10e6, late.Max(), 1e5)
}

func TestFaultsOfDueTimes(t *testing.T) {
	r := recurringAccount()
	r.Received("a", "1", 1000, time.UnixMilli(1005))
	r.Received("a", "2", 1000, time.UnixMilli(1006))
	r.Received("a", "3", 2000, time.UnixMilli(1999))
	r.Received("b", "4", 2500, time.UnixMilli(2600))
	r.Received("b", "5", 0, time.UnixMilli(2600))
	r.Received("a", "6", 2000, time.UnixMilli(2010))
	balance, _ := r.Balance(time.UnixMilli(2500))
	assert.Equal(t, result.Recurring{Due: 3, Missed: 1, Twice: 1, Unscheduled: 3, Samples: []string{
		"twice: a: the due time 1000 became the tasks 1 and 2",
		"unscheduled: a: task 3 has the due time 2000, which is no multiple of 1000 ms in the past",
		"unscheduled: b: task 4 has the due time 2500, which is no multiple of 1000 ms in the past",
		"unscheduled: b: task 5 has the due time 0, which is no multiple of 1000 ms in the past",
		"missed: b: the due time 2000 became no task",
	}}, balance)
}
