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
	const name = "`scenarios/k6/one.js`"
	one := scenario.Script{Path: "scenarios/k6/one.js", SHA256: strings.Repeat("1a", 32)}
	w := scenario.Workload{Name: "main", Driver: scenario.DriverK6, Script: one, Producers: 1, Workers: 1, Batch: 16}
	s := &scenario.Scenario{Name: "fixture", Topology: scenario.Topology{Kind: "single", Shards: 1, Durability: "none"}, Workloads: []scenario.Workload{w}}
	r.Manifest.Scenario = expanded(t, s)
	r.Manifest.Build.K6 = strings.Repeat("3c", 32)
	r.Rounds[0].Processes[0].Unknown = []string{"goroutines_max", "gc_cycles"}
	page := rendered(t, r, hists)["fixture.md"]
	assert.Contains(t, page, "The load came from a k6 process that ran the script "+name+" (SHA-256 `"+one.SHA256+"`). JavaScript is the generator")
	assert.Contains(t, page, "The generator is the k6 process.")
	assert.Contains(t, page, "JavaScript makes each call")
	assert.Contains(t, page, "| k6 script | "+name+" |")
	assert.Contains(t, page, "| k6 binary, SHA-256 | `"+r.Manifest.Build.K6+"` |")
	assert.NotContains(t, page, "| connections |", "the number of the script's connections is unknown")
	for line := range strings.SplitSeq(page, "\n") {
		if strings.HasPrefix(line, "| 1 | `generator` |") {
			assert.Contains(t, line, "unknown")
		}
	}

	two := w
	two.Script = scenario.Script{Path: "two.js", SHA256: strings.Repeat("2b", 32)}
	s.Scripts = []scenario.Script{one, two.Script}
	r.Manifest.Scenario = expanded(t, s)
	assert.Contains(t, rendered(t, r, hists)["fixture.md"], "ran the scripts "+name+" (SHA-256 `"+one.SHA256+"`), `two.js` (SHA-256 `"+two.Script.SHA256+"`).")

	w.Driver, w.Script = "stream", scenario.Script{}
	s.Workloads, s.Scripts = []scenario.Workload{w}, nil
	r.Manifest.Scenario = expanded(t, s)
	assert.NotContains(t, rendered(t, r, hists)["fixture.md"], "k6")
}
