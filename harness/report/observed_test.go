package report_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// The page, the document and the table mark observed timed rounds, and warn of profiled ones.
func TestObservedRoundsAreMarked(t *testing.T) {
	r, hists := fixture(t, 2, 1)
	s, page := sheet(t), rendered(t, r, hists)["fixture.md"]
	for _, not := range []string{"Observation of the servers", "timed, profiled", "Servers were profiled"} {
		assert.NotContains(t, page, not)
	}
	assert.Empty(t, result.NewOutcome(r, "").TimedRoundsProfiled)

	r.Rounds[0].Observed = &result.Observed{ScrapeS: 1, Scrapes: 10}
	scraped := rendered(t, r, hists)["fixture.md"]
	s.Equal(t, "metrics", added(page, scraped))

	r.Rounds[0].Observed.Profiles = []string{"cpu", "mutex"}
	s.Equal(t, "profiles", added(scraped, rendered(t, r, hists)["fixture.md"]))
	assert.Equal(t, []int{1}, result.NewOutcome(r, "").TimedRoundsProfiled)
	var csv bytes.Buffer
	require.NoError(t, result.WriteCSV(&csv, r))
	assert.Contains(t, csv.String(), ",1,\"timed, profiled\",pass,")

	r.Rounds[0].Observed = &result.Observed{}
	s.Equal(t, "nothing", added(page, rendered(t, r, hists)["fixture.md"]))
}
