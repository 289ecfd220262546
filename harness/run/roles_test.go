package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// enqueuing is a scenario whose tasks no worker claims.
func enqueuing() *scenario.Scenario {
	s := small()
	s.Workloads[0].Workers, s.Workloads[0].InFlight = 0, 10_000_000
	return s
}

// A workload without workers measures its acknowledged enqueues. The tasks that stay on the server
// are not lost, as the server's account shows.
func TestEnqueueAlone(t *testing.T) {
	t.Parallel()
	s := enqueuing()
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
	e := execute(t, s, real(t))
	r := e.result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	round := r.Rounds[0]
	assert.Positive(t, round.Enqueues)
	assert.Zero(t, round.Cycles)
	assert.InDelta(t, float64(round.Enqueues)/round.WindowSeconds, r.Metrics[result.EnqueuesPerS].Median, 1e-6)
	assert.Equal(t, round.Ledger.Enqueued, round.Ledger.Left)
	assert.GreaterOrEqual(t, round.Ledger.Left, round.Enqueues)
	assert.EqualValues(t, 0, r.Metrics[result.Lost].Median)
	for _, name := range []string{result.EnqueueLatencyMs + "_p99", result.ServerCPUCores, result.ServerRSSMBMax} {
		assert.Positive(t, r.Metrics[name].Median, name)
	}
	for _, name := range []string{result.CyclesPerS, result.CPUUsPerCycle, result.CycleLatencyMs + "_p99", result.SettleLatencyMs + "_p99"} {
		assert.NotContains(t, r.Metrics, name)
	}
	shown := e.shown.String()
	assert.Contains(t, shown, " enqueues/s, server ")
	assert.Regexp(t, `small: pass: [\d,.]+ enqueues/s`, shown)
}

// A round whose producers had to wait for in-flight slots has no valid rate of enqueues.
func TestEnqueueAloneBeyondItsBound(t *testing.T) {
	t.Parallel()
	s := enqueuing()
	s.Workloads[0].InFlight = 64 // a single call fills it
	forTime(s, window)
	r := execute(t, s, real(t)).result
	assert.Equal(t, result.Invalid, r.Verdict)
	assert.Contains(t, r.Reasons, "round 1: the producers reached in_flight, 64 tasks, before the window's end, and then waited: raise in_flight, or shorten the window")
}

// A task that no worker claimed and that is missing on the server is lost, even if the scenario
// does not require an audit.
func TestEnqueueAloneIsAudited(t *testing.T) {
	t.Parallel()
	s := enqueuing()
	s.Invariants = nil
	r := execute(t, s, acting(t, faultNoAudit)).result
	assert.Equal(t, result.Invalid, r.Verdict)
	require.NotEmpty(t, r.Reasons)
	assert.Contains(t, r.Reasons[0], "round 1: the server could not be audited")
}

// A workload without producers claims a backlog that was enqueued before the warm-up.
func TestClaimAlone(t *testing.T) {
	t.Parallel()
	const tasks = 5000 // more than one slot can complete in the warm-up, one task at a time
	s := small()
	s.Workloads[0].Producers, s.Workloads[0].InFlight, s.Workloads[0].Workers, s.Workloads[0].Batch = 0, 0, 1, 1
	s.Backlog = &scenario.Backlog{Tasks: tasks, Restart: "none", Fill: patience}
	s.Phases.Drain = 4 * patience
	s.Workloads[0].Connections = 2
	e := execute(t, s, real(t))
	r := e.result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	round := r.Rounds[0]
	assert.Positive(t, r.Metrics[result.CyclesPerS].Median)
	assert.Positive(t, r.Metrics[result.SettleLatencyMs+"_p99"].Median)
	assert.Positive(t, r.Metrics[result.ServerCPUUsPerCycle].Median)
	assert.NotContains(t, r.Metrics, result.CycleLatencyMs+"_p99")
	assert.NotContains(t, r.Metrics, result.EnqueueLatencyMs+"_p99")
	assert.EqualValues(t, tasks, round.Ledger.Completed)
	assert.Less(t, round.Cycles, uint64(tasks))
	assert.Nil(t, round.Backlog)
}

func TestClaimAloneOfTooFewTasks(t *testing.T) {
	t.Parallel()
	s := small()
	s.Workloads[0].Producers, s.Workloads[0].InFlight = 0, 0
	forTime(s, window)
	s.Backlog = &scenario.Backlog{Tasks: 10, Restart: "none", Fill: patience}
	r := execute(t, s, real(t)).result
	assert.Equal(t, result.Invalid, r.Verdict)
	assert.Contains(t, r.Reasons, "round 1: the workers completed the whole backlog before the window's end: raise backlog.tasks, or shorten the window")
}

// Workers of a real server with a think time, each with a separate queue and separate calls.
func TestWorkersThatThink(t *testing.T) {
	t.Parallel()
	s := small()
	w := &s.Workloads[0]
	w.QueuePerWorker, w.ProducerBatch, w.WorkerBatch = true, 16, 4
	w.Think = scenario.Think{Kind: scenario.ThinkFixed, Min: 5 * time.Millisecond, Max: 5 * time.Millisecond}
	r := execute(t, s, real(t)).result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	assert.Positive(t, r.Rounds[0].Cycles)
	assert.GreaterOrEqual(t, r.Metrics[result.SettleLatencyMs+"_p50"].Low, 4.9)
}
