package pages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/pages"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

const lastLine = "this is the last line."

// Later intervals of the page, and those of the table, have no label.
func TestTheFirstIntervalOfAPageIsLabelled(t *testing.T) {
	reports := repository(t)
	require.NoError(t, one(t, reports, lastLine, `{{figure "alone" "cycles_per_s"}}`))
	generated, err := pages.Generate(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	text := generated[0].Text
	assert.Contains(t, text, "The fixture does [1,030 cycles/s (95 % CI 1,000 to 1,060)](")
	assert.Contains(t, text, "[2.00 times (2.00 to 2.00)](#figures-of-this-page) with batches")
	assert.Contains(t, text, "[1,030 cycles/s (1,000 to 1,060)](", "a repeated figure")
	assert.Contains(t, text, "Memory grew by [1.50 % (90 % CI -0.50 to 3.50)](", "one-sided bounds of 95 %")
	assert.Contains(t, text, "[5.15 times (90 % CI 3.33 to 10.6)](", "a ratio of two runs")
	assert.Equal(t, 1, strings.Count(text, "95 % CI"))
}

// Stored percentiles of earlier builds have the range of the rounds. The histograms yield an
// interval.
func TestBracketsOfAStoredPercentile(t *testing.T) {
	reports := repository(t)
	r, hists := made(t, "stored", alone)
	publish(t, reports, r, hists)
	folder := filepath.Join(reports, "data", "stored")
	stored, err := result.ReadResult(filepath.Join(folder, result.ResultFile))
	require.NoError(t, err)
	p99 := stored.Metrics["cycle_latency_ms_p99"]
	p99.Low, p99.High, p99.Resampled = 0.5, 9, false
	stored.Metrics["cycle_latency_ms_p99"] = p99
	require.NoError(t, result.WriteResultPacked(filepath.Join(folder, result.ResultFile), stored))

	shown := func() string {
		require.NoError(t, one(t, reports, lastLine, `{{figure "stored" "cycle_latency_ms_p99"}}; {{figure "stored" "cycle_latency_ms_max"}}`))
		generated, err := pages.Generate(nil, reports, report.PagesFolder(reports))
		require.NoError(t, err)
		return generated[0].Text
	}
	text := shown()
	assert.NotContains(t, text, "0.500 to 9.00")
	assert.Contains(t, text, "; [1.60 ms (range 1.00 to 1.60)](#figures-of-this-page", "a maximum has no interval")
	require.NoError(t, os.Remove(filepath.Join(folder, result.HistogramsFile+result.PackedSuffix)))
	assert.Contains(t, shown(), "ms (range 0.500 to 9.00)](#figures-of-this-page")
}
