package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
)

// The page of a run with recurring tasks has the account of each round.
func TestPageOfRecurringTasks(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	before := rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, before, "Recurring tasks")
	for i := range r.Rounds {
		r.Rounds[i].Recurring = &result.Recurring{Due: 10_000, Missed: 1}
		hists[i].Recurring = hists[i].Cycle
	}
	page := rendered(t, r, hists)["fixture.md"]
	sheet(t).Equal(t, "page", added(before, page))
	requireWholeTables(t, page)
}
