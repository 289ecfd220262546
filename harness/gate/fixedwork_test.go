package gate_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
)

const workCycles = 60_000

// withWork returns a duet of identical builds whose fixed work has the given count in each counter
// on both sides.
func withWork(random *rand.Rand, count float64) *result.Duet {
	d := simulated(random, 15, quietHost, losses{})
	d.Work = &result.FixedWork{Seed: 1, Cycles: workCycles, Counters: map[string][2]float64{}}
	for _, c := range result.WorkCounters() {
		d.Work.Counters[c.Name] = [2]float64{count, count}
	}
	return d
}

func TestFixedWorkOfIdenticalBuildsPasses(t *testing.T) {
	c := judged(withWork(seeded(1), 80_000), 1)
	require.Equal(t, result.Pass, c.Verdict, c.Reasons)
	d := metricOf(t, c, "storage_sets_per_cycle")
	assert.Equal(t, result.Same, d.Outcome)
	assert.Equal(t, "is equal: 80,000 in 60,000 cycles of the same work", d.Because)
	assert.InDelta(t, 80.0/60, d.Base.Median, 1e-9)
}

// An increase of 1 % in any counter is called, whatever the noise of the primaries and the size of
// the counter. Equal counters are never called.
func TestOnePercentMoreOfACounterIsCalled(t *testing.T) {
	for _, counter := range result.WorkCounters() {
		t.Run(counter.Name, func(t *testing.T) {
			random := seeded(2)
			d := withWork(random, 80_000)
			for range 100 {
				base := math.Exp(random.Float64() * math.Log(200_000))
				d.Work.Counters[counter.Name] = [2]float64{base, (1 + gate.CounterShift) * base}
				c := judged(d, 1)
				require.Equal(t, result.Regressed, c.Verdict)
				found := metricOf(t, c, counter.Metric())
				require.Equal(t, result.Worsened, found.Outcome, found.Because)
				require.Contains(t, c.Reasons, counter.Metric()+" "+found.Because)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		random := seeded(3)
		d := withWork(random, 80_000)
		for range 300 {
			for name := range d.Work.Counters {
				count := float64(1 + random.IntN(200_000))
				d.Work.Counters[name] = [2]float64{count, count}
			}
			for _, d := range judged(d, 1).Metrics {
				if d.Loss == nil {
					require.Equal(t, result.Same, d.Outcome, d.Because)
				}
			}
		}
	})
}

// A difference of one operation is called if the counter has no tolerance.
func TestOneOperationMoreIsCalled(t *testing.T) {
	for _, c := range []struct {
		counter string
		more    float64
		outcome result.Outcomes
		because string
	}{
		{result.WorkStorageSets, 1, result.Worsened, "was 1.3333 keys and is 1.3334: 1 more in 60,000 cycles of the same work"},
		{result.WorkStorageSets, -1, result.Improved, "was 1.33333 keys and is 1.33332: 1 fewer in 60,000 cycles of the same work"},
		{result.WorkCommitFsyncs, 1, result.Worsened, ""},
		{result.WorkAllocs, 400, result.Same, "was 1.333 objects and is 1.34: 400 more in 60,000 cycles of the same work, within the tolerance between two runs of one build"},
		{result.WorkAllocs, 401, result.Worsened, ""},
		{result.WorkAllocs, -401, result.Improved, ""},
	} {
		d := withWork(seeded(4), 80_000)
		d.Work.Counters[c.counter] = [2]float64{80_000, 80_000 + c.more}
		found := metricOf(t, judged(d, 1), c.counter+"_per_cycle")
		assert.Equal(t, c.outcome, found.Outcome, found.Because)
		if c.because != "" {
			assert.Equal(t, c.because, found.Because)
		}
	}
	d := withWork(seeded(4), 0)
	d.Work.Counters[result.WorkStorageSets] = [2]float64{1, 1}
	d.Work.Counters[result.WorkStorageGets] = [2]float64{0, 1}
	found := metricOf(t, judged(d, 1), "storage_gets_per_cycle")
	assert.Equal(t, result.Worsened, found.Outcome)
	assert.NotEmpty(t, found.Warnings, "no ratio exists for a base of 0")
}

func TestDeclaredDifferencesAreExpected(t *testing.T) {
	d := withWork(seeded(5), 80_000)
	d.Work.Counters[result.WorkStorageSets] = [2]float64{80_000, 140_000}
	d.Work.Expected = map[string]string{result.WorkStorageSets: "each task has a second record", result.WorkStorageGets: "left over"}
	c := judged(d, 1)
	assert.Equal(t, result.Pass, c.Verdict, c.Reasons)
	found := metricOf(t, c, "storage_sets_per_cycle")
	assert.Equal(t, result.Expected, found.Outcome)
	assert.Contains(t, found.Because, "The change declares this: each task has a second record")
	assert.Equal(t, result.Same, metricOf(t, c, "storage_gets_per_cycle").Outcome)
	assert.Contains(t, c.Warnings, "the change declares a difference of storage_gets (left over), but the counter does not differ: remove the declaration")

	d.Work.Counters[result.WorkStorageDeletes] = [2]float64{80_000, 80_001}
	assert.Equal(t, result.Regressed, judged(d, 1).Verdict, "another counter is not declared")
}

func TestFixedWorkThatCountedNothing(t *testing.T) {
	for name, spoil := range map[string]func(*result.FixedWork){
		"no cycles":   func(w *result.FixedWork) { w.Cycles = 0 },
		"no counters": func(w *result.FixedWork) { w.Counters = nil },
		"no sets":     func(w *result.FixedWork) { w.Counters[result.WorkStorageSets] = [2]float64{1, 0} },
		"negative":    func(w *result.FixedWork) { w.Counters[result.WorkAllocs] = [2]float64{1, -1} },
	} {
		t.Run(name, func(t *testing.T) {
			d := withWork(seeded(6), 80_000)
			spoil(d.Work)
			assert.Equal(t, result.Invalid, judged(d, 1).Verdict)
		})
	}
	d := withWork(seeded(6), 80_000)
	delete(d.Work.Counters, result.WorkStreamFrames)
	d.Work.Warnings = []string{"the base does not count stream_frames"}
	d.Work.Shown = map[string][2]float64{"context switches": {60_000, 120_000}}
	c := judged(d, 1)
	assert.Equal(t, result.Pass, c.Verdict, c.Reasons)
	assert.Contains(t, c.Warnings, "the base does not count stream_frames")
	assert.Contains(t, c.Duet.Shown, result.DuetFigure{Name: "fixed work, context switches", Unit: "per cycle", Base: 1, Change: 2})
}
