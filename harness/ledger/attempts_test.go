package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// attempting returns a ledger of one producer that watches attempts, with the given maximum.
func attempting(most uint32) *Ledger {
	l := newLedger(1)
	l.WatchAttempts(most)
	return l
}

// dies fails an attempt of a task, and returns whether the task is dead.
func dies(l *Ledger, id Identity, number uint32) bool {
	dead, _ := l.Failed(id, number)
	return dead
}

func TestATaskThatIsFailedComesAgain(t *testing.T) {
	l := attempting(3)
	l.Enqueued(0, l.Sent(0, 1), 1)
	for number := uint32(1); number <= 2; number++ {
		l.Attempted(task(0, 0), number)
		l.Failing(task(0, 0), number)
		assert.False(t, dies(l, task(0, 0), number))
	}
	l.Attempted(task(0, 0), 3)
	l.Completed(task(0, 0))
	balance := l.Balance()
	assert.Equal(t, []uint64{2, 2, 0, 0}, []uint64{balance.Failed, balance.Retried, balance.Dead, balance.Miscounted}, "%v", balance.Samples)
	assert.Equal(t, []uint64{1, 0, 0}, []uint64{balance.Completed, balance.Lost, balance.Duplicated})
	assert.Empty(t, l.accounts[0].attempts, "completed tasks need no memory")
}

// A task may be delivered again, and completed, before the answer to its failure arrives.
func TestARetryMayOvertakeTheAnswer(t *testing.T) {
	l := attempting(3)
	l.Enqueued(0, l.Sent(0, 1), 1)
	l.Attempted(task(0, 0), 1)
	l.Failing(task(0, 0), 1)
	l.Attempted(task(0, 0), 2)
	l.Completed(task(0, 0))
	assert.False(t, dies(l, task(0, 0), 1))
	balance := l.Balance()
	assert.Equal(t, []uint64{1, 1, 0, 0}, []uint64{balance.Failed, balance.Retried, balance.Miscounted, balance.Duplicated}, "%v", balance.Samples)
}

func TestATaskIsDeadAfterItsLastAttempt(t *testing.T) {
	l := attempting(1)
	l.Enqueued(0, l.Sent(0, 2), 2)
	l.Failing(task(0, 0), 1)
	require.True(t, dies(l, task(0, 0), 1))
	assert.EqualValues(t, 1, l.Outstanding())
	balance := l.Balance()
	assert.Equal(t, []uint64{1, 0, 1}, []uint64{balance.Dead, balance.Completed, balance.Lost})
	assert.Equal(t, []string{"lost: producer 0 task 1: enqueue acknowledged, never completed"}, balance.Samples)

	l.Completed(task(0, 0))
	assert.EqualValues(t, 1, l.Balance().Duplicated, "dead tasks are not completed")
	l.Failing(task(0, 0), 1)
	assert.True(t, dies(l, task(0, 0), 1))
	assert.EqualValues(t, 2, l.Balance().Duplicated, "dead tasks do not die twice")
}

// A task may die before its enqueue is answered. If the enqueue is then refused, the task is a
// fault, and counts as neither enqueued nor dead.
func TestTheDeadWhoseEnqueueIsAnsweredLater(t *testing.T) {
	l := attempting(1)
	l.Sent(0, 2)
	for sequence := range uint64(2) {
		l.Failing(task(0, sequence), 1)
		l.Failed(task(0, sequence), 1)
	}
	l.Enqueued(0, 0, 1)
	l.Refused(0, 1, 1)
	balance := l.Balance()
	assert.Equal(t, []uint64{1, 0, 1, 0}, []uint64{balance.Dead, balance.Completed, balance.Corrupted, balance.Lost})
	assert.Zero(t, l.Outstanding())
	assert.Empty(t, l.accounts[0].attempts)
}

func TestAnAttemptThatIsNotTheNext(t *testing.T) {
	l := attempting(5)
	l.Enqueued(0, l.Sent(0, 2), 2)
	l.Attempted(task(0, 0), 2)
	l.Attempted(task(0, 1), 1)
	l.Failing(task(0, 1), 1)
	l.Failed(task(0, 1), 1)
	l.Attempted(task(0, 1), 1)
	balance := l.Balance()
	assert.EqualValues(t, 2, balance.Miscounted)
	assert.Zero(t, balance.Retried)
	assert.Equal(t, []string{
		"lost: producer 0 task 0: enqueue acknowledged, never completed",
		"lost: producer 0 task 1: enqueue acknowledged, attempt 1 failed, never claimed again",
		"miscounted: producer 0 task 0 was claimed with attempt 2, expected 1",
		"miscounted: producer 0 task 1 was claimed with attempt 1, expected 2",
	}, balance.Samples)
}

// A task whose end was in doubt does not end a second time when it dies.
func TestADeathIsTheEndOfATaskOnce(t *testing.T) {
	l := attempting(1)
	l.Enqueued(0, l.Sent(0, 2), 2)
	require.True(t, l.CompletionUnknown(task(0, 1)))
	for sequence, first := range []bool{true, false} {
		l.Failing(task(0, uint64(sequence)), 1)
		dead, ended := l.Failed(task(0, uint64(sequence)), 1)
		assert.True(t, dead)
		assert.Equal(t, first, ended, "task %d", sequence)
	}
}

// A requested failure ends the lease: the next lease of the task is not contested.
func TestAFailureEndsTheLease(t *testing.T) {
	l := attempting(5)
	l.WatchLeases()
	l.Enqueued(0, l.Sent(0, 1), 1)
	l.Leased(task(0, 0), until(1, leaseEpoch.Sub(leaseEpoch)+30e9), at(0))
	l.Failing(task(0, 0), 1)
	l.Leased(task(0, 0), until(2, 60e9), at(0))
	assert.Zero(t, l.Balance().Contested)
}

// Each failure leads to a retry or to the end of the task, and each task ends once, for any share
// of failed attempts.
func TestEachFailureIsARetryOrAnEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Uint32Range(1, 4).Draw(t, "most")
		n := rapid.IntRange(1, 3*pageTasks).Draw(t, "tasks")
		l := attempting(most)
		l.Enqueued(0, l.Sent(0, n), n)
		for sequence := range uint64(n) {
			for number := uint32(1); ; number++ {
				l.Attempted(task(0, sequence), number)
				if rapid.Bool().Draw(t, "completed") {
					l.Completed(task(0, sequence))
					break
				}
				l.Failing(task(0, sequence), number)
				if dies(l, task(0, sequence), number) {
					break
				}
			}
		}
		balance := l.Balance()
		require.Equal(t, balance.Failed, balance.Retried+balance.Dead)
		require.Equal(t, balance.Enqueued, balance.Completed+balance.Dead)
		require.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted+balance.Miscounted)
		require.Zero(t, l.Outstanding())
		require.Empty(t, l.accounts[0].attempts)
		require.LessOrEqual(t, len(l.accounts[0].live), 1)
	})
}
