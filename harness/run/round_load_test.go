package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// mixed combines a quiet open workload with a closed one of two tenants.
func mixed() *scenario.Scenario {
	s := small()
	noisy, quiet := s.Workloads[0], s.Workloads[0]
	noisy.Name = "noisy"
	forTime(s, time.Second)
	quiet.Name, quiet.Batch, quiet.FirstTenant, quiet.InFlight = "quiet", 1, 1, 1000
	quiet.Arrivals = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 200}}
	s.Workloads = []scenario.Workload{quiet, noisy}
	return s
}

// Simultaneous workloads have separate figures, and the figures of the round cover both.
func TestWorkloadsAtOnce(t *testing.T) {
	t.Parallel()
	e := execute(t, mixed(), real(t))
	r := e.result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	round := r.Rounds[0]
	require.Len(t, round.Workloads, 2)
	quiet, noisy := round.Workloads[0], round.Workloads[1]
	assert.Equal(t, []string{"quiet", "noisy"}, []string{quiet.Name, noisy.Name})
	assert.Equal(t, round.Cycles, quiet.Cycles+noisy.Cycles)
	assert.Positive(t, noisy.Cycles)
	assert.EqualValues(t, 200, quiet.Arrivals.Scheduled)
	assert.Nil(t, noisy.Arrivals)
	assert.Equal(t, quiet.Arrivals, round.Arrivals)
	assert.Equal(t, round.Ledger.Enqueued, round.Ledger.Completed)
	assert.InDelta(t, r.Metrics[result.CyclesPerS].Median,
		r.Workloads[0].Metrics[result.CyclesPerS].Median+r.Workloads[1].Metrics[result.CyclesPerS].Median, 1e-6)
	for _, metric := range []string{result.CycleLatencyMs + "_p99", result.OfferedPerS, result.SlipMs + "_p99"} {
		assert.Contains(t, r.Workloads[0].Metrics, metric)
		assert.Contains(t, r.Metrics, metric)
	}
	assert.Contains(t, r.Workloads[1].Metrics, result.CycleLatencyMs+"_p99")
	assert.NotContains(t, r.Workloads[1].Metrics, result.OfferedPerS)
	assert.NotContains(t, r.Workloads[1].Metrics, result.ServerRSSMBMax, "the server's usage is not attributed to a workload")

	stored, histograms, err := result.Read(e.folder)
	require.NoError(t, err)
	assert.Equal(t, r.Workloads, stored.Workloads)
	require.Len(t, histograms[0].Workloads, 2)
	assert.EqualValues(t, 200, histograms[0].Workloads[0].Cycle.TotalCount())
	assert.Equal(t, histograms[0].Cycle.TotalCount(), 200+histograms[0].Workloads[1].Cycle.TotalCount())
}

// A task of one workload that reaches the workers of another one is not isolated, rather than
// corrupted.
func TestWorkloadsKnowEachOthersTasks(t *testing.T) {
	s := mixed()
	r := &runner{scenario: s, points: s.Plan(), peaks: make([]float64, 1)}
	l := newLoads(r, nil, plannedRound{number: 1})
	payload := make([]byte, 64)
	ledger.Seal(payload, ledger.Identity{Round: l.accounts[1].Round()}, ledger.NewAddress("t0", "q0"))
	_, verdict := l.accounts[0].Claimed(payload, ledger.NewAddress("t1", "q0"))
	assert.Equal(t, ledger.Unreadable, verdict)
	var m measured
	m.round.Ledger = l.balance()
	m.checkBalance()
	assert.Equal(t, result.Incorrect, m.round.Verdict)
	require.Len(t, m.round.Reasons, 1)
	golden.Text(t, "testdata/foreign.golden", m.round.Reasons[0]+"\n")
}
