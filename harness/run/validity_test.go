package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// checkObserved checks the host and process figures of a round of the real server.
func checkObserved(t *testing.T, round *result.Round) {
	t.Helper()
	require.NotNil(t, round.Signals)
	assert.NotNil(t, round.Signals.ClockStepMs)
	assert.GreaterOrEqual(t, round.Signals.Samples, 2)
	if round.Profiled {
		assert.Nil(t, round.Warmup, "profiled rounds are not judged")
	}
	require.Len(t, round.Processes, 2)
	for i, name := range []string{"generator", "server"} {
		p := round.Processes[i]
		assert.Equal(t, name, p.Name)
		assert.Empty(t, p.Unknown, name)
		assert.Positive(t, p.CPUCores, name)
		assert.Positive(t, p.RSSMBMax, name)
		assert.Positive(t, p.FDsMax, name)
		assert.Positive(t, p.Goroutines, name)
		assert.Positive(t, p.AllocatedBytes, name)
		assert.Positive(t, p.AllocatedObjects, name)
		assert.LessOrEqual(t, p.GCPauseMsP99, p.GCPauseMsMax, name)
	}
	assert.GreaterOrEqual(t, round.Metrics[result.ServerGoroutinesMax], 1.0)
	perCycle := round.Metrics[result.ServerAllocsPerCycle] * float64(round.Cycles)
	assert.InEpsilon(t, float64(round.Processes[1].AllocatedObjects), perCycle, 0.5, "of all cycles")
}

// hostThatMoves is a simulated host whose counters grow by the given amounts at each step until the
// test ends. It is in a version 2 control group.
func hostThatMoves(t *testing.T, user, idle, steal, stalledUs, throttledUs int) (root string) {
	t.Helper()
	root = t.TempDir()
	group := filepath.Join(root, "sys/fs/cgroup/job")
	for _, dir := range []string{filepath.Join(root, "proc/1"), filepath.Join(root, "proc/pressure"), group} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	put := func(name, format string, args ...any) {
		path := filepath.Join(root, name)
		if err := os.WriteFile(path+".new", fmt.Appendf(nil, format+"\n", args...), 0o600); err == nil {
			err = os.Rename(path+".new", path)
			assert.NoError(t, err)
		}
	}
	require.NoError(t, os.Symlink("1", filepath.Join(root, "proc/self")))
	put("proc/1/cgroup", "0::/job")
	put("proc/1/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw")
	advance := func(i int) {
		put("proc/stat", "cpu  %d 0 0 %d 0 0 0 %d 0 0", 1000+i*user, 1000+i*idle, i*steal)
		put("proc/pressure/cpu", "some avg10=0.00 total=%d", i)
		put("proc/pressure/memory", "some avg10=0.00 total=%d", i*stalledUs)
		put("sys/fs/cgroup/job/cpu.stat", "nr_throttled %d\nthrottled_usec %d", i, i*throttledUs)
	}
	advance(0)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for i := 1; ; i++ {
			select {
			case <-tick.C:
				advance(i)
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return root
}

// strict has the default limits of the host signals only.
func strict() scenario.Validity {
	return scenario.Validity{
		StealPercentMax: new(5.0), ForeignCPUPercentMax: new(10.0), PressureMemoryPercentMax: new(10.0), ThrottledPercentMax: new(1.0),
	}
}

func on(t *testing.T, s *scenario.Scenario, root string, server server) *result.Result {
	t.Helper()
	r, _, err := Execute(t.Context(), s, Options{Out: t.TempDir(), Server: server.path, hostRoot: root})
	require.NoError(t, err)
	return r
}

// On a host with every problem each reason is reported.
func TestUnfitHost(t *testing.T) {
	t.Parallel()
	s := small()
	forTime(s, 2*window)
	s.Validity = strict()
	// Each step is 100 s of CPU time, so that the run's own usage is negligible, and 1 s of stalls.
	root := hostThatMoves(t, 4000, 4000, 2000, 1e6, 1e6)
	r := on(t, s, root, acting(t, faultNone))
	assert.Equal(t, result.Invalid, r.Verdict)
	all := strings.Join(r.Reasons, "\n")
	for _, reason := range []string{
		"round 1: the hypervisor took 20 % of all CPUs' time; up to 5 % is sound (validity.steal_percent_max)",
		"round 1: processes that are not of this run used ", "round 1: some task waited for memory in ", "round 1: the control group's CPU quota stopped its tasks for ",
	} {
		assert.Contains(t, all, reason)
	}
	assert.Len(t, r.Reasons, 4, "%s", all)
	signals := r.Rounds[0].Signals
	require.NotNil(t, signals)
	assert.InDelta(t, 20, *signals.StealPercent, 0.1)
	assert.InDelta(t, 40, *signals.ForeignCPUPercent, 5)

	t.Run("a scenario that wants to be warned", func(t *testing.T) {
		s.Validity.Warn = true
		r := on(t, s, root, acting(t, faultNone))
		assert.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
		assert.Len(t, r.Warnings, 4)
		assert.Contains(t, strings.Join(r.Warnings, "\n"), "round 1: the hypervisor took 20 % of all CPUs' time; up to 5 % is sound")
	})
	t.Run("a scenario without limits", func(t *testing.T) {
		s.Validity = scenario.Validity{}
		r := on(t, s, root, acting(t, faultNone))
		assert.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
		assert.Empty(t, r.Warnings)
	})
}

// Signals that a host does not report cause one warning and no reason.
func TestHostThatSaysNothing(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds, s.Validity = 2, strict()
	r := on(t, s, t.TempDir(), acting(t, faultNone))
	assert.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	assert.Equal(t, []string{"this host does not report these signals, so they were not judged: steal, foreign CPU, memory pressure, throttling"}, r.Warnings)
	assert.Nil(t, r.Rounds[0].Signals.StealPercent)
	require.Len(t, r.Rounds[0].Processes, 2)
	assert.Contains(t, r.Rounds[0].Processes[1].Unknown, "gc_pause_ms_p99", "this server does not report its runtime")
	assert.NotContains(t, r.Metrics, result.ServerAllocsPerCycle)
}

// A foreign process that takes a CPU makes the round invalid.
func TestForeignProcess(t *testing.T) {
	t.Parallel()
	burner := exec.Command("sh", "-c", "while :; do :; done")
	require.NoError(t, burner.Start())
	defer func() {
		require.NoError(t, burner.Process.Kill())
		require.Error(t, burner.Wait(), "it was killed")
	}()
	s := small()
	forTime(s, window)
	s.Validity.ForeignCPUPercentMax = new(0.5)
	r := on(t, s, "", real(t))
	assert.Equal(t, result.Invalid, r.Verdict)
	require.Len(t, r.Reasons, 1)
	assert.Regexp(t, `^round 1: processes that are not of this run used \S+ % of all CPUs' time \(.+ %\); up to 0\.5 % is sound \(validity\.foreign_cpu_percent_max\)`, r.Reasons[0])
}

// A rate that falls throughout the window is not valid.
func TestRateWithATrend(t *testing.T) {
	t.Parallel()
	phases := scenario.Phases{Warmup: 20 * time.Millisecond, Window: 2 * time.Second, Drain: patience}
	m := measuredInVirtualTime(t, phases, scenario.Validity{TrendPercentMax: new(10.0)}, func(since time.Duration) count {
		return count{completed: uint64(1000*since.Seconds() - 100*since.Seconds()*since.Seconds())}
	})
	assert.Equal(t, result.Invalid, m.round.Verdict)
	require.Len(t, m.round.Reasons, 1, "%v", m.round.Reasons)
	assert.Contains(t, m.round.Reasons[0], "the rate fell by ")
	assert.Contains(t, m.round.Reasons[0], "(validity.trend_percent_max)")
	w := m.round.Warmup
	require.NotNil(t, w)
	assert.False(t, w.Stationary)
	assert.InDelta(t, -100*380.0/990, w.TrendPercent, 3)
	assert.Contains(t, w.Reason, "the rate fell by ")
}

func TestJudgeHostOfRoundsWithoutFigures(t *testing.T) {
	t.Parallel()
	m := &measured{round: result.Round{Number: 3, Verdict: result.Pass}}
	r := &runner{scenario: &scenario.Scenario{Validity: scenario.Validity{StealPercentMax: new(1.0)}}}
	signals := &result.Signals{StealPercent: new(2.0)}
	r.judgeHost(&windowProbe{kind: profiled, host: hostWatch{signals: signals}}, m)
	assert.Equal(t, result.Pass, m.round.Verdict)
	assert.Equal(t, []string{"round 3: the hypervisor took 2 % of all CPUs' time; up to 1 % is sound (validity.steal_percent_max)"}, m.warnings)
	r.judgeHost(&windowProbe{kind: calibration, host: hostWatch{signals: signals}}, m)
	assert.Equal(t, result.Invalid, m.round.Verdict)
}

// The name of a workload is text, even if it looks like a format.
func TestSlipNamesItsWorkload(t *testing.T) {
	t.Parallel()
	h := result.NewHistogram()
	require.NoError(t, h.RecordValue(int64(3*time.Millisecond)))
	m := &measured{}
	r := &runner{scenario: &scenario.Scenario{Validity: scenario.Validity{SlipMsP99Max: new(1.0)}}}
	r.checkSlip(&load.Open{Slip: h}, "half-50%", true, profiled, m)
	assert.Empty(t, m.round.Reasons, "a profiled round has no figures")
	assert.Len(t, m.warnings, 1)
	r.checkSlip(&load.Open{Slip: h}, "half-50%", true, timed, m)
	require.Len(t, m.round.Reasons, 1)
	assert.Regexp(t, `^workload half-50%: the generator did not keep up .* 3.01 ms late or more, .*; up to 1 ms is sound \(validity.slip_ms_p99_max\)$`, m.round.Reasons[0])
}

// The reason for a late generator names foreign processes if they used the CPUs.
func TestSlipBesideForeignProcesses(t *testing.T) {
	t.Parallel()
	h := result.NewHistogram()
	require.NoError(t, h.RecordValue(int64(3*time.Millisecond)))
	r := &runner{scenario: &scenario.Scenario{Validity: scenario.Validity{SlipMsP99Max: new(1.0)}}}
	texts := golden.Cases(t, "testdata/slip.golden")
	for _, foreign := range []float64{85.6, 2} {
		m := &measured{round: result.Round{Signals: &result.Signals{ForeignCPUPercent: new(foreign)}}}
		r.checkSlip(&load.Open{Slip: h}, "main", false, timed, m)
		require.Len(t, m.round.Reasons, 1)
		texts.Equal(t, fmt.Sprint(foreign), m.round.Reasons[0])
	}
}

// The CPU time of the servers counts as the run's own, not as foreign.
func TestOwnCPUIsThatOfAllProcesses(t *testing.T) {
	t.Parallel()
	cluster, err := topology.Start(t.Context(), topology.Config{
		Binary: queued, Dir: t.TempDir(), LogPath: filepath.Join(t.TempDir(), "server.log"), Topology: small().Topology,
	})
	require.NoError(t, err)
	h := &hostWatch{servers: serverProbes{{server: cluster.Servers()[0]}}, pid: os.Getpid}
	require.NoError(t, h.start(t.Context(), time.Now()))
	server, err := usage(cluster.Servers()[0])
	require.NoError(t, err)
	require.Positive(t, server.CPU)
	self, err := observe.ProcessCPU(os.Getpid())
	require.NoError(t, err)
	own, err := h.ownCPU()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, own, self+server.CPU)
	require.NoError(t, cluster.Stop(context.Background()))
	ended, err := h.ownCPU()
	require.NoError(t, err, "the CPU time of a child is known after the wait")
	assert.Greater(t, ended, own)
	require.NoError(t, h.stop(t.Context()))
	require.NoError(t, h.stop(t.Context()))
	require.NotNil(t, h.signals)
}

// The CPU time of a child that does not belong to the run counts as foreign, so the child is named
// too.
func TestOwnProcessesAreThoseOfTheRun(t *testing.T) {
	t.Parallel()
	cluster, err := topology.Start(t.Context(), topology.Config{
		Binary: queued, Dir: t.TempDir(), LogPath: filepath.Join(t.TempDir(), "server.log"), Topology: small().Topology,
	})
	require.NoError(t, err)
	h := &hostWatch{servers: serverProbes{{server: cluster.Servers()[0]}}, pid: os.Getpid, beside: []int{17}}
	require.NoError(t, h.start(t.Context(), time.Now()))
	assert.ElementsMatch(t, []int{os.Getpid(), 17, cluster.Servers()[0].Node().PID}, h.ownProcesses())
	require.NoError(t, h.stop(t.Context()))
	require.NoError(t, cluster.Stop(context.Background()))
}
