package unsynced

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// An acknowledgement counts until the fsync of the first mark after it has ended. The age is exact,
// and each fsync reports the peak before it.
func TestAnAcknowledgementCountsUntilAMarkAfterItIsSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var peaks []Loss
		w := New(func(l Loss) { peaks = append(peaks, l) })
		w.Begin()
		assert.Zero(t, w.Loss())
		w.Acknowledged(3)
		time.Sleep(10 * time.Millisecond)
		w.Mark(1)
		w.Acknowledged(2) // during the fsync of mark 1
		time.Sleep(5 * time.Millisecond)
		assert.Equal(t, Loss{5, 15 * time.Millisecond}, w.Loss())
		w.Synced(1)
		assert.Equal(t, Loss{2, 5 * time.Millisecond}, w.Loss())
		w.Mark(2)
		w.Mark(3) // no acknowledgement since mark 2
		w.Synced(3)
		assert.Zero(t, w.Loss())
		w.Synced(4)
		assert.Equal(t, []Loss{{5, 15 * time.Millisecond}, {2, 5 * time.Millisecond}}, peaks)
	})
}

// A window does not count if acknowledgements wait for the fsync, because its log is then never
// marked.
func TestAWindowCountsFromBegin(t *testing.T) {
	var none *Window
	none.Acknowledged(1)
	assert.False(t, none.Counts())
	w := New(nil)
	w.Acknowledged(1)
	assert.Zero(t, w.Loss())
	Windows{w}.Begin()
	w.Acknowledged(1)
	assert.Equal(t, uint64(1), w.Loss().Tasks)
}

// The windows of several shards on one log are marked and synced together.
func TestWindowsOfOneLogShareItsMarks(t *testing.T) {
	all := Windows{New(nil), New(nil)}
	all.Begin()
	all[0].Acknowledged(1)
	all.Mark(1)
	all[1].Acknowledged(1)
	all.Synced(1)
	assert.Zero(t, all[0].Loss().Tasks)
	assert.Equal(t, uint64(1), all[1].Loss().Tasks)
}

// For any order of calls, the tasks are those acknowledged after the last synced mark.
func TestTheTasksAreThoseAfterTheLastSyncedMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := New(nil)
		w.Begin()
		var acked, mark, synced uint64
		upTo := map[uint64]uint64{} // tasks acknowledged before each mark
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			switch rapid.IntRange(0, 2).Draw(t, "call") {
			case 0:
				n := rapid.IntRange(0, 5).Draw(t, "tasks")
				w.Acknowledged(n)
				acked += uint64(n)
			case 1:
				mark++
				upTo[mark] = acked
				w.Mark(mark)
			case 2:
				synced = rapid.Uint64Range(synced, mark).Draw(t, "synced")
				w.Synced(synced)
			}
			require.Equal(t, acked-upTo[synced], w.Loss().Tasks)
		}
	})
}

func TestAWindowDoesNotAllocate(t *testing.T) {
	w := New(nil)
	w.Begin()
	n := uint64(0)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		n++
		w.Acknowledged(64)
		w.Mark(n)
		w.Synced(n)
	}))
}

// BenchmarkAcknowledged measures the cost of a turn's acknowledgements, at durability sync and at
// the others.
func BenchmarkAcknowledged(b *testing.B) {
	for _, counts := range []bool{false, true} {
		b.Run(fmt.Sprintf("counts=%v", counts), func(b *testing.B) {
			w := New(nil)
			if counts {
				w.Begin()
			}
			for b.Loop() {
				w.Acknowledged(64)
			}
		})
	}
}
