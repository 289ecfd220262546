package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// The page of a load that extends leases has the number of extensions and their latency.
func TestPageOfExtensions(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	before := rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, before, "unextended")
	for i := range r.Rounds {
		round := &r.Rounds[i]
		round.Ledger.Extended, round.Ledger.Unextended = 5_000, 1
		hists[i].Extend = result.NewHistogram()
		require.NoError(t, hists[i].Extend.RecordValue(2_000_000))
		round.Derive(hists[i].Histograms)
	}
	metrics, err := result.Summarise(r.Rounds, hists, result.OfLoad, result.OfExtends)
	require.NoError(t, err)
	r.Metrics = metrics
	files := rendered(t, r, hists)
	page := files["fixture.md"]
	s := sheet(t)
	s.Equal(t, "page", added(before, page))
	s.Equal(t, "plot", labels(files["fixture-latency.svg"]))
	requireWholeTables(t, page)
}
