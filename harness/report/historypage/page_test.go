package historypage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/history"
	"github.com/pronybench/prony/harness/report/historypage"
	"github.com/pronybench/prony/harness/result"
)

// historyRecords writes records of three series: one with a change point, one on another host with
// two records, and a point of a sweep with one record.
func historyRecords(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	begin := time.Date(2026, 11, 21, 17, 15, 0, 0, time.UTC)
	record := func(n int, rate float64) history.Record {
		around := func(v float64) history.Figure { return history.Figure{Median: v, Low: 0.97 * v, High: 1.02 * v} }
		return history.Record{
			Version: history.Version, Scenario: "full-cycle", Run: fmt.Sprintf("run-%d", n), Measured: begin.Add(time.Duration(n) * time.Hour),
			Commit: fmt.Sprintf("%010x%030d", 0xabc0000000+n, 0), Committed: begin.Add(time.Duration(n) * time.Hour), HostClass: "2-cpus-amd64-virtual-ext4", CPUModel: "AMD EPYC",
			Durability: "sync", Settings: "0123456789ab", Rounds: 7, Verdict: result.Pass,
			Metrics: map[string]history.Figure{
				result.CyclesPerS: around(rate), result.CycleLatencyMs + "_p99": around(2), result.StorageFsyncsPerCycle: {},
			},
			References: map[string]history.Reference{"echo": {PerS: around(50_000), CPUUs: around(2)}},
		}
	}
	for n, rate := range []float64{100_000, 101_000, 99_500, 100_300, 99_000, 100_700, 100_100, 91_000, 90_200, 90_900, 91_400, 90_500, 90_800, 91_100} {
		r := record(n, rate)
		if n == 7 {
			r.Verdict = result.Regressed
		}
		if n >= 10 {
			r.Tag = "v0.1"
		} else {
			delete(r.Metrics, result.StorageFsyncsPerCycle)
		}
		require.NoError(t, history.Append(dir, r))
	}
	for n := 20; n < 22; n++ {
		r := record(n, 200_000)
		r.CPUModel, r.HostClass = "Intel Xeon", ""
		r.References = map[string]history.Reference{"bare": {PerS: history.Figure{Median: 250_000, Low: 240_000, High: 260_000}}}
		require.NoError(t, history.Append(dir, r))
	}
	swept := record(0, 5)
	swept.Scenario, swept.Point = "shards", "shards=1"
	require.NoError(t, history.Append(dir, swept))
	wrong := record(30, 0)
	wrong.Scenario, wrong.Verdict, wrong.Metrics, wrong.References = "wrong", result.Incorrect, map[string]history.Figure{}, nil
	require.NoError(t, history.Append(dir, wrong))
	return dir
}

// The golden files under testdata have the page and the plots of these records, byte for byte.
func TestGoldenHistoryPage(t *testing.T) {
	records := historyRecords(t)
	out := t.TempDir()
	stale := filepath.Join(out, "history", "gone-00000000.svg")
	require.NoError(t, os.MkdirAll(filepath.Dir(stale), 0o755))
	require.NoError(t, os.WriteFile(stale, []byte("<svg/>"), 0o600))
	written, err := historypage.Render(records, nil, out)
	require.NoError(t, err)
	require.Len(t, written, 3, "the page, and a plot of each series with two records")
	assert.NoFileExists(t, stale)
	for _, path := range written {
		name, err := filepath.Rel(out, path)
		require.NoError(t, err)
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		golden.Text(t, "testdata/golden/"+filepath.ToSlash(name), string(got))
	}
	_, err = historypage.Render(filepath.Join(out, "none"), nil, out)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestGoldenHistoryText(t *testing.T) {
	all, err := history.ReadAll(historyRecords(t))
	require.NoError(t, err)
	tracked, err := history.TrackAll(history.Group(all))
	require.NoError(t, err)
	golden.Text(t, "testdata/golden/history.txt", historypage.Brief(tracked, nil).Terminal())
}

// A change of only the spread is reported as such, and a fall of a cost is better.
func TestHistoryTextOfAChange(t *testing.T) {
	ratio := 0.5
	change := history.Change{
		At: 5, After: "0123456789abcdef", Until: "fedcba9876543210", Ratio: &ratio, P: 0.001,
		Before: history.Level{Median: 2, Low: 1, High: 3, N: 5}, Now: history.Level{Median: 1, Low: 1, High: 1, N: 7},
	}
	sample := history.Sample{Commit: "fedcba9876543210", Median: 1}
	text := func(metric string) string {
		text := historypage.Brief([]history.Tracked{{Key: history.Key{Scenario: "one"}, Records: 12, Tracks: []history.Track{
			{Metric: metric, Samples: []history.Sample{sample}, Changes: []history.Change{change}},
		}}}, nil).Terminal()
		return strings.Join(strings.Fields(text), " ") // without line breaks
	}
	s := golden.Cases(t, "testdata/golden/changes.golden")
	s.Equal(t, "better", text(result.ServerCPUUsPerCycle))
	s.Equal(t, "worse", text(result.CyclesPerS))
	change.SpreadAlone = true
	s.Equal(t, "spread", text(result.CyclesPerS))
}
