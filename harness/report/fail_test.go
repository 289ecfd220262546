package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The account of a load with failures has their outcomes, and explains the latency of a cycle.
func TestPageOfFailures(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	before := rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, before, "miscounted")
	for i := range r.Rounds {
		l := &r.Rounds[i].Ledger
		l.Failed, l.Retried, l.Dead = 5_000, 4_990, 10
	}
	page := rendered(t, r, hists)["fixture.md"]
	sheet(t).Equal(t, "page", added(before, page))
	requireWholeTables(t, page)
}
