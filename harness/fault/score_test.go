package fault

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

const ms = time.Millisecond

// part is an interval of a load with a constant rate.
type part struct {
	until     time.Duration
	perSample uint64
}

// series returns the samples of a load that consists of parts.
func series(parts ...part) Series {
	s := Series{{}}
	for _, p := range parts {
		for last := s[len(s)-1]; last.At < p.until; last = s[len(s)-1] {
			s = append(s, Point{last.At + SampleEvery, last.Total + p.perSample})
		}
	}
	return s
}

func TestScores(t *testing.T) {
	kill := Event{Began: 2000 * ms, Done: 2010 * ms, Healed: 3000 * ms}
	for name, c := range map[string]struct {
		series Series
		events []Event
		want   []Score
	}{
		"outage, then full rate": {
			series(part{2050 * ms, 10}, part{3200 * ms, 0}, part{6000 * ms, 10}),
			[]Event{kill},
			[]Score{{FirstAck: 1210 * ms, Recovery: 1210 * ms, Recovered: true, DipPercent: 100, FaultPerS: 50, AfterPerS: 2800.0 / 3}},
		},
		"outage, then slow, then full rate": {
			series(part{2000 * ms, 100}, part{2500 * ms, 0}, part{4000 * ms, 40}, part{6000 * ms, 100}),
			[]Event{kill},
			// The first half second with four fifths of the earlier rate begins shortly before the
			// slow part ends.
			[]Score{{FirstAck: 510 * ms, Recovery: 1840 * ms, Recovered: true, DipPercent: 100, FaultPerS: 2000, AfterPerS: 8000}},
		},
		"a dip without an outage": {
			series(part{2000 * ms, 100}, part{3000 * ms, 25}, part{6000 * ms, 100}),
			[]Event{kill},
			[]Score{{Recovery: 870 * ms, Recovered: true, DipPercent: 75, FaultPerS: 2500, AfterPerS: 10000}},
		},
		"no effect": {
			series(part{6000 * ms, 100}),
			[]Event{kill},
			[]Score{{Recovered: true, FaultPerS: 10000, AfterPerS: 10000}},
		},
		"a stall too short for an outage": {
			series(part{2000 * ms, 10}, part{2080 * ms, 0}, part{2100 * ms, 50}, part{6000 * ms, 10}),
			[]Event{kill},
			[]Score{{Recovered: true, FaultPerS: 1000, AfterPerS: 1000}},
		},
		"an outage that begins too late to be the fault's": {
			series(part{3100 * ms, 10}, part{4000 * ms, 0}, part{6000 * ms, 10}),
			[]Event{kill},
			[]Score{{Recovered: true, FaultPerS: 1000, AfterPerS: 700}},
		},
		"no recovery": {
			series(part{2000 * ms, 10}, part{6000 * ms, 0}),
			[]Event{kill},
			[]Score{{FirstAck: 4000 * ms, Silent: true, Recovery: 4000 * ms, DipPercent: 100}},
		},
		"an outage until the next fault": {
			series(part{2000 * ms, 10}, part{5000 * ms, 0}, part{8000 * ms, 10}),
			[]Event{{Began: 2000 * ms, Done: 2000 * ms, Healed: 2500 * ms}, {Began: 4000 * ms, Done: 4000 * ms, Healed: 4500 * ms}},
			[]Score{
				{FirstAck: 2000 * ms, Silent: true, Recovery: 2000 * ms, DipPercent: 100},
				{FirstAck: 1010 * ms, Recovery: 1010 * ms, Recovered: true, DipPercent: 100, AfterPerS: 3000.0 / 3.5},
			},
		},
		"each fault is scored until the next one": {
			series(part{2000 * ms, 10}, part{2200 * ms, 0}, part{4000 * ms, 10}, part{5000 * ms, 0}, part{8000 * ms, 10}),
			[]Event{{Began: 2000 * ms, Done: 2000 * ms, Healed: 2500 * ms}, {Began: 4000 * ms, Done: 4000 * ms, Healed: 4500 * ms}},
			[]Score{
				{FirstAck: 210 * ms, Recovery: 210 * ms, Recovered: true, DipPercent: 100, FaultPerS: 600, AfterPerS: 1000},
				{FirstAck: 1010 * ms, Recovery: 1010 * ms, Recovered: true, DipPercent: 100, FaultPerS: 0, AfterPerS: 3000.0 / 3.5},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Judge(c.series, c.events)
			require.NoError(t, err)
			require.Len(t, got.Events, len(c.want))
			for i, want := range c.want {
				have := got.Events[i]
				// The time of an acknowledgement between two samples is unknown.
				assert.InDelta(t, want.FirstAck, have.FirstAck, float64(SampleEvery))
				assert.Equal(t, want.Silent, have.Silent)
				assert.InDelta(t, want.Recovery, have.Recovery, 2*float64(SampleEvery))
				assert.Equal(t, want.Recovered, have.Recovered)
				assert.InDelta(t, want.DipPercent, have.DipPercent, 1e-6)
				assert.InDelta(t, want.FaultPerS, have.FaultPerS, 1e-6)
				assert.InDelta(t, want.AfterPerS, have.AfterPerS, 1e-6)
			}
			assert.InDelta(t, 0, got.BaselineDipPercent, 1e-6)
		})
	}
}

// A load that returns to a lower rate after each fault has recovered, except from a fault that
// reduced the rate too much: each fault is compared with the rate before it, and the levels show
// the decay.
func TestEachFaultIsComparedWithTheRateBeforeIt(t *testing.T) {
	got, err := Judge(
		series(part{2000 * ms, 100}, part{2500 * ms, 0}, part{4000 * ms, 85}, part{4500 * ms, 0}, part{6000 * ms, 70}, part{6500 * ms, 0}, part{8000 * ms, 20}),
		[]Event{
			{Began: 2000 * ms, Done: 2000 * ms, Healed: 2100 * ms},
			{Began: 4000 * ms, Done: 4000 * ms, Healed: 4100 * ms},
			{Began: 6000 * ms, Done: 6000 * ms, Healed: 6100 * ms},
		})
	require.NoError(t, err)
	for i, want := range []Score{
		{BeforePerS: 10000, Recovered: true, LevelPerS: 8500},
		{BeforePerS: 8500, Recovered: true, LevelPerS: 7000},
		{BeforePerS: 7000, Recovered: false, LevelPerS: 2000},
	} {
		have := got.Events[i]
		assert.InDelta(t, want.BeforePerS, have.BeforePerS, 100, "fault %d", i)
		assert.Equal(t, want.Recovered, have.Recovered, "fault %d", i)
		assert.InDelta(t, want.LevelPerS, have.LevelPerS, 100, "fault %d", i)
	}
	assert.Less(t, got.Events[1].Recovery, 600*ms)
	assert.Equal(t, 2000*ms, got.Events[2].Recovery, "the time until the end")
}

// A load is back soon if it reaches 95 % of the rate before the fault, within a second, for half a
// second.
func TestALoadIsBackSoon(t *testing.T) {
	kill := []Event{{Began: 2000 * ms, Done: 2000 * ms, Healed: 2100 * ms}}
	for name, c := range map[string]struct {
		series Series
		want   bool
	}{
		"at once":                 {series(part{6000 * ms, 100}), true},
		"within a second":         {series(part{2000 * ms, 100}, part{2900 * ms, 0}, part{6000 * ms, 96}), true},
		"after a second":          {series(part{2000 * ms, 100}, part{3200 * ms, 0}, part{6000 * ms, 100}), false},
		"not at 95 %":             {series(part{2000 * ms, 100}, part{2300 * ms, 0}, part{6000 * ms, 90}), false},
		"for a tenth of a second": {series(part{2000 * ms, 100}, part{2300 * ms, 0}, part{2400 * ms, 100}, part{6000 * ms, 50}), false},
	} {
		got, err := Judge(c.series, kill)
		require.NoError(t, err)
		assert.Equal(t, c.want, got.Events[0].BackSoon, name)
	}
}

func TestAFaultBeforeTheLoadIsBackIsComparedWithTheRateBeforeTheLastOne(t *testing.T) {
	got, err := Judge(
		series(part{2000 * ms, 100}, part{5000 * ms, 0}, part{8000 * ms, 100}),
		[]Event{{Began: 2000 * ms, Done: 2000 * ms, Healed: 2100 * ms}, {Began: 4000 * ms, Done: 4000 * ms, Healed: 8000 * ms}})
	require.NoError(t, err)
	assert.False(t, got.Events[0].Recovered)
	assert.InDelta(t, 0, got.Events[0].LevelPerS, 1e-6)
	assert.InDelta(t, 10000, got.Events[1].BeforePerS, 1e-6)
	assert.True(t, got.Events[1].Recovered)
	assert.InDelta(t, 10000, got.Events[1].LevelPerS, 50, "the fault lasted until the end, and the load came back before")
}

func TestTheBaselineHasADipOfItsOwn(t *testing.T) {
	got, err := Judge(series(part{1000 * ms, 10}, part{1100 * ms, 5}, part{6000 * ms, 10}), []Event{{Began: 2000 * ms, Healed: 3000 * ms}})
	require.NoError(t, err)
	assert.InDelta(t, 975, got.BaselinePerS, 1e-6)
	assert.InDelta(t, 100*(1-500/975.0), got.BaselineDipPercent, 1e-6)
}

func TestWhatCannotBeScored(t *testing.T) {
	event := []Event{{Began: 2000 * ms}}
	s := golden.Cases(t, "testdata/scores.golden")
	_, err := Judge(series(part{4000 * ms, 1}), nil)
	s.Error(t, "no fault", err)
	_, err = Judge(Series{{}}, event)
	s.Error(t, "few samples", err)
	_, err = Judge(series(part{2000 * ms, 0}, part{4000 * ms, 1}), event)
	s.Error(t, "no load before the fault", err)
}

func TestSlotsAreCyclesInATenthOfASecond(t *testing.T) {
	every, cycles := series(part{200 * ms, 3}, part{450 * ms, 1}).Slots()
	assert.Equal(t, 100*ms, every)
	assert.Equal(t, []float64{30, 30, 10, 10}, cycles, "the incomplete last slot is dropped")
	_, cycles = Series(nil).Slots()
	assert.Empty(t, cycles)
}

func TestASeriesCoversItsWindow(t *testing.T) {
	var n uint64
	began := time.Now()
	s := Sample(t.Context(), began, 30*ms, func() uint64 { n++; return n })
	require.GreaterOrEqual(t, len(s), 2)
	assert.GreaterOrEqual(t, s[len(s)-1].At, 30*ms)
	assert.GreaterOrEqual(t, time.Since(began), 30*ms)
	for i := 1; i < len(s); i++ {
		assert.Greater(t, s[i].At, s[i-1].At)
		assert.Equal(t, s[i-1].Total+1, s[i].Total)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.LessOrEqual(t, len(Sample(ctx, time.Now(), time.Hour, func() uint64 { return 0 })), 2)
}
