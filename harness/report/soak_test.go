package report_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// soakFixture is a soak of 120 windows whose memory leaks, and whose other figures are stable.
func soakFixture(t *testing.T) *result.Soak {
	t.Helper()
	scenarios, err := scenario.Load(filepath.Join("testdata", "soak.hcl"))
	require.NoError(t, err)
	at := time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC)
	r, _, err := result.Read(fixtureRun)
	require.NoError(t, err)
	manifest := r.Manifest
	manifest.Scenario, manifest.Command = *scenarios[0], []string{"prony", "soak", "soak.hcl"}
	manifest.Build.Dirty = false
	s := &result.Soak{
		Version: result.SoakVersion, Scenario: "fixture-soak", Title: "A soak that leaks", Manifest: manifest, Started: at, Finished: at.Add(21 * time.Minute),
		WindowS: 10, ForS: 1200, MeasuredS: 1200,
		Totals: result.SoakTotals{
			Windows: 133, Judged: 120, WithFaults: 12, Cut: 1, Starts: 2, ServerEnds: 1, Cycles: 12_000_000,
			Ledger: result.Ledger{Enqueued: 12_000_007, Completed: 12_000_006, InDoubt: 1},
			Metrics: map[string]float64{
				result.CyclesPerS: 10_000, result.CycleLatencyMs + "_p50": 1.5, result.CycleLatencyMs + "_p99": 3.25, result.CycleLatencyMs + "_p999": 9,
				result.ServerCPUUsPerCycle: 4, result.ClientCPUUsPerCycle: 3,
			},
			Recovery: &result.SoakRecovery{
				Windows: 12, Faults: 24, NotRecovered: 1, Decayed: 1, RecoveredShare: 0.8, RecoveryMsMedian: 850, RecoveryMsMax: 2400,
				DecayedReason: "window 50: the rate did not recover: after the last fault it was 5000 cycles/s, 50 % of the 10000 before the first fault; at least 70 % is required",
			},
		},
		Events: []result.SoakEvent{{At: at.Add(time.Minute), Window: 7, Text: "the server ended by itself: signal: killed"}},
	}
	var series []gate.SoakSeries
	for i, name := range scenario.SoakFigures {
		of := gate.SoakSeries{Figure: name, Unit: "MB", FallIsWorse: i == 0, First: 100, Last: 100, Span: 2 * time.Minute, LimitPercent: 2}
		for k := range 120 {
			value := 100 + math.Sin(float64(k*(i+7)))
			if name == scenario.SoakRSS {
				value += float64(k) / 20
			}
			of.Values = append(of.Values, value)
		}
		series = append(series, of)
	}
	for k := range 120 {
		point := result.SoakPoint{AtS: 10 * float64(k+1), Windows: 1, Judged: 1, Figures: map[string]float64{}}
		for _, of := range series {
			point.Figures[of.Figure] = of.Values[k]
		}
		point.Processes = []result.SoakProcess{
			{Name: "harness", RSSMB: 80, FDs: 30, Goroutines: 40},
			{Name: "server", RSSMB: point.Figures[scenario.SoakRSS], FDs: 50, Goroutines: 120, DiskMB: 25},
		}
		s.Points = append(s.Points, point)
	}
	gate.JudgeSoak(s, series, 10*time.Second)
	return s
}

// The golden files under testdata have the page of a soak and one plot, byte for byte, also if they
// are published.
func TestSoakPage(t *testing.T) {
	dir, reports := t.TempDir(), t.TempDir()
	s := soakFixture(t)
	require.NoError(t, result.WriteSoak(dir, s))
	own, err := report.Render(nil, dir, dir)
	require.NoError(t, err)
	assert.Equal(t, "report.md", filepath.Base(own[0]))
	written, err := report.Publish(nil, dir, reports)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"fixture-soak.md", "fixture-soak-cycles-per-s.svg", "fixture-soak-cycle-latency-ms-p99.svg", "fixture-soak-server-cpu-us-per-cycle.svg",
		"fixture-soak-server-rss-mb.svg", "fixture-soak-server-fds.svg",
		"fixture-soak-server-goroutines.svg", "fixture-soak-disk-mb.svg", "fixture-soak-harness-rss-mb.svg",
	}, bases(written))
	again, err := report.Render(nil, filepath.Join(reports, "data", "fixture-soak"), t.TempDir())
	require.NoError(t, err)
	for i, path := range written {
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		rendered, err := os.ReadFile(again[i])
		require.NoError(t, err)
		assert.Equal(t, string(got), string(rendered))
		if i == 0 || filepath.Base(path) == "fixture-soak-server-rss-mb.svg" {
			golden.Text(t, "testdata/golden/"+filepath.Base(path), string(got))
		}
	}
}

// A soak with an unbalanced ledger publishes its account and no figure.
func TestSoakPageWithoutABalance(t *testing.T) {
	dir := t.TempDir()
	s := soakFixture(t)
	s.Verdict, s.Totals.Ledger.Lost, s.Totals.Ledger.Samples = result.Incorrect, 1, []string{"task 12: lost"}
	require.NoError(t, result.WriteSoak(dir, s))
	written, err := report.Render(nil, dir, dir)
	require.NoError(t, err)
	assert.Len(t, written, 1, "no plot")
	of := sections(contents(t, written)["report.md"])
	assert.NotContains(t, of, "Summary")
	assert.NotContains(t, of, "Drift")
	sheet(t).Equal(t, "ledger", of["Ledger of all windows"])
}

// A soak that is too short, or has uncommitted changes, is not published.
func TestSoaksThatAreNotPublished(t *testing.T) {
	out := sheet(t)
	for name, change := range map[string]func(s *result.Soak){
		"short": func(s *result.Soak) { s.ForS = 600 }, "invalid": func(s *result.Soak) { s.Verdict = result.Invalid },
		"uncommitted changes": func(s *result.Soak) { s.Manifest.Build.Dirty = true },
	} {
		dir, reports := t.TempDir(), t.TempDir()
		s := soakFixture(t)
		change(s)
		require.NoError(t, result.WriteSoak(dir, s))
		_, err := report.Publish(nil, dir, reports)
		var refused *report.UnpublishableError
		require.ErrorAs(t, err, &refused)
		out.Equal(t, name, strings.Join(refused.Reasons, "\n"))
		entries, err := os.ReadDir(reports)
		require.NoError(t, err)
		assert.Empty(t, entries)
	}
}
