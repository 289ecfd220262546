package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

// scripted answers each run of a scenario with the next of its results, and notes what was run. Each run takes a second.
type scripted struct {
	t       *testing.T
	results map[string][]func(*result.Result)
	ran     []string
	clock   time.Time
}

func (s *scripted) execute(_ context.Context, sc *scenario.Scenario, place *run.Place) (*result.Result, string, error) {
	s.ran = append(s.ran, fmt.Sprintf("%s %d/%d profiles %d, %v after", sc.Name, place.Number, place.Of, sc.Profiles(), place.After))
	s.clock = s.clock.Add(time.Second)
	next := s.results[sc.Name]
	if len(next) == 0 {
		return nil, "", errors.New("the disk is full")
	}
	s.results[sc.Name] = next[1:]
	folder := stored(s.t, s.t.TempDir(), "run", func(r *result.Result) {
		r.Scenario = sc.Name
		next[0](r)
	})
	r, _, err := result.Read(folder)
	return r, folder, err
}

// guarding returns a guard of the scenarios a, b and c, of 100 cycles a second at least each.
func guarding(t *testing.T, within time.Duration, results map[string][]func(*result.Result)) (*guard, *scripted, []*scenario.Scenario) {
	t.Helper()
	inFolder(t)
	limits := ""
	for _, name := range []string{"a", "b", "c"} {
		write(t, name+".hcl", tiny(name, "1s", ""))
		limits += fmt.Sprintf("baseline %q {\n  floor \"cycles_per_s\" {\n    min     = 100\n    because = \"it is\"\n  }\n}\n", name)
	}
	write(t, "baselines/all.hcl", limits)
	baselines, err := gate.LoadBaselines("baselines")
	require.NoError(t, err)
	scenarios, err := scenario.Load("a.hcl", "b.hcl", "c.hcl")
	require.NoError(t, err)
	s := &scripted{t: t, results: results, clock: time.Unix(1000, 0)}
	return &guard{
		limits: baselines, within: within, now: func() time.Time { return s.clock }, stderr: &bytes.Buffer{}, execute: s.execute,
		alone: func(sc *scenario.Scenario) string { return "prony guard " + sc.File },
	}, s, scenarios
}

func sound(*result.Result) {}

func slow(r *result.Result) {
	r.Metrics[result.CyclesPerS] = result.Metric{Median: 70, Low: 70, High: 70, N: 2}
}

// stalled is slow in rounds whose rate fell within the window: all of them, or a part.
func stalled(unsteady int) func(*result.Result) {
	return func(r *result.Result) {
		slow(r)
		for i := range r.Rounds {
			r.Rounds[i].Warmup = &result.Warmup{Stationary: i >= unsteady}
		}
	}
}

func invalid(r *result.Result) { r.Verdict, r.Reasons = result.Invalid, []string{"the host slept"} }

func wrong(r *result.Result) { r.Verdict, r.Reasons = result.Incorrect, []string{"round 1: lost"} }

func TestGuardRunsEachScenarioOnce(t *testing.T) {
	g, s, scenarios := guarding(t, time.Minute, map[string][]func(*result.Result){"a": {sound}, "b": {sound}, "c": {sound}})
	require.NoError(t, g.all(t.Context(), scenarios))
	assert.Equal(t, []string{"a 1/3 profiles 0, 12.04s after", "b 2/3 profiles 0, 6.02s after", "c 3/3 profiles 0, 0s after"}, s.ran)
	assert.Equal(t, result.Pass, g.document().Verdict)
	assert.Len(t, g.judgements(), 3)
}

// The second run has the last word, after all others had their turn.
func TestGuardRepeatsWhatWasInvalid(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second func(*result.Result)
		verdict       result.Verdict
		because       string
	}{
		{"then it passes", invalid, sound, result.Pass, "was invalid: the host slept"},
		{"then it is invalid again", invalid, invalid, result.Invalid, "was invalid: the host slept"},
		{"then it regressed", invalid, slow, result.Regressed, "was invalid: the host slept"},
		{"a slow host passes", slow, sound, result.Pass, "broke limits on rates and times only, as it may on a host that is slow for some seconds: cycles_per_s 70 is below"},
		{"a slow server stays slow", slow, slow, result.Regressed, "broke limits on rates and times only, as it may on a host that is slow for some seconds: cycles_per_s 70 is below"},
		{"a stall passes", stalled(2), sound, result.Pass, "broke a limit while the rate of most rounds rose or fell within the window: cycles_per_s 70 is below"},
		{"a decay stays", stalled(2), stalled(2), result.Regressed, "broke a limit while the rate of most rounds rose or fell within the window: cycles_per_s 70 is below"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, s, scenarios := guarding(t, time.Minute, map[string][]func(*result.Result){"a": {c.first, c.second, sound}, "b": {sound}, "c": {sound}})
			require.NoError(t, g.all(t.Context(), scenarios))
			require.Greater(t, len(s.ran), 3)
			assert.Equal(t, "a 1/3 profiles 0, 0s after", s.ran[3])
			assert.Equal(t, c.verdict, g.document().Verdict)
			assert.Equal(t, c.verdict, g.document().Scenarios[0].Verdict)
			assert.Contains(t, report.GuardText(g.guarded, time.Second), "a was run twice, because the first run "+c.because)
			if c.verdict != result.Regressed {
				assert.Len(t, s.ran, 4, "it is repeated once")
			}
		})
	}
}

// What is wrong, or has no figure, was not the host's doing, and neither was what most scenarios show.
func TestGuardDoesNotRepeatWhatTheHostDoesNotDo(t *testing.T) {
	for name, c := range map[string]struct{ first, others func(*result.Result) }{
		"wrong":     {func(r *result.Result) { stalled(2)(r); wrong(r) }, sound},
		"no limit":  {func(r *result.Result) { stalled(2)(r); r.Metrics[result.CyclesPerS] = result.Metric{Median: 170, N: 2} }, sound},
		"no figure": {func(r *result.Result) { delete(r.Metrics, result.CyclesPerS) }, sound},
		"three":     {stalled(0), slow},
		"half":      {stalled(1), slow},
	} {
		t.Run(name, func(t *testing.T) {
			g, s, scenarios := guarding(t, time.Minute, map[string][]func(*result.Result){"a": {c.first, sound}, "b": {c.others, sound}, "c": {c.others, sound}})
			require.NoError(t, g.all(t.Context(), scenarios))
			assert.NotContains(t, s.ran, "a 1/3 profiles 0, 0s after")
			assert.Nil(t, g.guarded[0].First)
		})
	}
}

// A limit on a counter that is broken beside one on the rate is no matter of the host.
func TestGuardDoesNotDoubtCounters(t *testing.T) {
	g, s, scenarios := guarding(t, time.Minute, map[string][]func(*result.Result){"a": {slow, sound}, "b": {sound}, "c": {sound}})
	write(t, "baselines/all.hcl", "baseline \"a\" {\n  floor \"cycles_per_s\" {\n    min     = 100\n    because = \"it is\"\n  }\n"+
		"  ceiling \"storage_sets_per_cycle\" {\n    max     = 0.001\n    because = \"it is\"\n  }\n}\n")
	var err error
	g.limits, err = gate.LoadBaselines("baselines")
	require.NoError(t, err)
	require.NoError(t, g.all(t.Context(), scenarios))
	assert.NotContains(t, s.ran, "a 1/3 profiles 0, 0s after")
	assert.Equal(t, result.Regressed, g.guarded[0].Verdict)
}

func TestGuardTakesProfilesOfWhatBrokeALimit(t *testing.T) {
	profiled := func(r *result.Result) {
		r.Profiles = []result.Profile{{Kind: "cpu", Total: 1e9, Unit: "nanoseconds", Top: []result.ProfileEntry{{Function: "example.com/hot.Loop", Flat: 6e8, Share: 0.6}}}}
	}
	g, s, scenarios := guarding(t, time.Minute, map[string][]func(*result.Result){"a": {sound}, "b": {slow, slow, profiled}, "c": {sound}})
	require.NoError(t, g.all(t.Context(), scenarios))
	assert.Equal(t, "b 2/3 profiles 1, 0s after", s.ran[4], "after it was slow twice")
	assert.Equal(t, result.Regressed, g.document().Verdict, "the sound rate of the run with profiles does not count")
	require.NotEmpty(t, g.guarded[1].Where)
	assert.Contains(t, g.guarded[1].Where[0], "hot.Loop")

	g, _, scenarios = guarding(t, time.Minute, map[string][]func(*result.Result){"a": {sound}, "b": {slow, slow, wrong}, "c": {sound}})
	require.NoError(t, g.all(t.Context(), scenarios))
	assert.Equal(t, result.Incorrect, g.document().Verdict, "a task at fault counts whenever it is seen")
	assert.Contains(t, g.document().Scenarios[1].Reasons, "in the run with profiles: round 1: lost")
}

// No further run begins that is expected to end too late.
func TestGuardEndsInTime(t *testing.T) {
	g, s, scenarios := guarding(t, 4*time.Second, map[string][]func(*result.Result){"a": {invalid}, "b": {slow}, "c": {sound}})
	require.NoError(t, g.all(t.Context(), scenarios))
	assert.Len(t, s.ran, 3)
	assert.Equal(t, result.Invalid, g.guarded[0].Verdict)
	assert.Nil(t, g.guarded[0].First)
	assert.Equal(t, "there was no time left to take profiles", g.guarded[1].NoProfiles)
}

// Whatever a scenario waits for, the guard ends in time, and what was found until then counts.
func TestGuardStopsWhatTakesTooLong(t *testing.T) {
	g, s, scenarios := guarding(t, 20*time.Millisecond, map[string][]func(*result.Result){"a": {wrong}})
	g.execute = func(ctx context.Context, sc *scenario.Scenario, place *run.Place) (*result.Result, string, error) {
		_, has := ctx.Deadline()
		assert.False(t, has, "a deadline would be sent with each call of the load")
		if sc.Name == "a" {
			return s.execute(ctx, sc, place)
		}
		s.ran = append(s.ran, sc.Name)
		<-ctx.Done()
		return nil, "", ctx.Err()
	}
	require.NoError(t, g.all(t.Context(), scenarios))
	assert.NotContains(t, s.ran, "c", "no run begins after the time is over")
	require.Len(t, g.document().Scenarios, 3)
	for _, scenario := range g.document().Scenarios[1:] {
		assert.Equal(t, result.Invalid, scenario.Verdict)
		assert.Equal(t, []string{"it was not measured to its end: the time for all scenarios, 20ms, was over"}, scenario.Reasons)
	}
	text := report.GuardText(g.guarded, time.Second)
	assert.Contains(t, text, "b: invalid\n  it was not measured to its end")
	assert.NotContains(t, text, "run: \n", "a run that did not begin has no folder")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	g, _, scenarios = guarding(t, time.Minute, map[string][]func(*result.Result){"a": {sound}})
	assert.ErrorIs(t, g.all(ended, scenarios), context.Canceled, "an interrupt is no verdict")
}

// What was judged before a run failed is in the document.
func TestGuardThatCannotRun(t *testing.T) {
	g, _, scenarios := guarding(t, 0, map[string][]func(*result.Result){"a": {slow}})
	assert.EqualError(t, g.all(t.Context(), scenarios), "the disk is full")
	require.Len(t, g.document().Scenarios, 1)
	assert.Equal(t, result.Regressed, g.document().Scenarios[0].Verdict)
}
