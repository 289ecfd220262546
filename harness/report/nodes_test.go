package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// raftFixture is the fixture of a sweep over kinds of topologies, some of which have nodes.
func raftFixture(t *testing.T) (*result.Result, []result.RoundHistograms) {
	t.Helper()
	r, hists := sweptFixture(t)
	s := &scenario.Scenario{
		Name:      "fixture",
		Topology:  scenario.Topology{Kind: "raft", Nodes: 3, Shards: 2, Durability: "none", Listen: "tcp", Coalesce: new(true)},
		Workloads: []scenario.Workload{{Name: "main", Driver: "stream"}},
		Sweeps:    []scenario.Sweep{{Path: "topology.kind", Values: []string{"sharded()", "raft(3)"}}},
	}
	r.Manifest.Scenario = expanded(t, s)
	for i := range r.Points {
		r.Points[i].Metrics[result.RateCost] = result.Metric{Median: 1.5 + float64(i), Low: 1.25, High: 2.75, N: 2, Unit: "ratio"}
	}
	for i := range r.Rounds {
		if r.Rounds[i].Point != 4 {
			continue
		}
		for n, id := range []string{"n1", "n2", "n3"} {
			node := result.Node{ID: id, Metrics: map[string]float64{result.ServerCPUUsPerCycle: 3 + float64(n), result.RaftEntriesPerCycle: 0.25}}
			switch id {
			case "n2":
				node.Leads = []int{1, 0}
			case "n3":
				node.Metrics[result.RaftAppendMsMean] = 0.125
			}
			r.Rounds[i].Nodes = append(r.Rounds[i].Nodes, node)
		}
	}
	r.Profiles[3].Node = "n2"
	return r, hists
}

func TestPageOfACluster(t *testing.T) {
	r, hists := raftFixture(t)
	page := rendered(t, r, hists)["fixture.md"]
	swept, sweptHists := sweptFixture(t)
	s := sheet(t)
	s.Equal(t, "page", added(rendered(t, swept, sweptHists)["fixture.md"], page))
	assert.NotContains(t, page, "One server holds the only copy")
	requireWholeTables(t, page)
	r.Rounds[3].Nodes[1].Leads = []int{1}
	r.Rounds[3].Nodes[0].Leads = []int{0}
	s.Equal(t, "two leaders", added(page, rendered(t, r, hists)["fixture.md"]))
}
