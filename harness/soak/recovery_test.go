package soak

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// faultWindow simulates a window with faults. The load recovers from each in the given
// milliseconds, or not at all if negative, and returns to level; the rate before the faults is
// 1000.
func faultWindow(number int, level float64, recoveryMs ...float64) Window {
	w := madeWindow(number, rand.New(rand.NewPCG(1, 1)))
	w.Faults = true
	w.Round.Faults = &result.Faults{BaselinePerS: 1000, RecoveredShare: 0.8}
	for _, ms := range recoveryMs {
		w.Round.Faults.Events = append(w.Round.Faults.Events, result.Fault{RecoveryMs: max(ms, 0), Recovered: ms >= 0, BeforePerS: 1000, LevelPerS: level})
	}
	if w.Round.Faults.Decay() != "" {
		w.Round.Verdict = result.Regressed
	}
	return w
}

// The recovery is that of all windows together, however rows are merged. A window with faults does
// not count as invalid because the rate did not return to its level.
func TestRecoveryIsThatOfAllWindows(t *testing.T) {
	t.Parallel()
	windows := []Window{
		faultWindow(1, 990, 10, 20),
		faultWindow(2, 400, 30, -1),
		faultWindow(3, 300, -1),
		faultWindow(4, 990, 5000),
		madeWindow(5, rand.New(rand.NewPCG(1, 2))),
	}
	unfit, cut, incorrect := faultWindow(6, 300, -1), faultWindow(7, 300, -1), faultWindow(8, 990, 10)
	unfit.Round.Verdict, cut.Cut, incorrect.Round.Ledger.Lost = result.Invalid, true, 1
	windows = append(windows, unfit, cut, incorrect)
	var rows []Row
	for _, w := range windows {
		rows = append(rows, rowOf(t, w))
	}
	want := &result.SoakRecovery{
		Windows: 4, Faults: 6, NotRecovered: 2, Decayed: 2, RecoveredShare: 0.8, RecoveryMsMax: 5000,
		DecayedReason: "window 2: the rate did not recover: after the last fault it was 400 cycles/s, 40 % of the 1,000 before the first fault; at least 70 % is required",
	}
	for _, pairs := range []bool{false, true} {
		sum := rows[0]
		if pairs {
			other := rows[2]
			require.NoError(t, other.add(rows[3]))
			require.NoError(t, sum.add(rows[1]))
			require.NoError(t, sum.add(other))
		} else {
			for _, row := range rows[1:4] {
				require.NoError(t, sum.add(row))
			}
		}
		for _, row := range rows[4:] {
			require.NoError(t, sum.add(row))
		}
		assert.Equal(t, 1, sum.Invalid, "the window on an unfit host")
		assert.Equal(t, 1, sum.Judged.Windows)
		got, err := sum.Recoveries.account()
		require.NoError(t, err)
		assert.InEpsilon(t, 20, got.RecoveryMsMedian, 0.02)
		got.RecoveryMsMedian = 0
		assert.Equal(t, want, got)
	}
}

func TestRecoveryThatTakesLongIsKept(t *testing.T) {
	t.Parallel()
	row := rowOf(t, faultWindow(1, 990, 90_000))
	got, err := row.Recoveries.account()
	require.NoError(t, err)
	assert.InDelta(t, 90_000, got.RecoveryMsMax, 0)
	assert.InEpsilon(t, 60_000, got.RecoveryMsMedian, 0.02, "the upper bound of the histogram")

	row = rowOf(t, faultWindow(1, 300, -1))
	got, err = row.Recoveries.account()
	require.NoError(t, err)
	assert.Zero(t, got.RecoveryMsMedian)

	row = rowOf(t, madeWindow(1, rand.New(rand.NewPCG(1, 1))))
	got, err = row.Recoveries.account()
	require.NoError(t, err)
	assert.Nil(t, got)
}
