package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// The account of a load with delays has the number of early tasks, and explains the latency of a
// cycle.
func TestPageOfDelays(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	assert.NotContains(t, rendered(t, r, hists)["fixture.md"], "delayed")
	for i := range r.Rounds {
		round := &r.Rounds[i]
		round.Ledger.Delayed, round.Ledger.Early = 5_000, 1
		hists[i].Late = result.NewHistogram()
		require.NoError(t, hists[i].Late.RecordValue(2_000_000))
		round.Derive(hists[i].Histograms)
	}
	metrics, err := result.Summarise(r.Rounds, hists, result.OfLoad, result.OfDelays)
	require.NoError(t, err)
	r.Metrics = metrics
	files := rendered(t, r, hists)
	page := files["fixture.md"]
	assert.Contains(t, files["fixture-latency.svg"], "late: end of the delay to claim")
	for _, says := range []string{"delayed | early |", "| 5,000 | 1 |", "counts from the end of the delay", "| `late_ms_p99` | 2.0"} {
		assert.Contains(t, page, says)
	}
	requireWholeTables(t, page)
}
