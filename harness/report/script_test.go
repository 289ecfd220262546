package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/scenario"
)

// The page of a run with a k6 script names the script, and shows unknown properties of its process
// as unknown.
func TestPageOfAScript(t *testing.T) {
	r, hists := mixedFixture(t)
	before := rendered(t, r, hists)["fixture.md"]
	one := scenario.Script{Path: "scenarios/k6/one.js", SHA256: strings.Repeat("1a", 32)}
	w := scenario.Workload{Name: "main", Driver: scenario.DriverK6, Script: one, Producers: 1, Workers: 1, Batch: 16}
	s := &scenario.Scenario{Name: "fixture", Topology: scenario.Topology{Kind: "single", Shards: 1, Durability: "none"}, Workloads: []scenario.Workload{w}}
	r.Manifest.Scenario = expanded(t, s)
	r.Manifest.Build.K6 = strings.Repeat("3c", 32)
	r.Rounds[0].Processes[0].Unknown = []string{"goroutines_max", "gc_cycles"}
	out, page := sheet(t), rendered(t, r, hists)["fixture.md"]
	out.Equal(t, "page", added(before, page))
	assert.NotContains(t, page, "| connections |", "the number of the script's connections is unknown")

	two := w
	two.Script = scenario.Script{Path: "two.js", SHA256: strings.Repeat("2b", 32)}
	s.Scripts = []scenario.Script{one, two.Script}
	r.Manifest.Scenario = expanded(t, s)
	out.Equal(t, "two scripts", added(page, rendered(t, r, hists)["fixture.md"]))

	w.Driver, w.Script = "stream", scenario.Script{}
	s.Workloads, s.Scripts = []scenario.Workload{w}, nil
	r.Manifest.Scenario = expanded(t, s)
	assert.NotContains(t, rendered(t, r, hists)["fixture.md"], "k6")
}
