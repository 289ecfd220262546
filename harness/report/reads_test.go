package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// The page of a load that reads has its rate and latency, how its reads were answered, and what was wrong with them.
func TestPageOfReads(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	assert.NotContains(t, rendered(t, r, hists)["fixture.md"], "misread")
	for i := range r.Rounds {
		round := &r.Rounds[i]
		round.Reads = &result.Reads{Answered: 4000, Found: 3000, Gone: 500, Foreign: 500, ForeignStored: 450, Dropped: 12}
		round.Ledger.Reads = 5000
		hists[i].Read = result.NewHistogram()
		require.NoError(t, hists[i].Read.RecordValue(2_000_000))
		round.Derive(hists[i].Histograms)
	}
	metrics, err := result.Summarise(r.Rounds, hists, result.OfLoad, result.OfReads)
	require.NoError(t, err)
	r.Metrics = metrics
	files := rendered(t, r, hists)
	page := files["fixture.md"]
	for _, says := range []string{
		">reads/s"[1:], "| `reads_per_s` | 400 | 400 | 400 | 3 | 1/s |", "| `read_latency_ms_p99` | 2.0", "| `read_mismatches` | 0 | 0 | 0 | 3 | reads | sum over all rounds",
		"| `read_found_ratio` | 0.857 |", "| `reads_dropped` | 12 |",
		"reads | misread |", "| 5,000 | 0 |", "foreign, task there", "| 2 | 4,000 | 3,000 | 500 | 500 | 450 | 0 | 12 | 0 |",
	} {
		assert.Contains(t, page, says)
	}
	assert.Contains(t, files["fixture-latency.svg"], "read: call to answer")
	requireWholeTables(t, page)
}
