package result

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/scenario"
)

// An incorrect target has no figures and does not affect the others. If one point of a server is
// incorrect, none has figures.
func TestPointsOfTargetsAreJudgedAlone(t *testing.T) {
	metrics := map[string]Metric{CyclesPerS: {Median: 1}, Lost: {Median: 2}}
	r := &Result{
		Verdict: Incorrect,
		Rounds:  []Round{{Point: 1, Verdict: Pass}, {Point: 2, Verdict: Pass}, {Point: 2, Verdict: Incorrect}},
		Points: []Point{
			{Number: 1, Metrics: metrics, Workloads: []Workload{{Metrics: metrics}}}, {Number: 2, Metrics: metrics, Workloads: []Workload{{Metrics: metrics}}},
		},
	}
	shown := func() (of []bool) {
		for _, p := range PublishedPoints(r) {
			_, has := p.Metrics[CyclesPerS]
			_, ofWorkload := p.Workloads[0].Metrics[CyclesPerS]
			assert.Equal(t, has, ofWorkload)
			assert.Contains(t, p.Metrics, Lost)
			of = append(of, has)
		}
		return of
	}
	assert.Equal(t, []bool{false, false}, shown())
	r.Manifest.Scenario.Topology.Kind = scenario.ByProgram
	assert.Equal(t, []bool{true, false}, shown())
	r.Verdict = Regressed
	r.Rounds[2].Verdict = Regressed
	assert.Equal(t, []bool{true, true}, shown())
}

// A sweep over several settings together has a value for each. A comma inside a value does not
// separate settings.
func TestSettingsOfAValue(t *testing.T) {
	assert.Equal(t, []string{"batch=1", "in_flight=96"}, Value{Key: "batch, in_flight", Text: "1, 96"}.Settings())
	assert.Equal(t, []string{"payload=uniform(1, 2)"}, Value{Key: "payload", Text: "uniform(1, 2)"}.Settings())
}

// The guarantees of a sweep accompany every number, like a durability.
func TestTheGuaranteeOfTargets(t *testing.T) {
	m := Manifest{Scenario: scenario.Scenario{Topology: scenario.Topology{Kind: scenario.ByProgram, Durability: "os"}}}
	assert.Equal(t, "os", m.Durability())
	m.Scenario.Sweeps = []scenario.Sweep{{Path: "target.name, target.guarantee", Values: []string{"a, os", "b, fsync", "c, os"}}}
	assert.Equal(t, "os, fsync", m.Durability())
}
