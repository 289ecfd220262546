package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

func TestPageOfFaults(t *testing.T) {
	r, hists := fixture(t, 2, 0)
	before := rendered(t, r, hists)["fixture.md"]
	f := &result.Faults{
		SlotS: 0.1, Cycles: []float64{100, 100, 0, 50, 100}, BaselinePerS: 1000, BaselineDipPercent: 12.5, RecoveredShare: 0.8, FailedCalls: 7, RefusedCompletions: 3,
		Events: []result.Fault{
			{
				Kind: "kill", Target: "leader()", Nodes: []string{"n2"}, Leader: "n2", BeganS: 0.2, DoneS: 0.25, HealedS: 0.35,
				FirstAckMs: 125, BeforePerS: 950, RecoveryMs: 250, Recovered: true, DipPercent: 100, FaultPerS: 333, AfterPerS: 666,
			},
			{Kind: "pause", Target: "all()", Nodes: []string{"n1", "n2"}, BeganS: 0.4, HealedS: 0.45, BeforePerS: 900, RecoveryMs: 75, DipPercent: 50, LevelPerS: 240},
		},
	}
	r.Rounds[0].Faults = f
	r.Rounds[0].Metrics[result.FaultFirstAckMsMax] = 125
	r.Rounds[0].Ledger.InDoubt = 11
	files := rendered(t, r, hists)
	page := files["fixture.md"]
	s := sheet(t)
	s.Equal(t, "page", added(before, page))
	assert.NotContains(t, page, "%!", "a percent sign parsed as a verb")
	require.Contains(t, files, "fixture-faults.svg")

	for range faultRowsMax {
		f.Events = append(f.Events, f.Events[0])
	}
	page = rendered(t, r, hists)["fixture.md"]
	assert.Equal(t, faultRowsMax-1, strings.Count(page, "| kill |"))
	last := strings.TrimSpace(sections(page)["Faults"])
	s.Equal(t, "many faults", last[strings.LastIndex(last, "\n")+1:])

	r.Rounds[0].Faults = nil
	files = rendered(t, r, hists)
	assert.NotContains(t, files["fixture.md"], "## Faults")
	assert.NotContains(t, files, "fixture-faults.svg")
}

// faultRowsMax is the maximum number of faults on a page.
const faultRowsMax = 100
