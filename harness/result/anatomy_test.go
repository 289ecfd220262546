package result

import (
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func recorded(t *testing.T, ms ...float64) *hdrhistogram.Histogram {
	t.Helper()
	h := NewHistogram()
	for _, v := range ms {
		require.NoError(t, h.RecordValue(int64(v*float64(time.Millisecond))))
	}
	return h
}

// The parts of a mean cycle are the client's means and the server's wait of ready tasks. The
// unattributed rest is a metric.
func TestCycleTimeIsDerived(t *testing.T) {
	h := Histograms{Enqueue: recorded(t, 1, 3), Settle: recorded(t, 4, 6), Cycle: recorded(t, 9, 11)}
	r := Round{CycleTime: &CycleTime{WorkMs: 1}, Stages: []Stage{StageOf(StageInbox, 8, []uint64{4}), StageOf(StageReady, 8, []uint64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4})}}
	r.Derive(h)
	require.NotNil(t, r.CycleTime)
	c := *r.CycleTime
	assert.Equal(t, uint64(2), c.Cycles)
	assert.InDelta(t, 10, c.CycleMs, 0.1)
	assert.InDelta(t, 2, c.EnqueueMs, 0.02)
	assert.InDelta(t, 5, c.SettleMs, 0.05)
	assert.InDelta(t, 2, c.ReadyMs, 1e-9)
	assert.InDelta(t, 1, c.WorkMs, 0)
	assert.InDelta(t, 10-1-2-2-5, c.UnattributedMs(), 0.2)
	c.EnqueueMs, c.SettleMs, c.CycleMs = 2, 5, 10.5
	assert.InDelta(t, 0.5, c.UnattributedMs(), 1e-9)
	assert.InDelta(t, 100*0.5/10.5, c.UnattributedPercent(), 1e-9)
	assert.InDelta(t, r.CycleTime.UnattributedPercent(), r.Metrics[CycleUnattributedPercent], 0)
	c.EnqueueMs += 2 // the parts exceed the cycle
	assert.InDelta(t, -0.5, c.UnattributedMs(), 1e-9)
	assert.InDelta(t, 100*0.5/10.5, c.UnattributedPercent(), 1e-9)

	for what, without := range map[string]struct {
		stages []Stage
		h      Histograms
	}{
		"an older server":          {r.Stages[:1], h},
		"no task was leased first": {[]Stage{{Name: StageReady}}, h},
		"no enqueue in the window": {r.Stages, Histograms{Enqueue: NewHistogram(), Settle: h.Settle, Cycle: h.Cycle}},
		"no histograms":            {r.Stages, Histograms{}},
	} {
		of := Round{CycleTime: &CycleTime{}, Stages: without.stages}
		of.Derive(without.h)
		assert.Nil(t, of.CycleTime, what)
		assert.NotContains(t, of.Metrics, CycleUnattributedPercent, what)
	}
	of := Round{Stages: r.Stages}
	of.Derive(h)
	assert.Nil(t, of.CycleTime, "the work time per task differs between the workloads")
}

// The parts add up to the cycle for any rounds, and each round is weighted by its cycles.
func TestMergedCycleTimesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rounds []Round
		var cycles uint64
		sum := 0.0
		ms := rapid.Float64Range(0.01, 100)
		for range rapid.IntRange(0, 5).Draw(t, "rounds") {
			c := &CycleTime{
				Cycles: rapid.Uint64Range(1, 1_000_000).Draw(t, "cycles"), CycleMs: ms.Draw(t, "cycle"), EnqueueMs: ms.Draw(t, "enqueue"),
				ReadyMs: ms.Draw(t, "ready"), SettleMs: ms.Draw(t, "settle"), WorkMs: ms.Draw(t, "work"),
			}
			rounds = append(rounds, Round{CycleTime: c}, Round{}, Round{Profiled: true, CycleTime: &CycleTime{Cycles: 9, CycleMs: 1e9}})
			cycles += c.Cycles
			sum += float64(c.Cycles) * c.CycleMs
		}
		all := MergeCycleTimes(rounds)
		require.Equal(t, cycles, all.Cycles)
		if cycles > 0 {
			require.InEpsilon(t, sum/float64(cycles), all.CycleMs, 1e-9)
			require.InDelta(t, all.CycleMs, all.EnqueueMs/2+all.ReadyMs+1.5*all.SettleMs-all.WorkMs/2+all.UnattributedMs(), 1e-6)
		}
	})
}

func TestMergedStorageStepsAreSums(t *testing.T) {
	step := func(name string, n float64) StorageStep {
		return StorageStep{
			Name: name, Gets: n, ScannedKeys: 2 * n, Sets: 3 * n, SetBytes: 4 * n, Deletes: 5 * n, Encodes: 6 * n, EncodedBytes: 7 * n, Decodes: 8 * n,
		}
	}
	got := MergeStorageSteps([]Round{
		{StorageSteps: &StorageSteps{Cycles: 10, Steps: []StorageStep{step(StepEnqueue, 1), step(StepClaim, 2)}}},
		{},
		{Profiled: true, StorageSteps: &StorageSteps{Cycles: 99, Steps: []StorageStep{step(StepEnqueue, 99)}}},
		{StorageSteps: &StorageSteps{Cycles: 5, Steps: []StorageStep{step(StepClaim, 3), step(StepOther, 4)}}},
	})
	assert.Equal(t, StorageSteps{Cycles: 15, Steps: []StorageStep{step(StepEnqueue, 1), step(StepClaim, 5), step(StepOther, 4)}}, got)
	assert.Zero(t, MergeStorageSteps(nil))
}
