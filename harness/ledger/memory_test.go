package ledger

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stream sends n tasks of producer 0. Each is completed when `behind` further ones were sent,
// except tasks for which keep returns true, which are never completed.
func stream(l *Ledger, n, behind uint64, keep func(sequence uint64) bool) {
	complete := func(sequence uint64) {
		if !keep(sequence) {
			l.Completed(task(0, sequence))
		}
	}
	for range n {
		sequence := l.Sent(0, 1)
		if sequence%2 == 0 {
			l.Enqueued(0, sequence, 1)
		}
		if sequence >= behind {
			complete(sequence - behind)
		}
		if sequence%2 == 1 {
			l.Enqueued(0, sequence, 1)
		}
	}
	for sequence := n - min(n, behind); sequence < n; sequence++ {
		complete(sequence)
	}
}

func TestMemoryDoesNotGrowWithTheTasksSent(t *testing.T) {
	for name, behind := range map[string]uint64{"at once": 0, "a few behind": 100, "a backlog": 5000} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(1)
			stream(l, 300_000, behind, func(uint64) bool { return false })
			assert.LessOrEqual(t, l.accounts[0].made, int(behind)/pageTasks+3)
			assert.LessOrEqual(t, len(l.accounts[0].live), 1)
			assert.LessOrEqual(t, len(l.accounts[0].spare), maxSpare)
			assert.Zero(t, l.Balance().Lost)
		})
	}
}

// Each lost task occupies one page, regardless of the number of later tasks.
func TestLostTasksHoldOnePageEach(t *testing.T) {
	l := newLedger(1)
	stream(l, 2_000_000, 100, func(sequence uint64) bool { return sequence%500_000 == 0 })
	assert.LessOrEqual(t, len(l.accounts[0].live), 4+1)
	assert.LessOrEqual(t, l.accounts[0].made, 4+3)
	require.Equal(t, uint64(4), l.Balance().Lost)

	// Lost tasks are still reported, and can be completed once.
	for sequence := uint64(0); sequence < 2_000_000; sequence += 500_000 {
		l.Completed(task(0, sequence))
	}
	balance := l.Balance()
	assert.Zero(t, balance.Lost+balance.Duplicated)
	assert.LessOrEqual(t, len(l.accounts[0].live), 1)
}

// If a page between two live ones was released, events of its tasks do not affect other tasks.
func TestPageReleasedBetweenOthers(t *testing.T) {
	l := newLedger(1)
	l.Sent(0, 4*pageTasks)
	for sequence := range uint64(pageTasks) {
		l.Completed(task(0, 2*pageTasks+sequence))
	}
	l.Enqueued(0, 2*pageTasks, pageTasks)
	require.Len(t, l.accounts[0].live, 3)

	l.Completed(task(0, 2*pageTasks+5))
	assert.Equal(t, uint64(1), l.Balance().Duplicated)
	l.CompletionUnknown(task(0, 2*pageTasks+6))
	l.Enqueued(0, 0, 4*pageTasks)
	for sequence := range uint64(pageTasks) {
		l.Completed(task(0, sequence))
		l.Completed(task(0, pageTasks+sequence))
		l.Completed(task(0, 3*pageTasks+sequence))
	}
	balance := l.Balance()
	assert.Equal(t, uint64(4*pageTasks), balance.Enqueued)
	assert.Equal(t, uint64(4*pageTasks), balance.Completed)
	assert.Equal(t, uint64(1), balance.Duplicated)
	assert.Zero(t, balance.Lost)
	assert.Empty(t, l.accounts[0].live)
}

func TestRefusedAndUnknownTasksAreForgottenOnceSettled(t *testing.T) {
	l := newLedger(1)
	for range 1000 {
		first := l.Sent(0, 2*pageTasks)
		l.Refused(0, first, pageTasks)
		l.Unknown(0, first+pageTasks, pageTasks)
		for sequence := range uint64(pageTasks) {
			l.Completed(task(0, first+pageTasks+sequence))
		}
	}
	assert.Empty(t, l.accounts[0].live)
	assert.Equal(t, 2, l.accounts[0].made)
}

func TestNoAllocationPerTask(t *testing.T) {
	l := newLedger(1)
	payload := make([]byte, 64)
	stream(l, 10*pageTasks, 0, func(uint64) bool { return false })
	allocations := testing.AllocsPerRun(20*pageTasks, func() {
		sequence := l.Sent(0, 1)
		Seal(payload, task(0, sequence), NewAddress("t0", "q0"))
		l.Enqueued(0, sequence, 1)
		id, verdict := l.Claimed(payload, NewAddress("t0", "q0"))
		if verdict == Sound {
			l.Completed(id)
		}
	})
	assert.Zero(t, allocations)
	assert.Zero(t, l.Balance().Corrupted)
}

// A backlog takes about a byte for each task, regardless of the number of producers.
func TestABacklogTakesAByteForEachTask(t *testing.T) {
	const tasks, producers = 1 << 20, 3
	l := newLedger(producers)
	for i := range producers {
		for range tasks / 64 {
			l.Enqueued(i, l.Sent(i, 64), 64)
		}
	}
	bytes := 0
	for i := range l.accounts {
		bytes += l.accounts[i].made*int(unsafe.Sizeof(page{})) + cap(l.accounts[i].live)*int(unsafe.Sizeof(&page{}))
	}
	assert.LessOrEqual(t, bytes, producers*tasks*6/5)
	assert.EqualValues(t, producers*tasks, l.Outstanding())

	var ids []Identity
	for sequence := range uint64(tasks) {
		for i := range producers {
			ids = append(ids, task(i, sequence))
		}
		if len(ids) >= 64 {
			l.Completed(ids...)
			ids = ids[:0]
		}
	}
	l.Completed(ids...)
	assert.Zero(t, l.Outstanding())
	assert.Zero(t, l.Balance().Duplicated)
	for i := range l.accounts {
		assert.Empty(t, l.accounts[i].live)
	}
}
