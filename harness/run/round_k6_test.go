package run

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// scriptedScenario is small with a script.
func scriptedScenario(t *testing.T) *scenario.Scenario {
	t.Helper()
	s := small()
	forTime(s, window)
	path := filepath.Join(t.TempDir(), "plan.js")
	content := []byte("export default function () {}\n")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	w := &s.Workloads[0]
	w.Driver, w.Connections = scenario.DriverK6, 0
	w.Script = scenario.Script{Path: path, SHA256: fmt.Sprintf("%x", sha256.Sum256(content))}
	return s
}

// standInK6 is the test binary acting as k6. It records its process ids.
func standInK6(t *testing.T, does string) server {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	return script(t, fmt.Sprintf(`exec env '%s=%s' '%s' "$@"`, standInEnv, does, executable))
}

// beginScript runs a scenario with a stand-in in the background. end checks that no process is
// left.
func beginScript(t *testing.T, s *scenario.Scenario, does string) (e *execution, end func()) {
	t.Helper()
	stand := standInK6(t, does)
	e = beginAs(t, s, real(t), Options{K6: stand.path})
	e.k6 = stand.path
	return e, func() {
		e.end(t)
		for _, pid := range stand.started(t) {
			assert.NoDirExists(t, "/proc/"+strconv.Itoa(pid), "k6 process %d is left", pid)
		}
	}
}

// executeScript runs a scenario with a stand-in to its result.
func executeScript(t *testing.T, s *scenario.Scenario, does string) *execution {
	t.Helper()
	e, end := beginScript(t, s, does)
	end()
	require.NoError(t, e.err)
	return e
}

func TestScriptYieldsAnOrdinaryResult(t *testing.T) {
	t.Parallel()
	s := scriptedScenario(t)
	s.Phases.Window = 3 * time.Second
	s.SeriesEvery = 300 * time.Millisecond
	s.Topology.TLS = true
	e := executeScript(t, s, scriptPlain)
	requireSeries(t, e.result)
	round := e.result.Rounds[0]
	for _, name := range []string{
		result.CyclesPerS, result.CPUUsPerCycle, result.ServerCPUUsPerCycle, result.ClientCPUUsPerCycle, result.ServerRSSMBMax,
		result.CycleLatencyMs + "_p99", result.EnqueueLatencyMs + "_p50", result.SettleLatencyMs + "_p50",
	} {
		assert.Positive(t, e.result.Metrics[name].Median, name)
	}
	assert.Positive(t, round.Cycles)
	assert.Equal(t, round.Ledger.Enqueued, round.Ledger.Completed)
	assert.GreaterOrEqual(t, round.Ledger.Completed, round.Cycles)
	require.NotEmpty(t, round.Processes)
	generator := round.Processes[0]
	assert.Equal(t, "generator", generator.Name)
	assert.Positive(t, generator.RSSMBMax)
	assert.Greater(t, generator.FDsMax, standInFiles, "the figures are of the process that makes the calls")
	assert.Positive(t, generator.CPUCores)
	assert.Subset(t, generator.Unknown, []string{"goroutines_max", "gc_cycles", "allocated_bytes"}, "the runtime figures of another process are unknown")
	assert.NotContains(t, generator.Unknown, "rss_mb_max")
	require.Len(t, round.Series, 10)
	assert.True(t, slices.ContainsFunc(round.Series, func(s result.Sample) bool { return s.CyclesPerS > 0 }))
	assert.Contains(t, e.shown.String(), ", window ", "its progress is shown")
	assert.FileExists(t, filepath.Join(e.folder, "logs", "k6-01.log"))
	assert.Equal(t, observe.Binary(e.k6), e.result.Manifest.Build.K6)
	assert.Len(t, e.result.Manifest.Build.K6, 64)
}

// A fault of a script is a verdict with its reason, and no process remains.
func TestScriptsThatGoWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		does    string
		verdict result.Verdict
		says    []string
		cycles  bool // whether the result has figures
	}{
		{scriptCrosses, result.Regressed, []string{"k6: the threshold 'p(95)<1' of prony_cycle_duration was crossed: p(95)=3.25ms"}, true},
		{scriptThrows, result.Misconfigured, []string{"the process ended early: exit status 107", "quue is not defined"}, false},
		{scriptDies, result.Misconfigured, []string{"the process ended early: signal: killed"}, false},
		{scriptEarly, result.Misconfigured, []string{"plan.js", "the script ended its load", "before the end of the window at 520ms"}, false},
		{scriptGarbles, result.Misconfigured, []string{"malformed answer", "ready when you are"}, false},
		{scriptFails, result.Invalid, []string{"the load failed: 3 calls of the script failed; the first: produce: the queue is gone"}, true},
		{scriptLoses, result.Incorrect, []string{"the ledger does not balance: 1 lost", "lost: task 1 of producer 0"}, true},
	} {
		t.Run(strings.ReplaceAll(c.does, " ", "-"), func(t *testing.T) {
			t.Parallel()
			s := scriptedScenario(t)
			e := executeScript(t, s, c.does)
			// On a busy machine no task may be completed within a window that ends by time.
			for c.cycles && s.Phases.Window < patience && e.result.Rounds[0].Cycles == 0 {
				s.Phases.Window *= 4
				e = executeScript(t, s, c.does)
			}
			require.Equal(t, c.verdict, e.result.Verdict, "%v", e.result.Reasons)
			for _, says := range c.says {
				assert.Contains(t, strings.Join(e.result.Reasons, "\n"), says)
			}
			assert.Equal(t, c.cycles, e.result.Rounds[0].Cycles > 0)
		})
	}
}

// If a server ends, its end is the reason, whatever it does to the script.
func TestServerThatEndsUnderAScript(t *testing.T) {
	t.Parallel()
	s := scriptedScenario(t)
	s.Phases.Window = patience
	e, end := beginScript(t, s, scriptPlain)
	e.awaitWindow(t)
	pids := e.server.started(t)
	require.Len(t, pids, 1)
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
	end()
	require.NoError(t, e.err)
	assert.Equal(t, result.Incorrect, e.result.Verdict)
	assert.Contains(t, strings.Join(e.result.Reasons, "\n"), "the server ended by itself")
}

func TestScriptIsInterrupted(t *testing.T) {
	s := scriptedScenario(t)
	s.Phases.Window = patience
	before := runtime.GOMAXPROCS(0)
	s.Workloads[0].Procs = before + 1
	e, end := beginScript(t, s, scriptPlain)
	e.awaitWindow(t)
	assert.Equal(t, before, runtime.GOMAXPROCS(0), "the setting applies to the generator, which is another process")
	e.cancel()
	end()
	require.ErrorIs(t, e.err, context.Canceled)
}

// A script receives the addresses of all nodes, and profiled rounds profile the servers.
func TestScriptOnAClusterAndProfiled(t *testing.T) {
	longtest.Only(t)
	s := scriptedScenario(t)
	s.Topology = scenario.Topology{Kind: scenario.Raft, Nodes: 3, Shards: 1, Durability: "none", Listen: "tcp"}
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
	s.Workloads[0].Procs = 2
	e := executeScript(t, s, scriptPlain)
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	require.Len(t, e.result.Rounds, 2)
	assert.True(t, e.result.Rounds[1].Profiled)
	assert.DirExists(t, filepath.Join(e.folder, "profiles"))
	assert.Equal(t, 2, e.result.Manifest.Host.GOMAXPROCS, "the generator's")
}

func TestScriptWithoutK6(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("PRONY_K6", none)
	texts := golden.Cases(t, "testdata/withoutk6.golden")
	texts.Replace(none, "K6")
	out := t.TempDir()
	_, _, err := Execute(t.Context(), scriptedScenario(t), Options{Out: out, Server: queued})
	texts.Error(t, "run", err)
	_, err = Interleave(t.Context(), scriptedScenario(t), []Arm{{Name: Base, Server: queued}, {Name: Change, Server: queued}}, ArmsOptions{Options: Options{Out: out}})
	texts.Error(t, "arms", err)
	made, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Empty(t, made, "a run that cannot begin leaves no folder")
}
