package run

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// calm contains settings of a cluster that prevent elections while all nodes run, even if a busy
// machine pauses their processes. An election after the end of a process does not wait for these
// times.
var calm = map[string]string{"cluster.election_timeout": "6s", "cluster.heartbeat_timeout": "6s", "cluster.leader_lease": "6s"}

func cluster() *scenario.Scenario {
	s := small()
	s.Topology = scenario.Topology{Kind: scenario.Raft, Nodes: 3, Shards: 1, Durability: "none", Listen: "tcp", Procs: 1}
	return s
}

// executeCalm executes a scenario of one cluster whose leaders must not change. On a busy machine
// heartbeats arrive after the election timeout, and the election makes the run invalid. executeCalm
// then repeats the run with twice the timeout.
func executeCalm(t *testing.T, s *scenario.Scenario) *execution {
	t.Helper()
	e := execute(t, s, real(t))
	for timeout := time.Second; timeout < patience && s.Topology.Clustered() && e.result.Verdict == result.Invalid; timeout *= 2 {
		t.Logf("again with an election timeout of %s: %v", timeout, e.result.Reasons)
		s.Topology.Settings = map[string]string{"cluster.election_timeout": timeout.String()}
		e = execute(t, s, real(t))
	}
	return e
}

// A whole run on three real nodes: a timed round and a profiled one.
func TestCluster(t *testing.T) {
	t.Parallel()
	s := cluster()
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
	// The server times every n-th message, so the round needs many of them.
	s.Workloads[0].Batch, s.Phases.Tasks = 8, 3000
	e := executeCalm(t, s)
	// A paused node delays the first reading of the counters, possibly to the end of the short window.
	late := func(r result.Round) bool { return r.Server[completedCounter] == 0 }
	for tries := 1; tries < 5 && slices.ContainsFunc(e.result.Rounds, late); tries++ {
		e = executeCalm(t, s)
	}
	r := e.result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	assert.Len(t, e.server.started(t), 6)
	for _, round := range r.Rounds {
		require.Len(t, round.Nodes, 3)
		var cpu float64
		led := 0
		for i, n := range round.Nodes {
			assert.Equal(t, fmt.Sprintf("n%d", i+1), n.ID)
			led += len(n.Leads)
			cpu += n.Metrics[result.ServerCPUUsPerCycle]
			assert.Positive(t, n.Metrics[result.ServerRSSMBMax])
			assert.Positive(t, n.Metrics[result.RaftEntriesPerCycle], "each node appends all entries")
			assert.NotEmpty(t, n.Server)
			assert.FileExists(t, filepath.Join(e.folder, logsDir, fmt.Sprintf("server-%02d-%s.log", round.Number, n.ID)))
		}
		assert.Equal(t, 1, led, "a shard has one leader")
		passed := map[string]uint64{}
		for _, s := range round.Stages {
			passed[s.Name] = s.Count
		}
		for _, stage := range []string{"receive", "inbox", "decide", "commit_wait", "commit", "replicate", "apply", "reply"} {
			assert.Positive(t, passed[stage], "stage %s", stage)
		}
		assert.InEpsilon(t, round.Metrics[result.ServerCPUUsPerCycle], cpu, 1e-9, "the cluster's figure is the sum of all nodes")
		assert.Positive(t, round.Server[completedCounter])
		assert.Positive(t, round.Server["prony_shard_turn_seconds_count"])
		require.NotNil(t, round.Stalls, "each node records its slow commits")
	}
	for _, spec := range result.Specs() {
		if spec.Part == result.OfRaft {
			assert.Contains(t, r.Metrics, spec.Name)
		}
	}
	var files []string
	for _, p := range r.Profiles {
		files = append(files, p.Node+": "+p.File)
		assert.FileExists(t, filepath.Join(e.folder, p.File))
	}
	assert.Equal(t, []string{
		"n1: profiles/n1/mutex.pb.gz", "n2: profiles/n2/mutex.pb.gz", "n3: profiles/n3/mutex.pb.gz",
		"generator: profiles/generator/mutex.pb.gz",
	}, files)
}

// Any node takes a REST request, and several shards are each counted once in the audit.
func TestClusterOverREST(t *testing.T) {
	t.Parallel()
	s := cluster()
	s.Topology.Shards = 2
	s.Workloads[0].Driver = "rest"
	e := executeCalm(t, s)
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	assert.Positive(t, e.result.Rounds[0].Cycles)
}

// The backlog of a cluster survives the simultaneous end of all its nodes.
func TestBacklogOfACluster(t *testing.T) {
	t.Parallel()
	s := cluster()
	s.Backlog = &scenario.Backlog{Tasks: 3000, Restart: "kill", Fill: patience, Drain: patience}
	e := executeCalm(t, s)
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	assert.Len(t, e.server.started(t), 6)
	assert.EqualValues(t, 3000, e.result.Rounds[0].Backlog.Cycles)
	assert.Positive(t, e.result.Metrics[result.RestartFirstClaimS].Median)
}

// A node that ends unplanned makes the run incorrect, even if the others continue.
func TestNodeThatEndsByItself(t *testing.T) {
	t.Parallel()
	s := cluster()
	forTime(s, 10*time.Minute) // never reached: the end of the node ends the round
	on := real(t)
	e := begin(t, s, on)
	e.awaitWindow(t)
	require.NoError(t, syscall.Kill(on.started(t)[2], syscall.SIGKILL))
	e.end(t)
	require.NoError(t, e.err)
	assert.Equal(t, result.Incorrect, e.result.Verdict)
	assert.Contains(t, strings.Join(e.result.Reasons, "\n"), ": the server ended by itself")
	assert.Contains(t, strings.Join(e.result.Reasons, "\n"), "signal: killed")
}
