package load

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

// The ledger gets the leases of the workers, and the completions that were refused under them.
func TestLeasesReachTheLedger(t *testing.T) {
	lease := func(until time.Duration) func(int, *driver.Delivery) {
		return func(n int, d *driver.Delivery) { d.Token, d.UntilMs = uint64(n), time.Now().Add(until).UnixMilli() }
	}
	over := fmt.Errorf("%w: stale token", driver.ErrLeaseOver)
	fifth := func(n int) bool { return n == 5 }
	refuseFifth := func(reason error) func(int) (error, bool) {
		return func(n int) (error, bool) {
			if n == 5 {
				return reason, true // and delivered again
			}
			return nil, false
		}
	}
	const refusedUnderItsLease = "refused under its lease"
	for name, c := range map[string]struct {
		faults             func(*broker)
		contested, revoked uint64
	}{
		"each task once":            {func(b *broker) { b.deliver = lease(30 * time.Second) }, 0, 0},
		"to two workers":            {func(b *broker) { b.deliver, b.deliverAgain = lease(30*time.Second), fifth }, 1, 0},
		"again after it expired":    {func(b *broker) { b.deliver, b.deliverAgain = lease(0), fifth }, 0, 0},
		"without leases":            {func(b *broker) { b.deliverAgain = fifth }, 0, 0},
		refusedUnderItsLease:        {func(b *broker) { b.deliver, b.refuseComplete = lease(30*time.Second), refuseFifth(over) }, 0, 1},
		"refused after its end":     {func(b *broker) { b.deliver, b.refuseComplete = lease(0), refuseFifth(over) }, 0, 0},
		"refused for other reasons": {func(b *broker) { b.deliver, b.refuseComplete = lease(30*time.Second), refuseFifth(errBroken) }, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				c.faults(b)
				// At least one worker is always idle and claims a redelivered task at once.
				cfg := brief(persistent(b, workload(func(w *scenario.Workload) { w.Producers, w.Workers = 2, 40 })))
				cfg.Ledger.WatchLeases()
				_, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				balance := cfg.Ledger.Balance()
				// Another worker may claim the task before the ledger gets the refusal.
				if name != refusedUnderItsLease {
					assert.Equal(t, c.contested, balance.Contested, "%v", balance.Samples)
				}
				assert.Equal(t, c.revoked, balance.Revoked, "%v", balance.Samples)
			})
		})
	}
}
