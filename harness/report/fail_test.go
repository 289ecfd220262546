package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The account of a load with failures has their outcomes, and explains the latency of a cycle.
func TestPageOfFailures(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	assert.NotContains(t, rendered(t, r, hists)["fixture.md"], "miscounted")
	for i := range r.Rounds {
		l := &r.Rounds[i].Ledger
		l.Failed, l.Retried, l.Dead = 5_000, 4_990, 10
	}
	page := rendered(t, r, hists)["fixture.md"]
	for _, says := range []string{
		"failed | retried | dead | miscounted |", "| 5,000 | 4,990 | 10 | 0 |", "with all failed attempts and the waits between",
	} {
		assert.Contains(t, page, says)
	}
	requireWholeTables(t, page)
}
