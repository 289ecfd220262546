package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The account of a load that repeats keys has the number of repeated tasks.
func TestPageOfRepeatedKeys(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	before := rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, before, "rekeyed")
	for i := range r.Rounds {
		r.Rounds[i].Ledger.Repeated, r.Rounds[i].Ledger.Rekeyed = 5_000, 1
	}
	page := rendered(t, r, hists)["fixture.md"]
	sheet(t).Equal(t, "page", added(before, page))
	requireWholeTables(t, page)
}

// The account of a load with unique keys has the number of refused enqueues.
func TestPageOfUniqueKeys(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	before := rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, before, "doubled")
	for i := range r.Rounds {
		r.Rounds[i].Ledger.Taken, r.Rounds[i].Ledger.Doubled = 5_000, 1
	}
	page := rendered(t, r, hists)["fixture.md"]
	sheet(t).Equal(t, "page", added(before, page))
	requireWholeTables(t, page)
}

// The account of a load with final tasks has the number of their deliveries.
func TestPageOfFinalTasks(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	before := rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, before, "premature")
	for i := range r.Rounds {
		r.Rounds[i].Ledger.Finals, r.Rounds[i].Ledger.Premature = 5_000, 1
	}
	page := rendered(t, r, hists)["fixture.md"]
	sheet(t).Equal(t, "page", added(before, page))
	requireWholeTables(t, page)
}
