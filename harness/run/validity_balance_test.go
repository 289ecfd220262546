package run

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/validity"
)

// closedWorkload can hold 160 tasks simultaneously.
var closedWorkload = scenario.Workload{
	Name: "main", Producers: 32, Workers: 128, Batch: 1, Arrivals: scenario.Arrivals{Kind: scenario.Closed},
}

// balancesOf samples workloads whose outstanding tasks are a function of the time since the launch.
func balancesOf(t *testing.T, workloads []scenario.Workload, outstanding ...func(time.Duration) float64) (all []result.Balance) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		began := time.Now()
		s := watchRates(tenSeconds, func() count {
			now := time.Now()
			c := count{completed: uint64(1000 * now.Sub(began).Seconds()), at: now}
			for _, of := range outstanding {
				c.outstanding = append(c.outstanding, of(now.Sub(began)))
			}
			return c
		})
		<-time.After(tenSeconds.Warmup)
		require.NoError(t, s.start(t.Context(), time.Now()))
		<-time.After(tenSeconds.Window)
		require.NoError(t, s.stop(t.Context()))
		all = s.balances(workloads)
	})
	return all
}

func level(tasks float64) func(time.Duration) float64 {
	// With some noise.
	return func(d time.Duration) float64 { return tasks + float64(d.Milliseconds()%7) }
}

func rising(perSecond float64) func(time.Duration) float64 {
	return func(d time.Duration) float64 { return 50 + perSecond*d.Seconds() }
}

func judgedBalances(balances []result.Balance, v scenario.Validity) validity.Judgement {
	var j validity.Judgement
	judgeBalances(&j, balances, v)
	return j
}

func TestABacklogThatGrowsIsInvalid(t *testing.T) {
	t.Parallel()
	balances := balancesOf(t, []scenario.Workload{closedWorkload}, rising(100))
	require.Len(t, balances, 1)
	b := balances[0]
	assert.Equal(t, "main", b.Workload)
	assert.InDelta(t, 160, b.Held, 0)
	assert.InDelta(t, 1000, b.Growth, 60, "over a window of ten seconds, from the end of its first part")
	assert.InDelta(t, 770, b.Outstanding, 30)

	j := judgedBalances(balances, scenario.DefaultValidity())
	require.Len(t, j.Reasons, 1)
	golden.Text(t, "testdata/backlog-grows.golden", j.Reasons[0]+"\n")

	assert.Empty(t, judgedBalances(balances, scenario.Validity{}).Reasons, "without a limit any growth is valid")
	assert.Empty(t, judgedBalances(balances, scenario.Validity{BacklogGrowthPercentMax: new(600.0)}).Reasons)
}

func TestABalancedLoadIsValid(t *testing.T) {
	t.Parallel()
	for name, outstanding := range map[string]func(time.Duration) float64{
		"level":                        level(60),
		"a constant backlog":           level(5000),
		"shrinks":                      func(d time.Duration) float64 { return 3000 - 200*d.Seconds() },
		"grows by less than in-flight": rising(10),
		"no task is outstanding":       func(time.Duration) float64 { return 0 },
		"one burst": func(d time.Duration) float64 {
			if d.Seconds() > 6 && d.Seconds() < 7 {
				return 20_000
			}
			return 60 + float64(d.Milliseconds()%7)
		},
	} {
		balances := balancesOf(t, []scenario.Workload{closedWorkload}, outstanding)
		assert.Empty(t, judgedBalances(balances, scenario.DefaultValidity()).Reasons, name)
	}
}

func TestEachClosedWorkloadIsJudged(t *testing.T) {
	t.Parallel()
	open, alone, quick := closedWorkload, closedWorkload, closedWorkload
	open.Name, open.Arrivals.Kind = "open", scenario.Open
	alone.Name, alone.Workers = "alone", 0
	quick.Name = "100% quick"
	balances := balancesOf(t, []scenario.Workload{open, alone, quick, closedWorkload}, rising(1000), rising(1000), rising(300), level(60))
	require.Len(t, balances, 2)
	j := judgedBalances(balances, scenario.DefaultValidity())
	require.Len(t, j.Reasons, 1)
	golden.Text(t, "testdata/backlog-of-one-grows.golden", j.Reasons[0]+"\n")
}

func TestABacklogThatStaysIsAWarning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outstanding float64
		inFlight    int
		warned      bool
	}{{60, 0, false}, {159, 0, false}, {5000, 0, true}, {5000, 8192, false}} {
		w := closedWorkload
		w.InFlight = c.inFlight
		m := measured{round: result.Round{Number: 3, Balances: []result.Balance{{Workload: "main", Held: 160, Outstanding: c.outstanding}}}}
		m.warnOfBacklogs([]scenario.Workload{w})
		if !c.warned {
			assert.Empty(t, m.warnings, "%+v", c)
			continue
		}
		require.Len(t, m.warnings, 1, "%+v", c)
		golden.Text(t, "testdata/backlog-stays.golden", m.warnings[0]+"\n")
	}
}

// The producers are faster than the workers.
func TestARunWhoseBacklogGrowsIsInvalid(t *testing.T) {
	t.Parallel()
	phases := scenario.Phases{Warmup: 20 * time.Millisecond, Window: 2 * time.Second, Drain: patience}
	m := measuredInVirtualTime(t, phases, scenario.Validity{BacklogGrowthPercentMax: new(100.0)}, func(since time.Duration) count {
		return count{completed: uint64(1000 * since.Seconds()), outstanding: []float64{5000 * since.Seconds()}}
	})
	require.Equal(t, result.Invalid, m.round.Verdict, "%v", m.round.Reasons)
	require.Len(t, m.round.Reasons, 1)
	assert.Contains(t, m.round.Reasons[0], "the backlog grew by")
	assert.NotZero(t, m.round.Metrics[result.CyclesPerS], "the round still shows its figures")
}

func TestGrowthThatChanceExplainsIsValid(t *testing.T) {
	t.Parallel()
	assert.Empty(t, judgedBalances([]result.Balance{{Workload: "main", Held: 160, Growth: 1000, PValue: 0.3}}, scenario.DefaultValidity()).Reasons)
}

// overrun is a load whose producers are so much faster than the workers that the drain does not
// empty the queue.
func overrun() *scenario.Scenario {
	s := small()
	w := &s.Workloads[0]
	w.Batch, w.InFlight = 1, 0
	w.Think = scenario.Think{Kind: scenario.ThinkFixed, Min: 20 * time.Millisecond, Max: 20 * time.Millisecond}
	s.Validity = scenario.Validity{BacklogGrowthPercentMax: new(100.0)}
	s.Phases = scenario.Phases{Warmup: 50 * time.Millisecond, Window: time.Second, Drain: time.Second}
	return s
}

// Tasks of a backlog that the servers still hold are not lost, even if completions in flight take
// effect after the audit.
func TestABacklogThatOutlastsTheDrainIsInvalid(t *testing.T) {
	t.Parallel()
	r := execute(t, overrun(), acting(t, faultAfter)).result
	require.Equal(t, result.Invalid, r.Verdict, "%v", r.Reasons)
	require.NotEmpty(t, r.Reasons) // after a pause of the host, the growth of the backlog may be no reason
	assert.Regexp(t, `not all tasks were completed 1s after the window: the servers still hold [\d,]+ tasks, and workers were still completing them: `+
		`lengthen phases.drain, or bound the backlog with in_flight$`, r.Reasons[len(r.Reasons)-1])
	l := r.Rounds[0].Ledger
	assert.Zero(t, l.Lost)
	assert.Empty(t, l.Samples)
	assert.Greater(t, l.Left, uint64(100))
	assert.LessOrEqual(t, l.InDoubt, uint64(4), "completions in flight")
	assert.Equal(t, l.Enqueued, l.Completed+l.Left+l.InDoubt)
	assert.NotZero(t, r.Rounds[0].Metrics[result.CyclesPerS], "the round still shows its figures")
}

// Without the servers' account, incomplete tasks count as lost.
func TestABacklogThatNoAccountShowsIsIncorrect(t *testing.T) {
	t.Parallel()
	r := execute(t, overrun(), acting(t, faultNoAudit)).result
	require.Equal(t, result.Incorrect, r.Verdict, "%v", r.Reasons)
	assert.Contains(t, strings.Join(r.Reasons, "\n"), "not all tasks were completed 1s after the window\n")
	assert.NotZero(t, r.Rounds[0].Ledger.Lost)
	assert.Contains(t, strings.Join(r.Warnings, "\n"), "round 1: cannot tell whether the servers still hold the incomplete tasks: ")
}

// Tasks count as left if the servers' counts account for all of them, except for completions in
// flight.
func TestTasksAreLeftOnlyIfTheServersHaveThem(t *testing.T) {
	t.Parallel()
	lost := result.Ledger{Enqueued: 100, Completed: 60, Lost: 40, Samples: []string{"lost: producer 0 task 7", "revoked: x"}}
	for name, c := range map[string]struct {
		counts        observe.Counts
		left, inDoubt uint64 // 0, 0: all tasks count as lost
	}{
		"all tasks are held":                    {observe.Counts{Enqueued: 100, Completed: 60, Ready: 38, Leased: 2, Stored: 40}, 40, 0},
		"completions in flight took effect":     {observe.Counts{Enqueued: 100, Completed: 64, Ready: 36, Stored: 36}, 36, 4},
		"more tasks than in flight are missing": {observe.Counts{Enqueued: 100, Completed: 65, Ready: 35, Stored: 35}, 0, 0},
		"an acknowledged enqueue is missing":    {observe.Counts{Enqueued: 99, Completed: 60, Ready: 39, Stored: 39}, 0, 0},
		"the store lacks a task":                {observe.Counts{Enqueued: 100, Completed: 60, Ready: 40, Stored: 39}, 0, 0},
		"the counters do not add up":            {observe.Counts{Enqueued: 100, Completed: 60, Ready: 39, Stored: 39}, 0, 0},
		"an acknowledged completion is undone":  {observe.Counts{Enqueued: 100, Completed: 59, Ready: 41, Stored: 41}, 0, 0},
		"the servers hold and count no task":    {observe.Counts{}, 0, 0},
	} {
		l, left := leftOf(lost, c.counts, 4)
		assert.Equal(t, c.left, left, name)
		if c.left == 0 {
			assert.Equal(t, lost, l, name)
			continue
		}
		assert.Equal(t, result.Ledger{Enqueued: 100, Completed: 60, Left: c.left, InDoubt: c.inDoubt, Samples: []string{"revoked: x"}}, l, name)
	}
}
