package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// The page of a load with reads has their rate, latency, outcomes and mismatches.
func TestPageOfReads(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	before := rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, before, "misread")
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
	s := sheet(t)
	s.Equal(t, "page", added(before, page))
	s.Equal(t, "plot", labels(files["fixture-latency.svg"]))
	requireWholeTables(t, page)
}

// Other kinds of reads have a separate account and latency for each kind.
func TestPageOfReadsByKind(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	before := rendered(t, r, hists)["fixture.md"]
	for i := range r.Rounds {
		round := &r.Rounds[i]
		round.OtherReads = map[string]result.Reads{
			"list":  {Answered: 4000, Found: 3000, Tasks: 123456, Gone: 500, Foreign: 499, ForeignStored: 450, Wrong: 1, Mismatches: 2, Dropped: 12},
			"await": {Answered: 800, Found: 600, Gone: 50, Unended: 50, Foreign: 100, ForeignStored: 90},
		}
		round.Ledger.Reads = 5000
		for _, kind := range []string{"list", "await"} {
			of := result.NewHistogram()
			require.NoError(t, of.RecordValue(2_000_000))
			hists[i].SetRead(kind, of)
		}
		round.Derive(hists[i].Histograms)
	}
	metrics, err := result.Summarise(r.Rounds, hists, result.OfLoad, result.OfLists, result.OfAwaits)
	require.NoError(t, err)
	r.Metrics = metrics
	files := rendered(t, r, hists)
	page := files["fixture.md"]
	s := sheet(t)
	s.Equal(t, "page", added(before, page))
	s.Equal(t, "plot", labels(files["fixture-latency.svg"]))
	assert.NotContains(t, page, "Outcomes of the reads of each window", "there are no gets")
	requireWholeTables(t, page)
}

// Points with several kinds of reads have columns for them. Points with only reads of single tasks
// do not.
func TestPointsAreComparedByTheirReads(t *testing.T) {
	r, hists := sweptFixture(t)
	r.Points[0].Metrics[result.ReadsPerS] = result.Metric{Median: 77, N: 2}
	before := rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, before, "| reads/s |")
	r.Points[1].Metrics[result.ListLatencyMs+"_p99"] = result.Metric{Median: 8.25, N: 2}
	page := rendered(t, r, hists)["fixture.md"]
	sheet(t).Equal(t, "points", added(before, page))
	requireWholeTables(t, page)
}
