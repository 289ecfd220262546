package report_test

import (
	"os"
	"strings"
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
	sheet(t).Equal(t, "rate", text)
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
	s := sheet(t)
	for name, change := range map[string]func(*result.Result){
		"rate":              func(r *result.Result) { delete(r.Metrics, result.CyclesPerS) },
		"CPU of the server": func(r *result.Result) { r.Metrics[result.ServerCPUUsPerCycle] = result.Metric{N: 7} },
		"CPU of the client": func(r *result.Result) { r.Metrics[result.ClientCPUUsPerCycle] = result.Metric{Median: 5} },
		"durability":        func(r *result.Result) { r.Manifest.Scenario.Topology.Durability = "" },
		"scenario":          func(r *result.Result) { r.Manifest.Scenario.Topology.Kind = "" },
		"CPUs":              func(r *result.Result) { r.Manifest.Host.CPUs = 0 },
		"virtualisation":    func(r *result.Result) { r.Manifest.Host.Virtualisation = "" },
		"container":         func(r *result.Result) { r.Manifest.Host.Container = "" },
		"commit":            func(r *result.Result) { r.Manifest.Build.Commit = "" },
		"command":           func(r *result.Result) { r.Manifest.Command = nil },
		"committed tree":    func(r *result.Result) { r.Manifest.Build.Dirty = true },
		"unprofiled rounds": func(r *result.Result) { r.Rounds[2].Observed = &result.Observed{Profiles: []string{"cpu"}} },
		"correct ledger":    func(r *result.Result) { r.Verdict = result.Incorrect },
		"valid rounds":      func(r *result.Result) { r.Verdict = result.Invalid },
		"one rate":          func(r *result.Result) { r.Points = []result.Point{{Name: "x"}} },
		"two things":        func(r *result.Result) { r.Verdict, r.Manifest.Build.Dirty = result.Invalid, true },
	} {
		dir := headlined(t, change)
		_, err := report.Headline(nil, dir)
		require.Error(t, err, name)
		s.Equal(t, name, strings.ReplaceAll(err.Error(), dir, "FOLDER"))
	}
	_, err := report.Headline(nil, t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "there is no such file")
}
