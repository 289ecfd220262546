package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// The server reports the settings of the scenario, and the result has both.
func TestSettingsReachTheServer(t *testing.T) {
	t.Parallel()
	s := small()
	s.Topology.Settings = map[string]string{"storage.memtable_size": "3MiB", "commit.group": "false", "commit.tasks_max": "7"}
	r := execute(t, s, real(t)).result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	require.Len(t, r.Manifest.Servers, 1)
	for name, value := range s.Topology.Settings {
		assert.Contains(t, r.Manifest.Servers[0].Settings, result.ServerSetting{Name: name, Value: value, Origin: "flag"})
		assert.Contains(t, r.Manifest.Scenario.Settings(), scenario.Setting{Path: "topology.settings." + name, Value: value, Default: scenario.Unset})
	}
}

// If a server refuses its settings, the run is misconfigured and reports the server's reason as the
// only one.
func TestSettingsThatTheServerRefuses(t *testing.T) {
	t.Parallel()
	s := small()
	s.Topology.Settings = map[string]string{"memory": "200MiB", "storage.memtable_size": "512MiB"}
	r := execute(t, s, real(t)).result
	assert.Equal(t, result.Misconfigured, r.Verdict)
	require.Len(t, r.Reasons, 1)
	assert.Contains(t, r.Reasons[0], "memory of 200 MiB has no room for up to 4 memtables of 512 MiB")
	assert.Contains(t, r.Reasons[0], "raise --memory, or lower the sizes")
}

// Clusters of one, three and five nodes run with several shards, swept as in a scenario.
func TestClustersOfSeveralSizes(t *testing.T) {
	t.Parallel()
	s := small()
	s.Topology = scenario.Topology{Kind: scenario.Raft, Nodes: 1, Shards: 2, Durability: "none", Listen: "tcp", Procs: 1, Coalesce: new(true), Settings: calm}
	s.Sweeps = []scenario.Sweep{{Path: "topology.nodes", Values: []string{"1", "3", "5"}}}
	for _, nodes := range []string{"1", "3", "5"} {
		p, known := s.At([]scenario.Value{{Path: "topology.nodes", Text: nodes}})
		require.True(t, known)
		p.Name = "nodes=" + nodes
		s.Points = append(s.Points, p)
	}
	e := begin(t, s, real(t))
	e.await(t)
	require.NoError(t, e.err)
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	require.Len(t, e.result.Points, 3)
	for i, nodes := range []int{1, 3, 5} {
		assert.Equal(t, nodes, s.Points[i].Topology.Nodes)
		assert.Positive(t, e.result.Points[i].Metrics[result.CyclesPerS].Median, s.Points[i].Name)
	}
}

// A sweep of GOMAXPROCS of the server.
func TestProcessorsAreSwept(t *testing.T) {
	t.Parallel()
	s := small()
	s.Topology.Procs = 1
	s.Sweeps = []scenario.Sweep{{Path: "topology.procs", Values: []string{"1", "2"}}}
	for _, procs := range []string{"1", "2"} {
		p, known := s.At([]scenario.Value{{Path: "topology.procs", Text: procs}})
		require.True(t, known)
		p.Name = "procs=" + procs
		s.Points = append(s.Points, p)
	}
	r := execute(t, s, real(t)).result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	require.Len(t, r.Rounds, 2)
	for _, round := range r.Rounds {
		assert.InDelta(t, round.Point, round.Server["go_sched_gomaxprocs_threads"], 0)
	}
}

// Points that differ in the server build run the server built for them.
func TestPointsRunTheServersBuiltForThem(t *testing.T) {
	t.Parallel()
	s := small()
	s.Topology.Build = &scenario.ServerBuild{GOAMD64: "v1"}
	s.Sweeps = []scenario.Sweep{{Path: "topology.build.goamd64", Values: []string{"v1", "v2"}}}
	servers := map[string]server{"v1": real(t), "v2": real(t)}
	for _, level := range []string{"v1", "v2"} {
		p, known := s.At([]scenario.Value{{Path: "topology.build.goamd64", Text: level}})
		require.True(t, known)
		p.Name = "goamd64=" + level
		s.Points = append(s.Points, p)
	}
	r, folder, err := Execute(t.Context(), s, Options{
		Out: t.TempDir(), Server: servers["v1"].path, Command: []string{"prony", "run", "small.hcl"}, Progress: &screen{},
		ServerOf: func(t scenario.Topology) string { return servers[t.Build.GOAMD64].path },
	})
	require.NoError(t, err)
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	assert.Len(t, servers["v1"].started(t), 1)
	assert.Len(t, servers["v2"].started(t), 1)
	stored, _, err := result.Read(folder)
	require.NoError(t, err)
	assert.Contains(t, stored.Manifest.Scenario.Settings(), scenario.Setting{Path: "topology.build.goamd64", Value: "v1", Default: scenario.Unset})
}
