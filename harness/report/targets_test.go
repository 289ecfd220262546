package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// The page describes the servers of a target, their settings with the reasons, and what is not
// measured.
func TestPageOfTargets(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	before := rendered(t, r, hists)["fixture.md"]
	s := &r.Manifest.Scenario
	s.Captures, s.Topology = nil, scenario.Topology{Kind: scenario.ByProgram, Nodes: 1, Durability: "fsync", Target: &scenario.TargetServers{Name: "redis"}}
	s.Workloads[0].Driver = scenario.DriverProgram
	r.Manifest.Targets = []result.Target{
		{
			Name: "redis", Product: "Redis", Version: "7.0.15", Client: "go-redis 9", Guarantee: "fsync", Nodes: 1, Own: []string{"hz = 10"},
			Settings: []result.TargetSetting{{Name: "appendfsync", Value: "always", Because: "the guarantee asks for it"}}, Claim: "Fast (redis.io).",
		},
		{Point: 2, Name: "nats", Product: "NATS", Client: "nats.go 1", Guarantee: "fsync", Nodes: 3, Missing: "it is not installed"},
		{Point: 4, Name: "nats", Product: "NATS", Client: "nats.go 1", Guarantee: "fsync", Nodes: 3, Missing: "it is not installed"},
		{Point: 3, Name: "redis", Product: "Redis", Version: "7", Client: "go-redis 9", Guarantee: "os", Nodes: 2, Addresses: []string{"a:1", "b:1"}},
	}
	page := rendered(t, r, hists)["fixture.md"]
	sheet(t).Equal(t, "page", added(before, page))
	assert.NotContains(t, page, "What the servers ran with")
	assert.NotContains(t, before, "### Targets")
}
