package gate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
)

// pieces simulates pieces of one kind on a quiet host.
func pieces(kind string, n int, l losses) (all []gate.SelfTestPiece) {
	random := seeded(uint64(len(kind)))
	for i := range n {
		d := simulated(random, 14, quietHost, l)
		d.Started = d.Started.Add(time.Duration(i) * time.Hour)
		d.Finished = d.Started.Add(90 * time.Second)
		all = append(all, gate.SelfTestPiece{Folder: fmt.Sprintf("%s-%d", kind, i), Kind: kind, Duet: d})
	}
	return all
}

func selfTestPlan() gate.SelfTestPlan {
	return gate.SelfTestPlan{Within: 90, Drawn: 20, Policy: gate.DefaultDuetPolicy()}
}

func kindOf(t *testing.T, test *gate.SelfTest, name string) gate.SelfTestOf {
	t.Helper()
	for _, k := range test.Kinds {
		if k.Name == name {
			return k
		}
	}
	require.Fail(t, "no kind "+name)
	return gate.SelfTestOf{}
}

func trialOf(t *testing.T, of gate.SelfTestOf, looks int, disjoint bool) gate.Trial {
	t.Helper()
	trial, ok := of.Trial(looks, disjoint)
	require.True(t, ok, "%s has trials of %d looks", of.Name, looks)
	return trial
}

func TestSelfTestCountsFalseAlarmsAndPower(t *testing.T) {
	bank := gate.SelfTestBank{Pieces: append(pieces("identical", 13, losses{}), pieces("cpu-10", 6, losses{server: 0.10, rate: 0.06})...)}
	bank.Pieces[2].Duet.Sides[0].Commit = "another"
	bank.Pieces[2].Duet.Manifest.Host = result.Host{CPUModel: "a CPU", CPUs: 4}
	newest := bank.Pieces[18].Duet
	newest.SliceMs, newest.Together, newest.CPUs = 10, true, []result.SideCPUs{{Servers: []int{0}}, {Servers: []int{1}}}
	bank.Pieces[13].Duet.Sides[1].Env = []string{"PRONY_PLANTED=work:500"}
	test, err := gate.RunSelfTest(bank, selfTestPlan())
	require.NoError(t, err)

	same := kindOf(t, test, "identical")
	assert.Equal(t, 13, same.Pieces)
	assert.Equal(t, 13*14, same.Generations)
	one := trialOf(t, same, 1, true)
	assert.Equal(t, 13, one.Trials, "each piece is one trial")
	assert.Zero(t, one.Red())
	assert.Greater(t, one.High, 0.2, "the interval of 13 trials must be wide")
	three := trialOf(t, same, 3, true)
	assert.Equal(t, 4, three.Trials, "13 pieces have four disjoint sets of three")
	assert.GreaterOrEqual(t, three.Verdicts[result.Pass]*one.Trials, one.Verdicts[result.Pass]*three.Trials, "more looks must not lower the pass rate")
	drawn := trialOf(t, same, 3, false)
	assert.Equal(t, 20, drawn.Trials)
	assert.Zero(t, drawn.High, "no interval, because the trials share generations")

	slow := kindOf(t, test, "cpu-10")
	assert.Equal(t, []string{"PRONY_PLANTED=work:500"}, slow.Planted)
	assert.Equal(t, 6, trialOf(t, slow, 1, true).Red())
	assert.Equal(t, 6, trialOf(t, slow, 1, true).Timings)
	assert.Equal(t, 6, trialOf(t, slow, 1, true).ByMetric[result.ServerCPUUsPerCycle])
	assert.Equal(t, 2, trialOf(t, slow, 3, true).Red())
	for metric, want := range map[string]float64{result.ServerCPUUsPerCycle: 0.10, result.CyclesPerS: 0.06, result.ClientCPUUsPerCycle: 0} {
		f, ok := slow.Figure(metric)
		require.True(t, ok)
		assert.InDelta(t, want, f.Loss, 0.01, metric)
		assert.Less(t, f.Low, f.Loss)
		assert.Less(t, f.Loss, f.High)
		assert.InDelta(t, quietHost.cost, f.StdDev, 0.01, metric)
	}

	require.Len(t, test.Commits, 2)
	assert.Equal(t, 18, test.Commits[0].Pieces)
	assert.Equal(t, gate.SelfTestCommit{Commit: "another", Host: "a CPU, 4 CPUs", First: bank.Pieces[2].Duet.Started, Last: bank.Pieces[2].Duet.Finished, Pieces: 1}, test.Commits[1])
	assert.Equal(t, bank.Pieces[12].Duet.Finished, test.Finished)
	assert.Equal(t, "none", test.Durability)
	assert.InDelta(t, 10, test.SliceMs, 0)
	assert.True(t, test.Together)
	assert.Equal(t, bank.Pieces[18].Duet.CPUs, test.CPUs)

	again, err := gate.RunSelfTest(bank, selfTestPlan())
	require.NoError(t, err)
	assert.Equal(t, test, again, "the self-test of a bank must be deterministic")
	assert.Len(t, bank.Pieces[0].Duet.Generations, 14, "the bank must not be modified")
}

// Trials of pieces that record how the program code was mapped are also counted separately, for
// builds of the same source.
func TestSelfTestCountsCheckedPieces(t *testing.T) {
	bank := gate.SelfTestBank{Pieces: append(pieces("identical", 6, losses{}), pieces("cpu-10", 2, losses{server: 0.10, rate: 0.06})...)}
	know := func(piece int) {
		for i := range bank.Pieces[piece].Duet.Generations {
			for side := range bank.Pieces[piece].Duet.Generations[i].Sides {
				bank.Pieces[piece].Duet.Generations[i].Sides[side].ServerCode = &result.CodePages{ResidentMB: 12, LargeMB: 12}
			}
		}
	}
	for _, piece := range []int{1, 2, 3, 4, 6, 7} {
		know(piece)
	}
	bank.Pieces[4].Duet.Generations[7].Sides[1].ServerCode = nil
	bank.Pieces[3].Duet.Generations[0].Sides[0].ServerCode = nil
	bank.Pieces[3].Duet.Generations[0].Verdict = result.Invalid // it does not count
	for i := range bank.Pieces[5].Duet.Generations {
		bank.Pieces[5].Duet.Generations[i].Verdict = result.Invalid
	}
	test, err := gate.RunSelfTest(bank, selfTestPlan())
	require.NoError(t, err)
	same := kindOf(t, test, "identical")
	require.Len(t, same.Checked, 2)
	one, ok := same.CheckedTrial(1)
	require.True(t, ok)
	assert.Equal(t, 3, one.Trials, "the first piece records no mapping, the fifth lacks one generation, and no generation of the last counts")
	three, ok := same.CheckedTrial(3)
	require.True(t, ok)
	assert.Equal(t, 1, three.Trials)
	assert.Equal(t, 6, trialOf(t, same, 1, true).Trials, "the other trials still count all pieces")
	assert.Empty(t, kindOf(t, test, "cpu-10").Checked)
}

func TestSelfTestNamesCommitsAndHosts(t *testing.T) {
	bank := gate.SelfTestBank{Pieces: pieces("identical", 3, losses{})}
	bank.Pieces[1].Duet.Manifest.Host = result.Host{CPUModel: "a CPU", CPUs: 4}
	commit, from, to := bank.Pieces[0].Duet.Sides[0].Commit, bank.Pieces[0].Duet.Started.Add(-time.Hour), bank.Pieces[0].Duet.Started.Add(time.Minute)
	for _, started := range []time.Time{from, to} {
		one := ran(0, 100_000)
		one.Result.Started, one.Result.Finished, one.Result.Manifest.Build.Commit = started, started.Add(time.Second), commit
		bank.Checks = append(bank.Checks, gate.CheckPiece{Runs: []gate.CheckRun{one}})
	}
	plan := selfTestPlan()
	plan.Baselines = smokeBaseline(t)
	test, err := gate.RunSelfTest(bank, plan)
	require.NoError(t, err)
	assert.Equal(t, []gate.SelfTestCommit{
		{Commit: commit, Host: "unknown CPU, 0 CPUs", First: from, Last: bank.Pieces[2].Duet.Finished, Pieces: 4},
		{Commit: commit, Host: "a CPU, 4 CPUs", First: bank.Pieces[1].Duet.Started, Last: bank.Pieces[1].Duet.Finished, Pieces: 1},
	}, test.Commits)
}

// A drawn trial has the fixed work of one randomly drawn piece.
func TestDrawnTrialsDrawTheirFixedWork(t *testing.T) {
	bank := gate.SelfTestBank{Pieces: pieces("identical", 8, losses{})}
	for i := range bank.Pieces {
		bank.Pieces[i].Duet.Work = &result.FixedWork{Cycles: 1000, Counters: map[string][2]float64{result.WorkStorageSets: {2000, 2000}}}
	}
	bank.Pieces[0].Duet.Work.Counters[result.WorkStorageSets] = [2]float64{2000, 2500}
	test, err := gate.RunSelfTest(bank, selfTestPlan())
	require.NoError(t, err)
	same := kindOf(t, test, "identical")
	assert.Equal(t, 1, trialOf(t, same, 1, true).Red())
	drawn := trialOf(t, same, 1, false)
	assert.Positive(t, drawn.Red())
	assert.Less(t, drawn.Red(), drawn.Trials/2)
}

// A generation with an incorrect side makes its trial red and does not affect the figures of the
// others.
func TestSelfTestWithAnIncorrectGeneration(t *testing.T) {
	bank := gate.SelfTestBank{Pieces: pieces("cpu-10", 6, losses{server: 0.10, rate: 0.06})}
	bank.Pieces[0].Duet.Generations[3].Verdict = result.Incorrect
	test, err := gate.RunSelfTest(bank, selfTestPlan())
	require.NoError(t, err)
	slow := kindOf(t, test, "cpu-10")
	assert.Equal(t, 1, trialOf(t, slow, 1, true).Verdicts[result.Incorrect])
	f, ok := slow.Figure(result.ServerCPUUsPerCycle)
	require.True(t, ok)
	assert.InDelta(t, 0.10, f.Loss, 0.01)
	assert.Equal(t, 6*14-1, slow.Generations)
	assert.Len(t, bank.Pieces[0].Duet.Generations, 14)
}

func TestSelfTestOfFewPieces(t *testing.T) {
	s := golden.Cases(t, "testdata/banks.golden")
	_, err := gate.RunSelfTest(gate.SelfTestBank{}, selfTestPlan())
	s.Error(t, "empty", err)
	test, err := gate.RunSelfTest(gate.SelfTestBank{Pieces: pieces("layout", 1, losses{})}, selfTestPlan())
	require.NoError(t, err)
	require.Len(t, test.Kinds[0].Trials, 1, "too few for three looks and for drawing")
	_, err = gate.RunSelfTest(gate.SelfTestBank{Pieces: pieces("cpu-4", 1, losses{})}, selfTestPlan())
	s.Error(t, "unknown kind", err)
}

func TestSelfTestKinds(t *testing.T) {
	named := map[string]bool{}
	for _, k := range gate.SelfTestKinds() {
		assert.False(t, named[k.Name], k.Name)
		named[k.Name] = true
		assert.Positive(t, k.Wanted, k.Name)
		assert.NotEmpty(t, k.Does, k.Name)
		assert.Equal(t, k.Same(), k.Metric == "", k.Name)
		assert.Equal(t, k.Same(), k.Loss == 0, k.Name)
	}
	assert.Zero(t, gate.CheckLosses[0], "the first server of a check is not slowed")
}

// An amount is proportional to its calibrated effect on the CPU time of a cycle or on the time
// between cycles.
func TestCalibrationYieldsAmounts(t *testing.T) {
	cpu := gate.SelfTestCalibration{Metric: result.ServerCPUUsPerCycle, Amount: 1000, Excess: 0.2}
	assert.InDelta(t, 250, cpu.For(0.05, nil), 1e-9)
	rate := gate.SelfTestCalibration{Metric: result.CyclesPerS, Amount: 1000, Excess: 0.25}
	assert.InDelta(t, 1000, rate.For(0.2, nil), 1e-9, "a quarter more time between cycles loses a fifth of the rate")
}

// If a small amount costs less than in proportion, measured pieces correct the amount until it
// causes the intended loss.
func TestPiecesCorrectTheCalibration(t *testing.T) {
	random := seeded(23)
	piece := func(amount, loss float64) gate.SelfTestPiece {
		d := simulated(random, 15, duetNoise{cost: 1e-6, p50: 1e-6, p99: 1e-6}, losses{server: loss, rate: 1 - 1/(1+loss)})
		return gate.SelfTestPiece{Kind: "cpu-5", Amount: amount, Duet: d}
	}
	for _, metric := range []string{result.ServerCPUUsPerCycle, result.CyclesPerS} {
		c := gate.SelfTestCalibration{Metric: metric, Amount: 1000, Excess: 0.2}
		wanted := 0.05
		if metric == result.CyclesPerS {
			wanted = 0.05 / 0.95
		}
		var measured []gate.SelfTestPiece
		for range 40 {
			amount := c.For(0.05, measured)
			// 0.6 of the calibrated effect.
			measured = append(measured, piece(amount, 0.6*0.2*amount/1000))
		}
		assert.InEpsilon(t, wanted/(0.6*0.2)*1000, c.For(0.05, measured), 0.03, metric)
		assert.InEpsilon(t, wanted/(0.6*0.2)*1000, measured[3].Amount, 0.25, "%s: most of the way after three pieces", metric)
		nothing := piece(100, 0)
		nothing.Duet.Generations = nil
		assert.InEpsilon(t, c.For(0.05, nil), c.For(0.05, []gate.SelfTestPiece{nothing}), 1e-9)
		assert.InEpsilon(t, 4*c.For(0.05, nil), c.For(0.05, []gate.SelfTestPiece{piece(1e6, 0)}), 1e-9, "bounded above")
		assert.InEpsilon(t, c.For(0.05, nil)/4, c.For(0.05, []gate.SelfTestPiece{piece(1, 9)}), 1e-9, "bounded below")
	}
}

// ran returns the run of a server at the given rate.
func ran(loss, rate float64) gate.CheckRun {
	return gate.CheckRun{Loss: loss, Planted: "PRONY_PLANTED=work:9", Result: &result.Result{
		Version: result.Version, Scenario: "smoke", Verdict: result.Pass,
		Metrics: map[string]result.Metric{
			result.CyclesPerS: {Median: rate, N: 3, Low: rate, High: rate},
			result.Lost:       {N: 3}, result.Duplicated: {N: 3}, result.Corrupted: {N: 3},
		},
	}}
}

// smokeBaseline returns a baseline with a floor of 60,000 cycles a second.
func smokeBaseline(t *testing.T) *gate.Baselines {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "smoke.hcl"), []byte(`
baseline "smoke" {
  floor "cycles_per_s" {
    min     = 60000
    because = "it is a test"
  }
  ceiling "server_cpu_us_per_cycle" {
    of_baseline = 1
    because     = "it is not judged here, so nothing breaks it"
  }
}`), 0o600))
	baselines, err := gate.LoadBaselines(dir)
	require.NoError(t, err)
	return baselines
}

func TestSelfTestSaysWhatCheckMisses(t *testing.T) {
	plan := selfTestPlan()
	plan.Baselines = smokeBaseline(t)
	bank := gate.SelfTestBank{Checks: []gate.CheckPiece{
		{Runs: []gate.CheckRun{ran(0, 100_000), ran(0.1, 90_000), ran(0.5, 61_000), ran(0.84, 16_000)}},
		{Runs: []gate.CheckRun{ran(0, 50_000), ran(0.1, 45_000), ran(0.5, 25_000), ran(0.84, 8_000)}},
	}}
	test, err := gate.RunSelfTest(bank, plan)
	require.NoError(t, err)
	require.Len(t, test.Checks, 4)
	assert.Equal(t, 1, test.Checks[0].Called, "a false alarm")
	assert.Equal(t, []string{result.CyclesPerS}, test.Checks[0].Broken)
	assert.Equal(t, 1, test.Checks[2].Called)
	assert.Equal(t, 2, test.Checks[3].Called)
	assert.InDelta(t, 0.84, test.Checks[3].Measured, 1e-9, "relative to the server of the same piece that is not slowed")
	from, ok := gate.CheckCallsFrom(test.Checks)
	assert.True(t, ok)
	assert.InDelta(t, 0.84, from, 0)
	_, ok = gate.CheckCallsFrom(test.Checks[:3])
	assert.False(t, ok)

	bank.Checks[0].Runs = bank.Checks[0].Runs[1:]
	s := golden.Cases(t, "testdata/badchecks.golden")
	s.Replace(filepath.Dir(t.TempDir()), "DIR")
	_, err = gate.RunSelfTest(bank, plan)
	s.Error(t, "no run without a planted loss", err)
	bank.Checks[0] = gate.CheckPiece{Runs: []gate.CheckRun{ran(0, 1)}}
	bank.Checks[0].Runs[0].Result.Scenario = "other"
	_, err = gate.RunSelfTest(bank, plan)
	s.Error(t, "no baseline", err)
}

func TestCalibrate(t *testing.T) {
	d := simulated(seeded(7), 6, quietHost, losses{server: 0.2, rate: 0.2})
	d.Sides[1].Env = []string{"PRONY_PLANTED=work:1000"}
	for metric, want := range map[string]float64{result.ServerCPUUsPerCycle: 0.2, result.CyclesPerS: 0.25} {
		c, err := gate.Calibrate(d, "work", metric, 1000)
		require.NoError(t, err)
		assert.InDelta(t, want, c.Excess, 0.04, metric)
		assert.Less(t, c.Low, c.Excess)
		assert.Less(t, c.Excess, c.High)
		assert.Equal(t, "PRONY_PLANTED=work:1000", c.Planted)
		assert.Equal(t, 6, c.Generations)
	}
	s := golden.Cases(t, "testdata/badcalibrations.golden")
	_, err := gate.Calibrate(d, "work", result.ClientCPUUsPerCycle, 1000)
	s.Error(t, "equal sides", err)
	_, err = gate.Calibrate(d, "work", result.Lost, 1000)
	s.Error(t, "no figure", err)
	assert.Equal(t, []string{result.ServerCPUUsPerCycle, result.CyclesPerS}, gate.CalibrationMetrics("work"))
	assert.Equal(t, []string{result.CyclesPerS}, gate.CalibrationMetrics("wait"))
}

// Each counter is judged in all pairs whose planted fault does not change it, once as measured and
// once raised by 1 %.
func TestSelfTestOfCounters(t *testing.T) {
	same, slow := pieces("identical", 2, losses{}), pieces("alloc-5", 2, losses{})
	alone := gate.SelfTestPiece{Kind: gate.CountersKind, Works: []*result.FixedWork{withWork(seeded(1), 80_000).Work, {Warnings: []string{"it failed"}}}}
	for i := range same {
		same[i].Duet.Work = withWork(seeded(1), 80_000).Work
		slow[i].Duet.Work = withWork(seeded(1), 80_000).Work
		slow[i].Duet.Work.Counters[result.WorkAllocs] = [2]float64{80_000, 90_000}
		same[i].Duet.Work.Counters[result.WorkRaftEntries] = [2]float64{}
	}
	same[1].Duet.Work.Counters[result.WorkCalls] = [2]float64{80_000, 80_001}
	slow[0].Duet.Work.Counters[result.WorkStorageSets] = [2]float64{80_000, 80_001}
	test, err := gate.RunSelfTest(gate.SelfTestBank{Pieces: slices.Concat(same, slow, []gate.SelfTestPiece{alone})}, selfTestPlan())
	require.NoError(t, err)
	require.Len(t, test.Counters, len(result.WorkCounters()))
	for _, c := range test.Counters {
		want := gate.SelfTestCounter{Metric: c.Metric, Pairs: 5, Since: 5, Called: 5, FalseMost: c.FalseMost, CalledLeast: c.CalledLeast}
		switch c.Metric {
		case result.WorkRaftEntries + "_per_cycle": // two pairs counted none
			want.Pairs, want.Since, want.Called = 3, 3, 3
		// The fault of two pairs changes them.
		case result.WorkAllocs + "_per_cycle", result.WorkAllocBytes + "_per_cycle":
			want.Pairs, want.Since, want.Called = 3, 3, 3
		case result.WorkCalls + "_per_cycle":
			want.False, want.Since = 1, 3
		case result.WorkStorageSets + "_per_cycle":
			want.False, want.Since = 1, 2
		}
		assert.Equal(t, want, c)
		assert.Greater(t, c.FalseMost, 0.4, "five pairs prove little")
		assert.Less(t, c.CalledLeast, 0.6)
	}
	alloc := trialOf(t, kindOf(t, test, "alloc-5"), 1, true)
	assert.Equal(t, 2, alloc.Red())
	assert.Zero(t, alloc.Timings, "only the counter is called")
	assert.Equal(t, 2, alloc.ByMetric["server_allocs_per_cycle"])
}
