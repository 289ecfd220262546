package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// watched returns a ledger that watches the order and has sent n tasks for each of two producers.
func watched(n int) *Ledger {
	l := newLedger(2)
	l.WatchOrder()
	for producer := range 2 {
		l.Enqueued(producer, l.Sent(producer, n), n)
	}
	return l
}

func claim(t require.TestingT, l *Ledger, producer int, sequence uint64, queue string) {
	_, verdict := l.Claimed(sealed(task(producer, sequence), "t0", queue), NewAddress("t0", queue))
	require.Equal(t, Sound, verdict)
}

func TestATaskThatIsOvertakenIsReordered(t *testing.T) {
	l := watched(10)
	claim(t, l, 0, 0, "q0")
	claim(t, l, 0, 3, "q0")
	claim(t, l, 1, 1, "q0") // of another producer
	claim(t, l, 0, 1, "q1") // of another queue
	claim(t, l, 0, 5, "q0")
	require.Zero(t, l.Balance().Reordered)
	claim(t, l, 0, 4, "q0")
	claim(t, l, 0, 2, "q0")
	claim(t, l, 0, 6, "q0")
	balance := l.Balance()
	assert.EqualValues(t, 2, balance.Reordered)
	assert.Zero(t, balance.Corrupted+balance.Misrouted)
	assert.Equal(t, []string{
		"reordered: producer 0 task 4 was claimed from t0/q0 after task 5",
		"reordered: producer 0 task 2 was claimed from t0/q0 after task 5",
	}, balance.Samples[len(balance.Samples)-2:])
}

func TestATaskThatIsHandedOutAgainIsNotReordered(t *testing.T) {
	l := watched(3)
	for _, sequence := range []uint64{0, 1, 2, 0, 1} {
		claim(t, l, 0, sequence, "q0")
	}
	l.Completed(task(0, 1))
	claim(t, l, 0, 1, "q0")  // settled
	claim(t, l, 0, 99, "q0") // never sent
	assert.Zero(t, l.Balance().Reordered)
}

func TestOrderIsNotWatchedUnlessAskedFor(t *testing.T) {
	l := newLedger(1)
	l.Enqueued(0, l.Sent(0, 2), 2)
	claim(t, l, 0, 1, "q0")
	claim(t, l, 0, 0, "q0")
	assert.Zero(t, l.Balance().Reordered)
}

// A task is reordered if and only if a later task of the same queue was claimed first.
func TestReorderedIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 3 * pageTasks
		l := watched(n)
		queueOf := func(sequence uint64) string { return []string{"q0", "q1"}[sequence%2] }
		var want uint64
		latest := map[string]uint64{}
		claimed := map[uint64]bool{}
		for _, sequence := range rapid.SliceOfN(rapid.Uint64Range(0, n-1), 1, 200).Draw(t, "claims") {
			queue := queueOf(sequence)
			if !claimed[sequence] {
				if sequence+1 < latest[queue] {
					want++
				}
				latest[queue] = max(latest[queue], sequence+1)
				claimed[sequence] = true
			}
			claim(t, l, 0, sequence, queue)
			if rapid.Bool().Draw(t, "complete") {
				l.Completed(task(0, sequence))
			}
		}
		require.Equal(t, want, l.Balance().Reordered)
	})
}
