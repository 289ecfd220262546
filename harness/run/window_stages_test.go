package run

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// scraped returns the metrics of one stage: the counts of its buckets and the sum.
func scraped(stage string, seconds float64, counts ...uint64) observe.Metrics {
	key := `{stage="` + stage + `"}`
	m := observe.Metrics{
		Values:     map[string]float64{"prony_stage_seconds_sum" + key: seconds},
		Histograms: map[string]observe.Buckets{},
	}
	var buckets observe.Buckets
	upper := 1e-6
	for i, n := range counts {
		if i == len(counts)-1 {
			upper = math.Inf(1)
		}
		buckets = append(buckets, observe.Bucket{Upper: upper, Count: n})
		upper *= 2
	}
	m.Histograms["prony_stage_seconds"+key] = buckets
	return m
}

func stageProbe(before, after observe.Metrics) *serverProbe {
	return &serverProbe{metricsBefore: before, metricsAfter: after, countersBefore: before.Values, countersAfter: after.Values}
}

// The mean think time is known if all workloads have the same one. The think time of a script is
// unknown.
func TestAverageThink(t *testing.T) {
	workload := func(driver string, think scenario.Think) scenario.Workload {
		return scenario.Workload{Driver: driver, Think: think}
	}
	none := workload("stream", scenario.Think{})
	uniform := workload("stream", scenario.Think{Kind: scenario.ThinkUniform, Min: time.Millisecond, Max: 3 * time.Millisecond})
	fixed := workload("unary", scenario.Think{Kind: scenario.ThinkFixed, Min: 2 * time.Millisecond, Max: 2 * time.Millisecond})
	exponential := workload("rest", scenario.Think{Kind: scenario.ThinkExponential, Mean: 2 * time.Millisecond, Max: 20 * time.Millisecond})
	for _, c := range []struct {
		of      []scenario.Workload
		average time.Duration
		same    bool
	}{
		{[]scenario.Workload{none}, 0, true},
		{[]scenario.Workload{uniform, fixed, exponential}, 2 * time.Millisecond, true},
		{[]scenario.Workload{none, fixed}, 0, false},
		{[]scenario.Workload{none, workload(scenario.DriverK6, scenario.Think{})}, 0, false},
		{nil, 0, false},
	} {
		average, same := averageThink(c.of)
		assert.Equal(t, c.average, average)
		assert.Equal(t, c.same, same)
	}
}

// A round's stages count what passed them in the window, over all servers. Stages without a pass
// are left out.
func TestStagesAreThoseOfTheWindow(t *testing.T) {
	w := counters{servers: []*serverProbe{
		stageProbe(scraped("apply", 1, 10, 10, 0, 0), scraped("apply", 1.5, 10, 15, 1, 0)),
		stageProbe(scraped("apply", 1, 1, 0, 0, 0), scraped("apply", 1.25, 2, 0, 0, 1)),
	}}
	read := time.Date(2026, 11, 27, 15, 0, 0, 0, time.UTC)
	w.servers[0].counters = profile.Span{From: profile.Mark{At: read}, To: profile.Mark{At: read.Add(10_250 * time.Millisecond)}}
	m := measured{round: result.Round{WindowSeconds: 10, Cycles: 1000}}
	w.stages(&m)
	require.Empty(t, m.warnings)
	assert.Equal(t, &result.Covering{Cycles: 1025, Seconds: 10.25}, m.round.StagesOf, "counters are read shortly before the window begins")
	require.Len(t, m.round.Stages, 1)
	s := m.round.Stages[0]
	assert.Equal(t, result.StageApply, s.Name)
	assert.Equal(t, []uint64{1, 5, 1, 1}, s.Buckets)
	assert.Equal(t, uint64(8), s.Count)
	assert.InDelta(t, 750, s.SumMs, 1e-9)
	assert.InDelta(t, 0.0016, s.P50Ms, 1e-9)

	w.servers[1].partial = true // it was restarted
	m = measured{}
	w.stages(&m)
	assert.Empty(t, m.round.Stages, "the counts of its first process would be missing")

	w.servers = []*serverProbe{stageProbe(scraped("replicate", 1, 1, 1), scraped("replicate", 1, 1, 1))}
	m = measured{}
	w.stages(&m)
	assert.Empty(t, m.round.Stages, "the stage was not passed in the window")

	w.servers = []*serverProbe{stageProbe(scraped("apply", 1, 10, 10, 0, 0), observe.Metrics{})}
	w.servers[0].metricsAfter = scraped("apply", 1.5, 9, 15, 1, 0) // of another process
	m = measured{}
	w.stages(&m)
	assert.Empty(t, m.round.Stages)
	require.Len(t, m.warnings, 1)
	assert.Contains(t, m.warnings[0], "stage apply is missing")
}
