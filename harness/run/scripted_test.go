package run

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// scriptedScenario is small with a script.
func scriptedScenario(t *testing.T) *scenario.Scenario {
	t.Helper()
	s := small()
	path := filepath.Join(t.TempDir(), "plan.js")
	content := []byte("export default function () {}\n")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	w := &s.Workloads[0]
	w.Driver, w.Connections = scenario.DriverK6, 0
	w.Script = scenario.Script{Path: path, SHA256: fmt.Sprintf("%x", sha256.Sum256(content))}
	return s
}

// standInK6 is the test binary as a k6, whose process ids are noted.
func standInK6(t *testing.T, does string) server {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	return script(t, fmt.Sprintf(`exec env '%s=%s' '%s' "$@"`, standInEnv, does, executable))
}

// executeScript runs a scenario with a stand-in, of which nothing must be left.
func executeScript(t *testing.T, s *scenario.Scenario, does string) *execution {
	t.Helper()
	stand := standInK6(t, does)
	t.Setenv("PRONY_K6", stand.path)
	e := execute(t, s, real(t))
	for _, pid := range stand.started(t) {
		assert.NoDirExists(t, "/proc/"+strconv.Itoa(pid), "k6 process %d is left", pid)
	}
	return e
}

func TestScriptYieldsAnOrdinaryResult(t *testing.T) {
	s := scriptedScenario(t)
	s.Phases.Window = 3 * time.Second
	s.SeriesEvery = 300 * time.Millisecond
	e := executeScript(t, s, scriptPlain)
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
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
	assert.Positive(t, generator.FDsMax)
	assert.Positive(t, generator.CPUCores)
	assert.Subset(t, generator.Unknown, []string{"goroutines_max", "gc_cycles", "allocated_bytes"}, "nobody tells of another process's runtime")
	assert.NotContains(t, generator.Unknown, "rss_mb_max")
	require.Len(t, round.Series, 10)
	assert.Positive(t, round.Series[1].CyclesPerS)
	assert.Contains(t, e.shown.String(), ", window ", "its progress is shown")
	assert.FileExists(t, filepath.Join(e.folder, "logs", "k6-01.log"))
}

// What a script does wrong is a verdict with its reason, and no process is left.
func TestScriptsThatGoWrong(t *testing.T) {
	for _, c := range []struct {
		does    string
		verdict result.Verdict
		says    []string
		cycles  bool // whether there are figures
	}{
		{scriptCrosses, result.Regressed, []string{"k6: thresholds on metrics 'prony_cycle_duration' have been crossed"}, true},
		{scriptThrows, result.Misconfigured, []string{"k6 ended before its script was ready", "exit status 107", "quue is not defined"}, false},
		{scriptDies, result.Misconfigured, []string{"k6 ended without an outcome", "signal: killed"}, false},
		{scriptEarly, result.Misconfigured, []string{"plan.js", "the script ended its load", "and the window's end was at 1.02s"}, false},
		{scriptFails, result.Invalid, []string{"the load could not go on: 3 calls of the script failed; the first: produce: the queue is gone"}, true},
		{scriptLoses, result.Incorrect, []string{"the ledger does not balance: 1 lost", "lost: task 1 of producer 0"}, true},
	} {
		t.Run(strings.ReplaceAll(c.does, " ", "-"), func(t *testing.T) {
			e := executeScript(t, scriptedScenario(t), c.does)
			require.Equal(t, c.verdict, e.result.Verdict, "%v", e.result.Reasons)
			for _, says := range c.says {
				assert.Contains(t, strings.Join(e.result.Reasons, "\n"), says)
			}
			assert.Equal(t, c.cycles, e.result.Rounds[0].Cycles > 0)
		})
	}
}
