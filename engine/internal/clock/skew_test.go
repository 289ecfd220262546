package clock

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// An estimate contains the other clock's time, for any moment of the reading within the round trip
// and any later slew.
func TestEstimatesHoldTheOtherClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &host{Reading: Reading{Mono: int64(time.Hour), Wall: 1_700_000_000e9}}
		// A different origin.
		other := From(func() Reading { r := h.read(); r.Mono -= 12_345; return r })
		here := func() int64 { return h.read().Mono }
		h.step(time.Duration(steps.Draw(t, "step")))
		h.pass(observeEvery, 0)
		asked := here()
		h.pass(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "there")), 0)
		_, answer := other.Now()
		h.pass(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "back")), 0)
		e := Measured(asked, here(), answer)
		require.Equal(t, asked, e.Asked)
		for range 3 {
			mono := here()
			_, is := other.Now()
			now, err := e.At(mono)
			require.LessOrEqual(t, time.Duration(now-is).Abs(), err)
			require.LessOrEqual(t, err, 1030*time.Millisecond+time.Duration(mono-asked)/40)
			h.step(time.Duration(steps.Draw(t, "another step")))
			h.pass(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "later")), 0)
		}
	})
}

func TestDeviationIsFromTheMedian(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		others []time.Duration
		want   time.Duration
	}{
		{nil, 0}, // alone
		{[]time.Duration{10 * s}, -10 * s},
		{[]time.Duration{-10 * s}, 10 * s},
		{[]time.Duration{0, 10 * s}, 0}, // another clock is wrong
		{[]time.Duration{10 * s, 10 * s}, -10 * s},
		{[]time.Duration{-9 * s, -11 * s}, 9 * s},
		{[]time.Duration{-10 * s, 10 * s}, 0}, // this clock is the median
		{[]time.Duration{0, 0, 10 * s}, 0},
		// Two against two: the farther of the two middle clocks.
		{[]time.Duration{0, 10 * s, 10 * s}, -10 * s},
		{[]time.Duration{1 * s, 2 * s, 3 * s}, -2 * s},
		{[]time.Duration{0, 0, 10 * s, 10 * s}, 0},
		{[]time.Duration{9 * s, 10 * s, 10 * s, 0}, -9 * s},
	} {
		before := slices.Clone(c.others)
		assert.Equal(t, c.want, Deviation(c.others), "%v", c.others)
		assert.Equal(t, before, c.others)
	}
}

// Two successive leaders that pass the check never differ by more than the grace, under the
// assumption of the grace that the median of the clocks that answered is the same for both.
func TestLeaseGraceCoversWhatTheCheckLetsThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(time.Minute)).Draw(t, "bound"))
		// ahead of the median at its decision
		leader := func(name string) (ahead time.Duration, leads bool) {
			is := time.Duration(rapid.Int64Range(int64(-3*bound), int64(3*bound)).Draw(t, name))
			wrong := time.Duration(rapid.Int64Range(int64(-ErrorMax(bound)), int64(ErrorMax(bound))).Draw(t, name+"'s error"))
			seen := is + wrong
			apart := 2 * Slewed(UseMax)
			ahead = is + time.Duration(rapid.Int64Range(int64(-apart), int64(apart)).Draw(t, name+"'s slew"))
			return ahead, Deviation([]time.Duration{-seen, -seen}).Abs() <= bound
		}
		first, led := leader("first")
		second, leads := leader("second")
		if led && leads {
			assert.LessOrEqual(t, (first - second).Abs(), LeaseGrace(bound))
		}
	})
	assert.Equal(t, 1410*time.Millisecond, LeaseGrace(500*time.Millisecond))
	assert.Zero(t, LeaseGrace(0))
}
