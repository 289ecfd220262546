package load

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/scenario"
)

// A stage with rate 0 has no due task, not even the first task of the next stage.
func TestStagesWithPauses(t *testing.T) {
	rate := func(perSecond float64) scenario.Rate { return scenario.Rate{PerSecond: perSecond} }
	s := newStages(scenario.Arrivals{Kind: scenario.Stages, Stages: []scenario.Stage{
		{Over: time.Second}, {To: rate(10)}, {To: rate(10), Over: time.Second}, {}, {Over: time.Second}, {To: rate(20), Over: time.Second}, {},
	}})
	second := float64(time.Second)
	assert.InDelta(t, second, s.due(0), 1, "the first task comes after the pause")
	assert.InDelta(t, 1.9*second, s.due(9), 1)
	assert.InDelta(t, 3*second, s.due(10), 1, "after the second pause")
	assert.InDelta(t, 3.5*second, s.due(12.5), 1, "a ramp from 0: a quarter of its tasks in half of its time")
	assert.EqualValues(t, neverDue, s.due(20), "the rate stays 0")
	for at, tasks := range map[float64]float64{-5: 0, 0: 0, 1: 0, 1.5: 5, 2: 10, 3: 10, 3.5: 12.5, 4: 20, 100: 20} {
		assert.InDelta(t, tasks, s.count(at*second), 1e-9, "%v s", at)
	}
}

// The schedule of a load whose rate falls to 0 ends.
func TestStagesThatEndAtNothing(t *testing.T) {
	window := span{start: 5, end: 5 + int64(10*time.Second)}
	s := scheduleOf(window, newStages(scenario.Arrivals{
		Kind: scenario.Stages, Rate: scenario.Rate{PerSecond: 100}, Stages: []scenario.Stage{{Over: 2 * time.Second}},
	}))
	assert.EqualValues(t, 100, s.scheduled())
	assert.Greater(t, s.at(100), window.end)
}
