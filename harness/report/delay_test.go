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
	before := rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, before, "delayed")
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
	s := sheet(t)
	s.Equal(t, "page", added(before, page))
	s.Equal(t, "plot", labels(files["fixture-latency.svg"]))
	requireWholeTables(t, page)
}
