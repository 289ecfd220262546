package load

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/ledger"
)

// A drain under a restored ledger goes on until nothing was completed for a while, since tasks that the ledger does not know may be there: those
// that were sent after its checkpoint, or all of a window that was killed before the first one.
func TestADrainUnderARestoredLedgerGoesOn(t *testing.T) {
	now := time.Now()
	known := remainder{persist: true}
	assert.True(t, known.none(ledger.Totals{}, now))
	restored := remainder{persist: true, restored: true}
	assert.False(t, restored.none(ledger.Totals{}, now))
	assert.False(t, restored.none(ledger.Totals{}, now.Add(drainQuiet-1)))
	assert.False(t, restored.none(ledger.Totals{Completed: 1}, now.Add(drainQuiet-1)), "one more was completed")
	assert.False(t, restored.none(ledger.Totals{Completed: 1}, now.Add(drainQuiet)))
	assert.True(t, restored.none(ledger.Totals{Completed: 1}, now.Add(2*drainQuiet-1)))
}
