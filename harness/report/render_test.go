package report_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// contents returns the contents of files by base name.
func contents(t *testing.T, paths []string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		found[filepath.Base(path)] = string(data)
	}
	return found
}

// rendered stores a run, renders it, and returns the written files by base name.
func rendered(t *testing.T, r *result.Result, hists []result.RoundHistograms) map[string]string {
	t.Helper()
	written, err := report.Render(nil, stored(t, r, hists), t.TempDir())
	require.NoError(t, err)
	return contents(t, written)
}

func TestTheSameRunYieldsTheSameBytes(t *testing.T) {
	r, hists := fixture(t, 7, 1)
	first := rendered(t, r, hists)
	require.Len(t, first, 3)
	for range 5 { // the iteration order of maps varies
		assert.Equal(t, first, rendered(t, r, hists))
	}
}

func TestRenderIntoTheRunFolder(t *testing.T) {
	r, hists := fixture(t, 2, 0)
	dir := stored(t, r, hists)
	latest := filepath.Join(filepath.Dir(dir), result.LatestLink)
	written, err := report.Render(nil, latest, dir) // the same folder by another name
	require.NoError(t, err)
	assert.Equal(t, []string{"report.md", "fixture-throughput.svg", "fixture-latency.svg"}, bases(written))
	assert.Equal(t, contents(t, written)["report.md"], rendered(t, r, hists)["fixture.md"], "the page does not depend on its location")
}

func TestPublishedPagesAreMadeFromThePublishedData(t *testing.T) {
	r, hists := fixture(t, 3, 1)
	reports := filepath.Join(t.TempDir(), "reports")
	written, err := report.Publish(nil, stored(t, r, hists), reports)
	require.NoError(t, err)
	published := contents(t, written)
	require.Contains(t, published, "fixture.md")
	data := filepath.Join(reports, "data", "fixture")
	entries, err := os.ReadDir(data)
	require.NoError(t, err)
	require.Len(t, entries, 2, "the data and nothing else")

	again, err := report.Render(nil, data, t.TempDir())
	require.NoError(t, err)
	assert.Equal(t, published, contents(t, again))

	_, err = report.Publish(nil, t.TempDir(), reports)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Equal(t, published, contents(t, written), "an unreadable run replaces nothing")
}

// Every heading and caption of figures has the durability.
func TestDurabilityStandsBesideTheFigures(t *testing.T) {
	r, hists := fixture(t, 7, 1)
	files := rendered(t, r, hists)
	for line := range strings.SplitSeq(files["fixture.md"], "\n") {
		for _, start := range []string{"Verdict:", "## Summary", "## Rounds", "## Ledger", "## Where", "n is", "Total:", "![", "*"} {
			if strings.HasPrefix(line, start) {
				assert.Regexp(t, "[Dd]urability `?none", line)
			}
		}
	}
	assert.Contains(t, files["fixture-throughput.svg"], "durability none")
	assert.Contains(t, files["fixture-latency.svg"], "durability none")
}

func TestNoFigureOfAnIncorrectRun(t *testing.T) {
	r, hists := fixture(t, 7, 1)
	dir, out := stored(t, r, hists), t.TempDir()
	written, err := report.Render(nil, dir, out)
	require.NoError(t, err)
	require.Len(t, written, 3)

	r.Verdict, r.Reasons = result.Incorrect, []string{"round 3 lost 2 tasks"}
	r.Rounds[2].Verdict = result.Incorrect
	r.Rounds[2].Ledger.Lost = 2
	r.Rounds[2].Ledger.Samples = []string{"task t0/q0 #17: enqueued, never completed"}
	r.Metrics["lost"] = result.Metric{Median: 2, High: 2, N: 8, Unit: "tasks"}
	written, err = report.Render(nil, stored(t, r, hists), out)
	require.NoError(t, err)
	require.Equal(t, []string{"fixture.md"}, bases(written))
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "the plots of the earlier run are removed")
	page := contents(t, written)["fixture.md"]
	sheet(t).Equal(t, "page", page)
	for _, figure := range []string{"cycles_per_s", "latency_ms", ".svg", "## Rounds", "152,000"} {
		assert.NotContains(t, page, figure)
	}
}

func TestOneRoundWithoutProfiles(t *testing.T) {
	r, hists := fixture(t, 1, 0)
	files := rendered(t, r, hists)
	require.Len(t, files, 3)
	s, of := sheet(t), sections(files["fixture.md"])
	assert.NotContains(t, of, "Where the time went")
	s.Equal(t, "summary", of["Summary"])
	s.Equal(t, "plot", labels(files["fixture-throughput.svg"]))
}

// A rate with busy polling does not apply without it, so each headline figure mentions it.
func TestBusyPollingStandsBesideTheFigures(t *testing.T) {
	r, hists := fixture(t, 7, 0)
	s, before := sheet(t), rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, before, "busy polling")
	r.Manifest.Scenario.Topology.BusyPoll = true
	files := rendered(t, r, hists)
	for line := range strings.SplitSeq(files["fixture.md"], "\n") {
		for _, start := range []string{"Verdict:", "## Summary", "n is", "*"} {
			if strings.HasPrefix(line, start) {
				assert.Contains(t, line, "busy polling by server")
			}
		}
	}
	s.Equal(t, "server", added(before, files["fixture.md"]))
	s.Equal(t, "plot", labels(files["fixture-throughput.svg"]))
	r.Manifest.Scenario.Workloads[0].BusyPoll = true
	s.Equal(t, "server and generator", added(files["fixture.md"], rendered(t, r, hists)["fixture.md"]))
}

func TestPageListsTheSettingsThatDiffer(t *testing.T) {
	r, hists := fixture(t, 7, 0)
	before := rendered(t, r, hists)["fixture.md"]
	r.Manifest.Scenario.Workloads[0].Idempotent = true
	r.Manifest.Scenario.Phases.WarmupMax = 5 * time.Second
	sheet(t).Equal(t, "other settings", added(before, rendered(t, r, hists)["fixture.md"]))
}

func TestPageSaysWhatTheServersRanWith(t *testing.T) {
	r, hists := fixture(t, 2, 0)
	before := rendered(t, r, hists)["fixture.md"]
	r.Manifest.Host.Virtualisation, r.Manifest.Host.Container = "KVM", "none"
	r.Manifest.Servers = []result.ServerSettings{
		{Node: "n1", Settings: []result.ServerSetting{{Name: "memory", Value: "25%", Origin: "default"}, {Name: "busy_poll", Value: "true", Origin: "flag"}}},
		{Node: "n2", Settings: []result.ServerSetting{{Name: "busy_poll", Value: "false", Origin: "default"}}},
	}
	page := rendered(t, r, hists)["fixture.md"]
	s := sheet(t)
	s.Equal(t, "recorded", added(before, page))
	s.Equal(t, "not recorded", added(page, before))
}

func TestRunsThatMayNotBePublished(t *testing.T) {
	for _, c := range []struct {
		says string
		make func(*result.Result)
	}{
		{"3 rounds instead of the 7 of the scenario's file", func(r *result.Result) {
			r.Manifest.Scenario.FileRounds, r.Manifest.Scenario.Rounds = 7, 3
		}},
		{"3 rounds by the command line; the number in the scenario's file was not recorded", func(r *result.Result) {
			r.Manifest.Command = []string{"prony", "run", "--rounds", "3", "x.hcl"}
		}},
		{"measured from a tree with uncommitted changes", func(r *result.Result) { r.Manifest.Build.Dirty = true }},
	} {
		r, hists := fixture(t, 3, 1)
		c.make(r)
		reports := filepath.Join(t.TempDir(), "reports")
		_, err := report.Publish(nil, stored(t, r, hists), reports)
		var refused *report.UnpublishableError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, []string{c.says}, refused.Reasons)
		assert.NoDirExists(t, reports)
		assert.Contains(t, rendered(t, r, hists)["fixture.md"], "**Below the standard for published figures: "+c.says+".**")
	}
}

// A run that failed in its first round has neither metrics nor histograms, and a manifest of
// another version may lack any setting. The page shows the known values.
func TestPageOfARunThatMeasuredNothing(t *testing.T) {
	r, _ := fixture(t, 0, 0)
	r.Verdict, r.Reasons = result.Invalid, []string{"queued exited: *disk full*"}
	r.Title = ""
	r.Manifest = result.Manifest{}
	files := rendered(t, r, nil)
	require.Equal(t, []string{"fixture.md"}, slices.Collect(maps.Keys(files)))
	page := files["fixture.md"]
	sheet(t).Equal(t, "page", page)
	for _, untrue := range []string{"NaN", "Inf", "closed", "shard", "&lt;nil"} {
		assert.NotContains(t, page, untrue)
	}
}

func TestLimitsFollowTheScenario(t *testing.T) {
	r, hists := fixture(t, 2, 0)
	last := func() string {
		_, section, found := strings.Cut(rendered(t, r, hists)["fixture.md"], "\n## What this page does not measure\n")
		require.True(t, found)
		assert.NotContains(t, section, "\n## ", "it is the last section")
		return section
	}
	out := sheet(t)
	out.Equal(t, "a server of this host", last())

	s := &r.Manifest.Scenario
	s.Topology = scenario.Topology{Kind: "remote", Shards: 4, Durability: "sync"}
	s.Workloads = []scenario.Workload{{
		Arrivals: scenario.Arrivals{Kind: scenario.Open}, Payload: scenario.Payload{Kind: "uniform", Min: 1, Max: 9},
	}}
	s.Faults = []scenario.Fault{{Kind: scenario.FaultKill}}
	r.Manifest.Build.Dirty = true
	out.Equal(t, "other servers", last())
}

func TestPageReadsTheScenarioAsExpanded(t *testing.T) {
	s := &scenario.Scenario{
		Topology:  scenario.Topology{Kind: "single", Shards: 1, Durability: "sync"},
		Workloads: []scenario.Workload{{Payload: scenario.Payload{Kind: "uniform", Min: 64, Max: 256}, Lease: time.Minute}},
		Captures:  []scenario.Capture{{Kind: "mutex", MutexFraction: 5}, {Kind: "block", BlockRate: 2 * time.Millisecond}},
	}
	r, hists := fixture(t, 1, 1)
	out, plain := sheet(t), rendered(t, r, hists)["fixture.md"]
	r.Manifest.Scenario = *s
	page := rendered(t, r, hists)["fixture.md"]
	out.Equal(t, "random payloads", added(plain, page))
	s.Workloads[0].Payload = scenario.Payload{Kind: "fixed", Min: 100, Max: 100}
	r.Manifest.Scenario = *s
	out.Equal(t, "fixed payloads", added(page, rendered(t, r, hists)["fixture.md"]))
}

// Foreign text cannot break a table, a code span or the page.
func TestForeignTextIsEscaped(t *testing.T) {
	r, hists := fixture(t, 2, 1)
	before := rendered(t, r, hists)["fixture.md"]
	r.Title = "a <script>\n# b"
	r.Manifest.Host.CPUModel = "Chip | 4*2 [x]"
	r.Manifest.Command = []string{"prony", "run", "a|b `c`.hcl", "it's"}
	r.Rounds[0].Reasons = []string{"a_b_c | d"}
	page := rendered(t, r, hists)["fixture.md"]
	sheet(t).Equal(t, "foreign texts", added(before, page))
	requireWholeTables(t, page)
}

func TestProfilesPerCycle(t *testing.T) {
	r, hists := fixture(t, 2, 1)
	r.Rounds[2].Cycles = 1_000_000
	s := sheet(t)
	page := rendered(t, r, hists)["fixture.md"]
	s.Equal(t, "per cycle", sections(page)["Where the time went"])

	r.Rounds[2].Cycles = 0
	s.Equal(t, "without cycles", added(page, rendered(t, r, hists)["fixture.md"]))
}

func TestRenderSaysWhatItCannotRead(t *testing.T) {
	_, err := report.Render(nil, filepath.Join(t.TempDir(), "none"), t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
	r, hists := fixture(t, 1, 0)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = report.Render(nil, stored(t, r, hists), filepath.Join(file, "out"))
	require.Error(t, err)
}
