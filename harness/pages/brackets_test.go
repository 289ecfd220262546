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

// Later intervals of the page, and those of the table, have no label.
func TestTheFirstIntervalOfAPageIsLabelled(t *testing.T) {
	reports := repository(t)
	require.NoError(t, one(t, reports, lastLine, `{{figure "alone" "cycles_per_s"}}`))
	generated, err := pages.Generate(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	text := generated[0].Text
	sheet(t, reports).Equal(t, "page", added(t, text))
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
	s := sheet(t, reports)
	s.Equal(t, "from histograms", added(t, shown()))
	require.NoError(t, os.Remove(filepath.Join(folder, result.HistogramsFile+result.PackedSuffix)))
	s.Equal(t, "from stored percentiles", added(t, shown()))
}
