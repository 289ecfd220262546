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

// Other kinds of reads have a separate account and latency for each kind.
func TestPageOfReadsByKind(t *testing.T) {
	r, hists := fixture(t, 3, 0)
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
	for _, says := range []string{
		"| `lists_per_s` | 400 |", "| `list_latency_ms_p99` | 2.0", "| `awaits_per_s` | 80.0 |", "| `await_ended_ratio` | 0.857 |", "| 5,000 | 0 |",
		"| 2 | `list` | 4,000 | 3,000 | 123,456 | 500 | 0 | 499 | 450 | 1 | 2 | 12 | 0 |", "| 2 | `await` | 800 | 600 | 0 | 50 | 50 | 100 | 90 | 0 | 0 | 0 | 0 |",
	} {
		assert.Contains(t, page, says)
	}
	assert.NotContains(t, page, "Outcomes of the reads of each window", "there are no gets")
	for _, curve := range []string{"list: call to answer", "await: call to answer"} {
		assert.Contains(t, files["fixture-latency.svg"], curve)
	}
	requireWholeTables(t, page)
}

// Points with several kinds of reads have columns for them. Points with only reads of single tasks
// do not.
func TestPointsAreComparedByTheirReads(t *testing.T) {
	r, hists := sweptFixture(t)
	r.Points[0].Metrics[result.ReadsPerS] = result.Metric{Median: 77, N: 2}
	assert.NotContains(t, rendered(t, r, hists)["fixture.md"], "| reads/s |")
	r.Points[1].Metrics[result.ListLatencyMs+"_p99"] = result.Metric{Median: 8.25, N: 2}
	page := rendered(t, r, hists)["fixture.md"]
	assert.Contains(t, page, "| reads/s | list p99, ms |")
	assert.Contains(t, page, "| 77.0 | – |")
	assert.Contains(t, page, "| – | 8.25 |")
	requireWholeTables(t, page)
}
