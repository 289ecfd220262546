package load

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/ledger"
)

// A delivery at fault is completed as usual, so that the ledger accounts for it.
func TestALotNeverHitsADeliveryAtFault(t *testing.T) {
	all := lot{part: 1}
	assert.True(t, all.hits(&claimed{verdict: ledger.Sound}))
	for _, verdict := range []ledger.Verdict{ledger.Misplaced, ledger.Unreadable} {
		assert.False(t, all.hits(&claimed{verdict: verdict}))
	}
}
