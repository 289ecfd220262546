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
	page := rendered(t, r, hists)["fixture.md"]
	for _, not := range []string{"Observation of the servers", "timed, profiled", "Servers were profiled"} {
		assert.NotContains(t, page, not)
	}
	assert.Empty(t, result.NewOutcome(r, "").TimedRoundsProfiled)

	r.Rounds[0].Observed = &result.Observed{ScrapeS: 1, Scrapes: 10}
	page = rendered(t, r, hists)["fixture.md"]
	assert.Contains(t, page, "Observation of the servers in the windows of the timed rounds:\n\n- metrics read every 1.00 s\n")
	assert.NotContains(t, page, "Servers were profiled")

	r.Rounds[0].Observed.Profiles = []string{"cpu", "mutex"}
	page = rendered(t, r, hists)["fixture.md"]
	assert.Contains(t, page, "- metrics read every 1.00 s; profiles recorded: cpu, mutex\n")
	assert.Contains(t, page, "**Servers were profiled in timed rounds.** Figures of these rounds do not apply to a server without profiling.")
	assert.Contains(t, page, "| 1 | timed, profiled | pass |")
	assert.Contains(t, page, "| 2 | timed | pass |")
	assert.Equal(t, []int{1}, result.NewOutcome(r, "").TimedRoundsProfiled)
	var csv bytes.Buffer
	require.NoError(t, result.WriteCSV(&csv, r))
	assert.Contains(t, csv.String(), ",1,\"timed, profiled\",pass,")

	r.Rounds[0].Observed = &result.Observed{}
	assert.Contains(t, rendered(t, r, hists)["fixture.md"], "- nothing\n")
}
