package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The account of a load with results has the number of results that were read back.
func TestPageOfResults(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	before := rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, before, "wrong results")
	for i := range r.Rounds {
		r.Rounds[i].Ledger.Results, r.Rounds[i].Ledger.WrongResults = 5_000, 2
	}
	page := rendered(t, r, hists)["fixture.md"]
	sheet(t).Equal(t, "page", added(before, page))
	requireWholeTables(t, page)
}
