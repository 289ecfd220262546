package main

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report/terminal"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

// scripted replaces the measurement of scenarios: each takes a second, and has the verdict of the
// script.
type scripted struct {
	t     *testing.T
	runs  map[string]result.Verdict
	ran   []string
	clock time.Time
}

func (s *scripted) measure(_ context.Context, sc *scenario.Scenario, place *run.Place) (guardedRun, error) {
	assert.Equal(s.t, 3, place.Of)
	s.ran = append(s.ran, sc.Name)
	s.clock = s.clock.Add(time.Second)
	verdict, known := s.runs[sc.Name]
	if !known {
		return guardedRun{}, errDiskFull
	}
	folder := stored(s.t, s.t.TempDir(), "run", func(r *result.Result) { r.Scenario = sc.Name })
	r, _, err := result.Read(folder)
	return guardedRun{r, terminal.Guarded{Report: gate.Report{Scenario: sc.Name, Verdict: verdict}, Folder: folder}}, err
}

func guarding(t *testing.T, within time.Duration, runs map[string]result.Verdict) (*guard, *scripted, []*scenario.Scenario) {
	t.Helper()
	inFolder(t)
	for _, name := range []string{"a", "b", "c"} {
		write(t, name+".hcl", tiny(name, "1s", ""))
	}
	scenarios, err := scenario.Load("a.hcl", "b.hcl", "c.hcl")
	require.NoError(t, err)
	s := &scripted{t: t, runs: runs, clock: time.Unix(1000, 0)}
	return &guard{
		within: within, now: func() time.Time { return s.clock }, stderr: &bytes.Buffer{}, measure: s.measure,
		alone: func(sc *scenario.Scenario) string { return "prony guard " + sc.File },
	}, s, scenarios
}

// Each scenario is measured once for any verdict: a second run would only add noise.
func TestGuardMeasuresEachScenarioOnce(t *testing.T) {
	g, s, scenarios := guarding(t, time.Minute, map[string]result.Verdict{"a": result.Pass, "b": result.Invalid, "c": result.Regressed})
	require.NoError(t, g.all(t.Context(), scenarios))
	assert.Equal(t, []string{"a", "b", "c"}, s.ran)
	d := g.document()
	assert.Equal(t, result.Invalid, d.Verdict)
	require.Len(t, d.Scenarios, 3)
	for i, verdict := range []result.Verdict{result.Pass, result.Invalid, result.Regressed} {
		assert.Equal(t, verdict, d.Scenarios[i].Verdict)
		assert.FileExists(t, d.Scenarios[i].Page)
	}
	assert.Len(t, g.judgements(), 3)
	assert.True(t, g.has(57*time.Second))
	assert.False(t, g.has(58*time.Second))
}

// Neither an undecided duet nor the profiles of a loss use the time of later scenarios.
func TestGuardLeavesTimeForLaterScenarios(t *testing.T) {
	inFolder(t)
	write(t, "baselines/tiny.hcl", ofBaseline)
	limits, err := loadBaselines(defaultBaselines)
	require.NoError(t, err)
	began := time.Unix(1000, 0)
	g := &guard{limits: limits, within: time.Minute, began: began, now: func() time.Time { return began.Add(time.Second) }}
	before := func(later int) *guardLook { return &guardLook{measurer: &guardMeasurer{guard: g}, later: later} }

	undecided, sound, lost := guardDuet(0.9), guardDuet(1), guardDuet(0.5)
	assert.False(t, before(2).decided(undecided, 1))
	assert.True(t, before(3).decided(undecided, 1))
	assert.True(t, before(0).decided(sound, 1))
	assert.Equal(t, guardProfiled, before(1).profiled(lost))
	assert.Zero(t, before(2).profiled(lost))
	assert.Zero(t, before(0).profiled(sound))
}

func TestGuardStopsWhatTakesTooLong(t *testing.T) {
	g, s, scenarios := guarding(t, 20*time.Millisecond, map[string]result.Verdict{"a": result.Incorrect})
	g.measure = func(ctx context.Context, sc *scenario.Scenario, place *run.Place) (guardedRun, error) {
		_, has := ctx.Deadline()
		assert.False(t, has, "a deadline would be sent with each call of the load")
		if sc.Name == "a" {
			return s.measure(ctx, sc, place)
		}
		s.ran = append(s.ran, sc.Name)
		<-ctx.Done()
		return guardedRun{}, ctx.Err()
	}
	g.foreign = func() (stop func() []result.ForeignProcess) {
		return func() []result.ForeignProcess { return []result.ForeignProcess{{Name: "go", CPUPercent: 41}} }
	}
	require.NoError(t, g.all(t.Context(), scenarios))
	assert.NotContains(t, s.ran, "c", "no run starts after the end of the time")
	require.Len(t, g.document().Scenarios, 3)
	for _, scenario := range g.document().Scenarios[1:] {
		assert.Equal(t, result.Invalid, scenario.Verdict)
		assert.Equal(t, []string{"the measurement is incomplete: the time for all scenarios, 20ms, ran out"}, scenario.Reasons)
	}
	out := sheet(t)
	out.Replace(filepath.Dir(t.TempDir()), "TMP")
	out.Equal(t, "the time ran out", terminal.Guard("", g.guarded, time.Second))
	assert.Empty(t, g.guarded[0].Foreign, "measured while no other process ran")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	g, _, scenarios = guarding(t, time.Minute, map[string]result.Verdict{"a": result.Pass})
	assert.ErrorIs(t, g.all(ended, scenarios), context.Canceled, "an interrupt is not a verdict")
}

func TestGuardThatCannotRun(t *testing.T) {
	g, _, scenarios := guarding(t, 0, map[string]result.Verdict{"a": result.Regressed})
	assert.ErrorIs(t, g.all(t.Context(), scenarios), errDiskFull)
	require.Len(t, g.document().Scenarios, 1)
	assert.Equal(t, result.Regressed, g.document().Scenarios[0].Verdict)
}
