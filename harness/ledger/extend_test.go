package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAnExtensionOfAValidLeaseMustNotBeRefused(t *testing.T) {
	l := newLedger(1)
	l.ExtensionRefused(task(0, 0), until(7, LeaseMargin), at(0))
	l.ExtensionRefused(task(0, 0), Lease{Token: 7}, at(0)) // its expiry is unknown
	assert.Zero(t, l.Balance().Unextended)
	l.ExtensionRefused(task(0, 0), until(7, 2*time.Second), at(0))
	balance := l.Balance()
	assert.EqualValues(t, 1, balance.Unextended)
	assert.Equal(t, []string{"unextended: producer 0 task 0: an extension was refused although the lease with token 7 was valid for another 2s"}, balance.Samples)
}

// An extended lease is valid for longer: another claim of the task in that time is contested.
func TestAnExtendedLeaseIsValidForLonger(t *testing.T) {
	l := leased(1)
	l.Leased(task(0, 0), until(7, 2*time.Second), at(0))
	l.Extended(task(0, 0), until(7, 9*time.Second), at(time.Second))
	l.Leased(task(0, 0), until(8, 20*time.Second), at(5*time.Second))
	balance := l.Balance()
	assert.EqualValues(t, 1, balance.Extended)
	assert.EqualValues(t, 1, balance.Contested)
}
