package load

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/ledger"
)

// With a restored ledger a drain continues until no task was completed for a while. The server may
// have tasks that the ledger does not know: tasks sent after its checkpoint, or all tasks of a
// window that was killed before the first checkpoint.
func TestADrainUnderARestoredLedgerGoesOn(t *testing.T) {
	now := time.Now()
	known := remainder{persist: true}
	assert.True(t, known.none(ledger.Totals{}, now))
	restored := remainder{persist: true, restored: true}
	assert.False(t, restored.none(ledger.Totals{}, now))
	assert.False(t, restored.none(ledger.Totals{}, now.Add(drainQuiet-1)))
	assert.False(t, restored.none(ledger.Totals{Completed: 1}, now.Add(drainQuiet-1)), "another task was completed")
	assert.False(t, restored.none(ledger.Totals{Completed: 1}, now.Add(drainQuiet)))
	assert.True(t, restored.none(ledger.Totals{Completed: 1}, now.Add(2*drainQuiet-1)))
}

// A drain moves if a task was completed since its first look and within drainQuiet.
func TestARemainderMoves(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var r remainder
	assert.False(t, r.none(ledger.Totals{Outstanding: 9, Completed: 5}, now))
	assert.False(t, r.moving(now), "completions before the drain do not count")
	assert.False(t, r.none(ledger.Totals{Outstanding: 9, Completed: 5}, now.Add(1)))
	assert.False(t, r.moving(now.Add(1)))
	assert.False(t, r.none(ledger.Totals{Outstanding: 8, Completed: 6}, now.Add(2)))
	assert.True(t, r.moving(now.Add(1+drainQuiet)))
	assert.False(t, r.moving(now.Add(2+drainQuiet)), "no task was completed for too long")
}
