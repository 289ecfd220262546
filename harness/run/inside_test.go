package run

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// nobody is a server that the test must not start.
func nobody(t *testing.T) server { return script(t, "exit 1") }

func notStarted(t *testing.T, e *execution) {
	t.Helper()
	assert.NoFileExists(t, e.server.pids)
}

// executeInside is execute for scenarios that start no process.
func executeInside(t *testing.T, s *scenario.Scenario) *execution {
	t.Helper()
	e := begin(t, s, nobody(t))
	e.await(t)
	require.NoError(t, e.err)
	assert.NoDirExists(t, filepath.Join(e.folder, result.DataDir))
	notStarted(t, e)
	return e
}

// A server within the generator's process yields whole rounds with profiles and store counters, but
// no figure that requires two processes.
func TestAServerInsideTheGenerator(t *testing.T) {
	t.Parallel()
	s := small()
	s.Topology = scenario.Topology{Kind: scenario.Embedded, Shards: 1, Durability: "none"}
	s.Workloads[0].Driver = "embedded"
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
	r := executeInside(t, s).result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	require.Len(t, r.Rounds, 2)
	for _, round := range r.Rounds {
		assert.Positive(t, round.Cycles)
		assert.Equal(t, round.Ledger.Enqueued, round.Ledger.Completed)
		assert.NotEmpty(t, round.Server, "counters of the server")
	}
	for _, name := range []string{result.CyclesPerS, result.CPUUsPerCycle, result.ServerRSSMBMax, result.StorageSetsPerCycle} {
		assert.Positive(t, r.Metrics[name].Median, name)
	}
	for _, name := range []string{result.ServerCPUUsPerCycle, result.ClientCPUUsPerCycle, result.ServerCPUCores} {
		assert.NotContains(t, r.Metrics, name)
	}
	require.Len(t, r.Profiles, 1)
}

func TestNoServerAtAll(t *testing.T) {
	t.Parallel()
	s := small()
	s.Topology = scenario.Topology{Kind: scenario.NoTopology, Durability: "none"}
	s.Workloads[0].Driver, s.Workloads[0].Connections, s.Workloads[0].Tenants = "null", 2, 2
	e := executeInside(t, s)
	r := e.result
	assert.NotContains(t, e.shown.String(), "server 0.0", "an unknown figure is not shown as zero")
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	require.Len(t, r.Rounds, 1)
	assert.Positive(t, r.Rounds[0].Ledger.Enqueued)
	assert.Equal(t, r.Rounds[0].Ledger.Enqueued, r.Rounds[0].Ledger.Completed)
	for _, name := range []string{result.CyclesPerS, result.CPUUsPerCycle, result.CycleLatencyMs + "_p99"} {
		assert.Positive(t, r.Metrics[name].Median, name)
	}
	for _, name := range []string{result.ServerCPUUsPerCycle, result.ServerRSSMBMax, result.StorageSetsPerCycle} {
		assert.NotContains(t, r.Metrics, name)
	}
}

func TestTheEmbeddedDriverNeedsAServerInside(t *testing.T) {
	t.Parallel()
	s := small()
	s.Workloads[0].Driver = "embedded"
	r := execute(t, s, real(t)).result
	assert.NotEqual(t, result.Pass, r.Verdict)
	require.NotEmpty(t, r.Reasons)
	assert.Contains(t, r.Reasons[0], `use topology "embedded"`)
}
