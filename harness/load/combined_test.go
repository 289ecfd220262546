package load

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

func combined(w *scenario.Workload) { w.Driver, w.Combined, w.InFlight = "unary", true, 40 }

// A combined load balances: each task is completed once, in a call that also claims, and counts
// when its completion is acknowledged.
func TestCombinedCallsMakeCycles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.combines = true
		cfg := config(b, workload(combined))
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		require.True(t, o.Drained)
		balance := cfg.Ledger.Balance()
		assert.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted+balance.Unknown, "%v", balance.Samples)
		assert.Equal(t, countWithin(b.completed, o.Launched, o.Finished.Add(1)), balance.Completed)
		require.NotZero(t, o.Cycles)
		assert.Equal(t, countWithin(b.combinedAnswers, o.WindowStart, o.WindowEnd), o.Cycles, "a completion counts when the answer comes")
	})
}

// A completion that is refused, or whose outcome is unknown, is not a cycle.
func TestRefusedCombinedCompletionsAreNoCycles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.combines = true
		b.refuseComplete = func(n int) (error, bool) {
			if n%10 == 0 {
				return errors.New("too late"), true
			}
			return nil, false
		}
		cfg := config(b, workload(combined))
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		require.True(t, o.Drained)
		require.NotZero(t, o.Cycles)
		assert.Equal(t, countWithin(b.combinedAnswers, o.WindowStart, o.WindowEnd), o.Cycles)
		assert.EqualValues(t, b.completes/10, o.RefusedCompletions.Count)
	})
}

func TestADriverThatCanNotCombine(t *testing.T) {
	_, err := Run(t.Context(), config(newBroker(), workload(combined)))
	require.ErrorContains(t, err, `the driver "unary" can't complete and claim in one call: remove workload.combined`)
	var worker driver.Worker = &fakeWorker{}
	_, combines := worker.(driver.Combiner)
	require.False(t, combines)
}
