package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func buckets(at map[int]uint64) []uint64 {
	out := make([]uint64, 25)
	for i, n := range at {
		out[i] = n
	}
	return out
}

func TestStageOfInterpolates(t *testing.T) {
	// 99 of 2 to 4 us, one of 512 to 1,024 us.
	s := StageOf(StageDecide, 30, buckets(map[int]uint64{2: 99, 10: 1}))
	assert.Equal(t, uint64(100), s.Count)
	assert.InDelta(t, 0.002+0.002*50/99, s.P50Ms, 1e-9)
	assert.InDelta(t, 0.004, s.P99Ms, 1e-9)
	assert.InDelta(t, 0.3, s.MeanMs(), 1e-9)
	beyond := StageOf(StageDecide, 1e5, buckets(map[int]uint64{24: 3}))
	assert.InDelta(t, 8388.608, beyond.P50Ms, 1e-6, "values beyond all bounds yield the last bound")
	assert.Zero(t, StageOf(StageDecide, 0, nil).MeanMs())
}

// Percentiles of several rounds are computed from all their values, never as a mean of percentiles.
func TestMergedStagesAreThoseOfAllValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all [25]uint64
		var rounds []Round
		sum := 0.0
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			one := make([]uint64, 25)
			for range rapid.IntRange(1, 6).Draw(t, "buckets") {
				one[rapid.IntRange(0, 24).Draw(t, "bucket")] += uint64(rapid.IntRange(1, 50).Draw(t, "n"))
			}
			ms := rapid.Float64Range(0, 10).Draw(t, "ms")
			rounds = append(rounds, Round{Stages: []Stage{StageOf(StageApply, ms, one)}})
			for i, n := range one {
				all[i] += n
			}
			sum += ms
		}
		rounds = append(rounds, Round{Profiled: true, Stages: []Stage{StageOf(StageApply, 1e6, all[:])}})
		merged := MergeStages(rounds)
		require.Len(t, merged, 1)
		want := StageOf(StageApply, sum, all[:])
		require.InDelta(t, want.SumMs, merged[0].SumMs, 1e-9)
		want.SumMs, merged[0].SumMs = 0, 0
		require.Equal(t, want, merged[0])
	})
}

func TestBudgetAddsUp(t *testing.T) {
	stages := []Stage{
		StageOf(StageDecide, 60, buckets(map[int]uint64{3: 10_000})), StageOf(StageApply, 90, buckets(map[int]uint64{4: 9_000})),
	}
	b, ok := BudgetOf(stages, 70_000, 2, 1)
	require.True(t, ok)
	assert.Equal(t, "35,000 cycles/s = 7.00 cycles a batch / (185 µs rest + 6.00 µs decide + 9.00 µs apply)", b.String())
	assert.InDelta(t, b.PerS, 1e6*b.CyclesPerBatch/(b.RestUs+b.DecideUs+b.ApplyUs), 1e-6)

	replicated, ok := BudgetOf(append(stages, StageOf(StageReplicate, 900, buckets(map[int]uint64{9: 9_000}))), 70_000, 2, 1)
	require.True(t, ok)
	assert.Zero(t, replicated.ApplyUs, "others apply")
	for _, none := range [][]Stage{nil, stages[1:]} {
		_, ok = BudgetOf(none, 70_000, 2, 1)
		assert.False(t, ok)
	}
	_, ok = BudgetOf(stages, 0, 2, 1)
	assert.False(t, ok)
}

// Stages cover the time between two readings of the counters, or the window in results that do not
// record it.
func TestWhatStagesCover(t *testing.T) {
	some := []Stage{{Name: StageDecide, Count: 1}}
	assert.Equal(t, Covering{Cycles: 1_125, Seconds: 11.25}, StagesCover([]Round{
		{Cycles: 500, WindowSeconds: 5, Stages: some},
		{Cycles: 500, WindowSeconds: 5, Stages: some, StagesOf: &Covering{Cycles: 625, Seconds: 6.25}},
		{Cycles: 500, WindowSeconds: 5},
	}))
}
