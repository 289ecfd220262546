package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

// headlined returns the folder of the fixture with everything that a headline needs.
func headlined(t *testing.T, change func(*result.Result)) string {
	t.Helper()
	r, hists := fixture(t, 7, 1)
	r.Manifest.Host.Virtualisation, r.Manifest.Host.Container = "kvm", "none"
	if change != nil {
		change(r)
	}
	return stored(t, r, hists)
}

func TestHeadlineSaysWhatTheRateHoldsFor(t *testing.T) {
	t.Parallel()
	text, err := report.Headline(nil, headlined(t, func(r *result.Result) { r.Manifest.Scenario.Topology.BusyPoll = true }))
	require.NoError(t, err)
	r, _ := fixture(t, 7, 1)
	rate := r.Metrics[result.CyclesPerS]
	require.Positive(t, rate.Median)
	for _, says := range []string{
		"| cycles a second | 15", " to 15",
		"| CPU of the servers, µs a cycle | 7.", "| CPU of the load generator, µs a cycle | 5.",
		"| durability | `none` |", "`topology.busy_poll` = `true` (default `false`)",
		"| rounds | 7 timed rounds with a window of 10 s, 1 profiled round with a window of 10 s; range of 7 rounds, 98.4 % interval of the median |",
		"| host | Invented CPU @ 2.0 GHz, 2 CPUs, linux 6.1.0-fixture, virtualisation kvm, container none; before the first round: median fsync 1.25 ms |",
		"| commit | `0123456789abcdef0123456789abcdef01234567` |", "| measured (UTC) | 2026-01-02 03:04:05 |",
		"| command | `bin/prony run scenarios/fixture.hcl --out 'my runs'` |", "the page of `fixture`",
	} {
		assert.Contains(t, text, says)
	}
	assert.NotContains(t, text, "captures.", "profiles have separate rounds")
}

// The headline is that of the latest run. If the run breaks a limit, the first row says so.
func TestHeadlineOfARunThatBreaksALimit(t *testing.T) {
	t.Parallel()
	text, err := report.Headline(nil, headlined(t, func(r *result.Result) { r.Manifest.Scenario.Limits = tooHigh() }))
	require.NoError(t, err)
	assert.Regexp(t, `\| verdict \| \*\*regressed\*\*: cycles\\_per\\_s 15\d,\d+ is below the floor 1,000,000,000: nothing does that \|\n\| cycles a second`, text)
}

// The error lists all missing values, and nothing is written without them.
func TestHeadlineOfARunThatLacksThings(t *testing.T) {
	t.Parallel()
	for says, change := range map[string]func(*result.Result){
		"it has no cycles_per_s":                         func(r *result.Result) { delete(r.Metrics, result.CyclesPerS) },
		"it has no server_cpu_us_per_cycle":              func(r *result.Result) { r.Metrics[result.ServerCPUUsPerCycle] = result.Metric{N: 7} },
		"it has no client_cpu_us_per_cycle":              func(r *result.Result) { r.Metrics[result.ClientCPUUsPerCycle] = result.Metric{Median: 5} },
		"its durability was not recorded":                func(r *result.Result) { r.Manifest.Scenario.Topology.Durability = "" },
		"its scenario was not recorded":                  func(r *result.Result) { r.Manifest.Scenario.Topology.Kind = "" },
		"the number of its host's CPUs was not recorded": func(r *result.Result) { r.Manifest.Host.CPUs = 0 },
		"its host's virtualisation was not recorded":     func(r *result.Result) { r.Manifest.Host.Virtualisation = "" },
		"its host's container was not recorded":          func(r *result.Result) { r.Manifest.Host.Container = "" },
		"its commit was not recorded":                    func(r *result.Result) { r.Manifest.Build.Commit = "" },
		"its command was not recorded":                   func(r *result.Result) { r.Manifest.Command = nil },
		"measured from a tree with uncommitted changes":  func(r *result.Result) { r.Manifest.Build.Dirty = true },
		"its servers were profiled in timed rounds": func(r *result.Result) {
			r.Rounds[2].Observed = &result.Observed{Profiles: []string{"cpu"}}
		},
		"its verdict is incorrect":                          func(r *result.Result) { r.Verdict = result.Incorrect },
		"its verdict is invalid":                            func(r *result.Result) { r.Verdict = result.Invalid },
		"it has a sweep, whose points have different rates": func(r *result.Result) { r.Points = []result.Point{{Name: "x"}} },
	} {
		_, err := report.Headline(nil, headlined(t, change))
		require.ErrorContains(t, err, says)
	}
	_, err := report.Headline(nil, headlined(t, func(r *result.Result) { r.Verdict, r.Manifest.Build.Dirty = result.Invalid, true }))
	require.ErrorContains(t, err, "its verdict is invalid; measured from a tree with uncommitted changes: publish another run with 'prony report --publish reports RUN'")
	_, err = report.Headline(nil, t.TempDir())
	require.ErrorContains(t, err, "there is no such file")
}
