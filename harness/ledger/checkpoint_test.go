package ledger

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/result"
)

func checkpointOf(t require.TestingT, l *Ledger) []byte {
	var b bytes.Buffer
	require.NoError(t, l.Checkpoint(&b))
	return b.Bytes()
}

func restored(t require.TestingT, checkpoint []byte, journals ...[]byte) *Ledger {
	var readers []io.Reader
	for _, j := range journals {
		readers = append(readers, bytes.NewReader(j))
	}
	l, err := Restore(bytes.NewReader(checkpoint), readers...)
	require.NoError(t, err)
	return l
}

// After the restore, every fault that a checkpoint proves is found, and unknown answers are not
// faults.
func TestWhatACheckpointProves(t *testing.T) {
	var journal bytes.Buffer
	l := newLedger(2)
	require.NoError(t, l.Journal(&journal))
	l.Sent(0, 9)
	l.Enqueued(0, 0, 6)
	l.Refused(0, 6, 1)
	l.Completed(task(0, 0))
	l.Completing(task(0, 1)) // before the checkpoint
	l.Corrupted("corrupted: a sample")
	checkpoint := checkpointOf(t, l)
	l.Completing(task(0, 2), task(1, 7)) // after the checkpoint
	l.Enqueued(0, 7, 1)
	l.Sent(1, 10)

	r := restored(t, checkpoint, journal.Bytes())
	assert.Equal(t, uint64(testRound), r.Round())
	assert.Equal(t, Totals{Sent: 9, Enqueued: 6, Refused: 1, Completed: 1, Outstanding: 7, Doubtful: 4, InDoubt: 2}, r.Totals())
	balance := r.Balance()
	assert.EqualValues(t, 3, balance.Lost, "their completion was never requested")
	assert.EqualValues(t, 2, balance.InDoubt)
	assert.EqualValues(t, 2, balance.Unknown, "not answered before the checkpoint")

	_, verdict := r.Claimed(sealed(task(0, 3), "t0", "q0"), NewAddress("t0", "q0"))
	assert.Equal(t, Sound, verdict)
	_, verdict = r.Claimed(sealed(task(0, 3), "t0", "q0"), NewAddress("t1", "q0"))
	assert.Equal(t, Misplaced, verdict, "the restored ledger knows the routes")
	r.Completed(task(0, 0), task(0, 3), task(0, 6), task(0, 8), task(1, 7))
	assert.Equal(t, result.Ledger{
		Enqueued: 6, Unknown: 10, Completed: 4, InDoubt: 2, Lost: 2, Duplicated: 1, Corrupted: 2, Misrouted: 1,
		Samples: []string{
			"lost: producer 0 task 4: enqueue acknowledged, never completed", "lost: producer 0 task 5: enqueue acknowledged, never completed",
			"duplicated: producer 0 task 0: a completion was acknowledged again",
			"corrupted: a sample", "refused: producer 0 task 6: completed although its enqueue was refused",
			"misrouted: producer 0 task 3 was sent to t0/q0 and claimed from t1/q0",
		},
	}, r.Balance())
	r.Completed(task(1, 7))
	assert.EqualValues(t, 2, r.Balance().Duplicated, "twice after the restore")
	assert.Panics(t, func() { r.Sent(1, 1) })

	without := restored(t, checkpoint)
	assert.Zero(t, without.Balance().Lost, "all of them may have been completed")
	assert.EqualValues(t, 5, without.Balance().InDoubt)
}

// Restore refuses a checkpoint with a damaged byte, or one that is cut.
func TestDamagedCheckpoints(t *testing.T) {
	s := golden.Cases(t, "testdata/damaged.golden")
	var journal bytes.Buffer
	l := newLedger(2)
	require.NoError(t, l.Journal(&journal))
	l.Enqueued(1, l.Sent(1, 700), 700)
	for i := range uint64(300) {
		l.Completing(task(1, 2*i))
		l.Completed(task(1, 2*i))
	}
	whole := checkpointOf(t, l)
	for at := range whole {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1 << rand.IntN(8)
		for _, file := range [][]byte{damaged, whole[:at]} {
			_, err := Restore(bytes.NewReader(file))
			require.ErrorIs(t, err, ErrCheckpoint)
		}
	}
	_, err := Restore(bytes.NewReader(append(bytes.Clone(whole), 0)))
	require.ErrorIs(t, err, ErrCheckpoint)
	s.Error(t, "excess bytes", err)

	// All records before the end of a cut journal are used.
	for at := range journal.Bytes() {
		_, err := Restore(bytes.NewReader(whole), bytes.NewReader(journal.Bytes()[:at]))
		require.NoError(t, err)
	}
	damaged := bytes.Clone(journal.Bytes())
	damaged[len(damaged)-1] ^= 1
	_, err = Restore(bytes.NewReader(whole), bytes.NewReader(damaged))
	s.Error(t, "a damaged journal", err)
	other := New(testRound+1, 2, nil)
	_, err = Restore(bytes.NewReader(checkpointOf(t, other)), bytes.NewReader(journal.Bytes()))
	s.Error(t, "another round", err)
}

// failing is a writer whose nth write, and all later ones, fail.
type failing struct{ n int }

func (f *failing) Write(b []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

func TestAJournalThatFailsIsTold(t *testing.T) {
	s := golden.Cases(t, "testdata/fulldisk.golden")
	l := newLedger(1)
	s.Error(t, "begin", l.Journal(&failing{}))
	require.NoError(t, l.Journal(&failing{n: 1}))
	l.Sent(0, 1)
	require.NoError(t, l.Checkpoint(io.Discard))
	l.Completing(task(0, 0))
	s.Error(t, "a failed journal", l.Checkpoint(io.Discard))
	s.Error(t, "a checkpoint", newLedger(1).Checkpoint(&failing{}))
}

// A checkpoint takes a few bytes for a run of tasks in the same state, and none for settled tasks.
func TestTheSizeOfACheckpointFollowsTheOutstandingTasks(t *testing.T) {
	l := newLedger(1)
	stream(l, 1_000_000, 100, func(uint64) bool { return false })
	assert.Less(t, len(checkpointOf(t, l)), 300)
	l.Enqueued(0, l.Sent(0, 1_000_000), 1_000_000)
	assert.Less(t, len(checkpointOf(t, l)), 1_000_000/pageTasks*8)
	assert.EqualValues(t, 1_000_000, restored(t, checkpointOf(t, l)).Totals().Outstanding)
}

// A checkpoint may be taken while the load runs. The part of each producer is consistent.
func TestACheckpointUnderLoad(t *testing.T) {
	l := newLedger(2)
	require.NoError(t, l.Journal(io.Discard))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2000 {
			first := l.Sent(0, 10)
			l.Enqueued(0, first, 10)
			l.Completing(task(0, first), task(0, first+1))
			l.Completed(task(0, first), task(0, first+1))
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		totals := restored(t, checkpointOf(t, l)).Totals()
		assert.Equal(t, totals.Sent-totals.Completed, totals.Outstanding)
		assert.Equal(t, totals.Outstanding, totals.Doubtful)
	}
}

// A restored ledger accepts a bounded number of tasks that were sent after its checkpoint.
func TestTasksBeyondTheCheckpointAreBounded(t *testing.T) {
	r := restored(t, checkpointOf(t, newLedger(2)))
	r.Completed(task(0, 999))
	assert.Equal(t, Totals{Sent: 1000, Completed: 1, Outstanding: 999, Doubtful: 999}, r.Totals())
	r.Completed(task(1, beyondMax-1000))
	balance := r.Balance()
	assert.EqualValues(t, 1, balance.Corrupted)
	golden.Cases(t, "testdata/beyond.golden").Equal(t, "many tasks", balance.Samples[0])
	r.Completed(task(1, 5))
	assert.EqualValues(t, 1, r.Balance().Corrupted)
}

// With checkpoints and a journal, the ledgers of consecutive windows use memory only for
// outstanding tasks.
func TestMemoryOverABillionTasks(t *testing.T) {
	const window, behind = 1_000_000, 50_000
	windows := longtest.Count(t, 5, 1000)
	var held []uint64
	var memory runtime.MemStats
	for i := range windows {
		l := newLedger(1)
		require.NoError(t, l.Journal(io.Discard))
		ids := make([]Identity, 0, 64)
		var completed uint64
		for sent := uint64(0); sent < window; sent += 64 {
			l.Enqueued(0, l.Sent(0, 64), 64)
			for ; completed+behind < sent+64; completed += uint64(len(ids)) {
				ids = ids[:0]
				for next := completed; len(ids) < 64; next++ {
					ids = append(ids, task(0, next))
				}
				l.Completing(ids...)
				l.Completed(ids...)
			}
			if sent == window/2 {
				require.Less(t, len(checkpointOf(t, l)), 10_000)
			}
		}
		if i%max(1, windows/50) == 0 {
			runtime.GC()
			runtime.ReadMemStats(&memory)
			held = append(held, memory.HeapAlloc)
		}
		for ; completed < l.Totals().Sent; completed++ {
			l.Completed(task(0, completed))
		}
		require.Equal(t, result.Ledger{Enqueued: completed, Completed: completed}, l.Balance())
	}
	assert.Less(t, memory.Sys, uint64(200e6))
	assert.Less(t, slices.Max(held), slices.Min(held)+2<<20, "memory does not grow from window to window")
	t.Logf("in all: %d tasks in %d windows, %.1f MB held at most, %.1f MB taken from the system", windows*window, windows, float64(slices.Max(held))/1e6, float64(memory.Sys)/1e6)
}
