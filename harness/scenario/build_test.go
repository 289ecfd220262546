package scenario

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestServerBuilds(t *testing.T) {
	of := func(build, more string) *Scenario {
		all, err := parse("scenarios/a.hcl", []byte(ofTopology("topology \"single\" {\n durability = \"none\"\n "+build+"\n}", more)),
			map[string]string{"scenarios/a.pgo": "a profile", "scenarios/b.pgo": "a profile", "scenarios/c.pgo": "another"})
		require.NoError(t, err)
		return all[0]
	}
	s := of(`build {
    tags    = ["debug", "v1.2_x"]
    race    = true
    pgo     = "a.pgo"
    goamd64 = "v3"
  }`, "")
	b := s.Topology.Build
	require.NotNil(t, b)
	assert.Equal(t, []string{"debug", "v1.2_x"}, b.Tags)
	assert.Equal(t, "scenarios/a.pgo", b.PGO)
	assert.Len(t, b.PGOSHA256, 64)
	assert.Equal(t, "built with tags debug,v1.2_x, the race detector, profile scenarios/a.pgo, GOAMD64 v3", b.String())
	assert.Contains(t, s.Settings(), Setting{"topology.build.race", "true", "false"})
	assert.Contains(t, s.Settings(), Setting{"topology.build.goamd64", "v3", Unset})
	assert.Nil(t, of("", "").Topology.Build)

	// The content of a profile is part of the configuration; its path is not.
	profile := func(name string) string { return of(`build { pgo = "`+name+`" }`, "").Configuration() }
	assert.Equal(t, profile("a.pgo"), profile("b.pgo"))
	assert.NotEqual(t, profile("a.pgo"), profile("c.pgo"))
	assert.NotEqual(t, of("", "").Configuration(), profile("a.pgo"))
}

func TestServerBuildsAreSwept(t *testing.T) {
	s := parsed(t, ofTopology(`topology "single" {
    durability = "none"
    build { race = false }
  }`, `  sweep "topology.build.goamd64" { values = ["v1", "v3"] }
`))
	require.Len(t, s.Points, 2)
	assert.Equal(t, "goamd64=v3", s.Points[1].Name)
	assert.Equal(t, &ServerBuild{GOAMD64: "v3"}, s.Points[1].Topology.Build)
	encoded, err := json.Marshal(s)
	require.NoError(t, err)
	var stored Scenario
	require.NoError(t, json.Unmarshal(encoded, &stored))
	found, known := stored.At(s.Points[1].Values)
	require.True(t, known)
	assert.Equal(t, s.Points[1].Topology, found.Topology)
	assert.Equal(t, "v1", stored.Topology.Build.GOAMD64, "a point does not modify the stored scenario")
	golden.Cases(t, "testdata/build.golden").Error(t, "prony compare", s.BuildProblem("prony compare"))
	require.NoError(t, parsed(t, leastScenario).BuildProblem("prony compare"))
}
