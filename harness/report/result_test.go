package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The account of a load with results has the number of results that were read back.
func TestPageOfResults(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	assert.NotContains(t, rendered(t, r, hists)["fixture.md"], "wrong results")
	for i := range r.Rounds {
		r.Rounds[i].Ledger.Results, r.Rounds[i].Ledger.WrongResults = 5_000, 2
	}
	page := rendered(t, r, hists)["fixture.md"]
	for _, says := range []string{"results | wrong results |", "| 5,000 | 2 |"} {
		assert.Contains(t, page, says)
	}
	requireWholeTables(t, page)
}
