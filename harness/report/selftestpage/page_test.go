package selftestpage_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report/selftestpage"
	"github.com/pronybench/prony/harness/result"
)

// selfTestFixture is a self-test of three kinds.
func selfTestFixture() *gate.SelfTest {
	at := time.Date(2026, 11, 23, 4, 50, 0, 0, time.UTC)
	t := &gate.SelfTest{
		Version: gate.SelfTestVersion, Command: []string{"prony", "gate", "selftest", "--for", "60m"}, Scenario: "compare", Durability: "none",
		Host: result.Host{CPUModel: "a CPU", CPUs: 2, Kernel: "6.18", Filesystem: "ext4"}, GoVersion: "go1.26.8",
		Started: at, Finished: at.Add(50 * time.Hour), Within: 90, Looks: 3, Alpha: 0.005,
		SliceMs: 10, CPUs: []result.SideCPUs{{Servers: []int{0}, Generator: []int{1}}, {Servers: []int{1}, Generator: []int{0}}},
		Commits: []gate.SelfTestCommit{
			{Commit: "0123456789", Host: "a CPU, 2 CPUs", First: at, Last: at.Add(time.Hour), Pieces: 40},
			{Commit: "9876543210", Dirty: true, Host: "another CPU, 4 CPUs", First: at.Add(49 * time.Hour), Last: at.Add(50 * time.Hour), Pieces: 20},
		},
		Counters: []gate.SelfTestCounter{
			{Metric: result.ServerAllocsPerCycle, Pairs: 40, False: 1, Since: 31, Called: 39, FalseMost: 0.114, CalledLeast: 0.887},
			{Metric: result.StorageSetsPerCycle, Pairs: 40, Since: 40, Called: 40, FalseMost: 0.072, CalledLeast: 0.928},
		},
		Checks: []gate.SelfTestCheck{
			{Scenario: "smoke", Runs: 3},
			{Scenario: "smoke", Loss: 0.5, Measured: 0.52, Planted: []string{"PRONY_PLANTED=work:4000"}, Runs: 3},
			{Scenario: "smoke", Loss: 0.84, Measured: 0.85, Planted: []string{"PRONY_PLANTED=work:20000"}, Runs: 3, Called: 3, Broken: []string{result.CyclesPerS}},
		},
		Calibrations: []gate.SelfTestCalibration{{
			Fault: "work", Metric: result.ServerCPUUsPerCycle, Time: at, Commit: "0123456789", Planted: "PRONY_PLANTED=work:1000", Amount: 1000,
			Excess: 0.21, Low: 0.2, High: 0.22, Generations: 6,
		}},
	}
	figures := func(loss float64) (all []gate.SelfTestFigure) {
		for _, p := range gate.DefaultDuetPolicy().Primaries {
			all = append(all, gate.SelfTestFigure{Metric: p.Metric, Loss: loss, Low: loss - 0.004, High: loss + 0.004, StdDev: 0.021})
		}
		return all
	}
	for i, kind := range gate.SelfTestKinds() {
		of := gate.SelfTestOf{SelfTestKind: kind, Pieces: 40, Generations: 600, Figures: figures(kind.Loss)}
		red := min(40, int(700*kind.Loss))
		if !kind.Same() {
			of.Planted = []string{"PRONY_PLANTED=" + kind.Fault + ":1"}
		}
		if kind.Same() {
			of.Checked = []gate.Trial{{Looks: 1, Disjoint: true, Trials: 12 + i, Verdicts: map[result.Verdict]int{result.Regressed: i, result.Pass: 12}}}
		}
		of.Trials = []gate.Trial{
			{
				Looks: 1, Disjoint: true, Trials: 40, Verdicts: map[result.Verdict]int{result.Regressed: red, result.Pass: (40 - red) / 2, result.Inconclusive: 40 - red - (40-red)/2},
				Timings: red, ByMetric: map[string]int{result.ServerCPUUsPerCycle: red, "server_allocs_per_cycle": i}, Low: float64(red) / 50, High: float64(red+10) / 50,
			},
			{Looks: 1, Trials: 200, Verdicts: map[result.Verdict]int{result.Regressed: 5 * red, result.Inconclusive: 200 - 5*red}},
		}
		if i < 3 {
			of.Trials = append(of.Trials, gate.Trial{
				Looks: 3, Disjoint: true, Trials: 13, Verdicts: map[result.Verdict]int{result.Regressed: min(13, red), result.Pass: 13 - min(13, red)}, High: 0.2,
			})
		}
		if kind.Fault == "fsync" {
			// In three trials only a counter regressed, which is not a hit.
			of.Trials[0].Timings -= 3
		}
		t.Kinds = append(t.Kinds, of)
	}
	return t
}

func TestSelfTestPage(t *testing.T) {
	golden.Text(t, "testdata/golden/selftest.md", selftestpage.Page(selfTestFixture()))
	first, err := selftestpage.Plot(selfTestFixture())
	require.NoError(t, err)
	second, err := selftestpage.Plot(selfTestFixture())
	require.NoError(t, err)
	assert.Equal(t, first, second, "the same self-test has the same plot")
	few := selfTestFixture()
	few.Kinds, few.Counters, few.Checks, few.Calibrations = nil, nil, nil, nil
	golden.Text(t, "testdata/golden/empty.md", selftestpage.Page(few))
	_, err = selftestpage.Plot(few)
	require.Error(t, err)
	few.Kinds = selfTestFixture().Kinds[2:3]
	_, err = selftestpage.Plot(few)
	require.NoError(t, err)
	few.Kinds[0].Figures = nil
	_, err = selftestpage.Plot(few)
	require.Error(t, err, "no plot without a measured loss")
}

// The published page results from its published data.
func TestSelfTestPageIsThePublishedOne(t *testing.T) {
	published := filepath.Join("..", "..", "..", "reports", "selftest")
	data, err := os.ReadFile(published + ".json")
	require.NoError(t, err)
	want, err := os.ReadFile(published + ".md")
	require.NoError(t, err)
	var test gate.SelfTest
	require.NoError(t, json.Unmarshal(data, &test))
	assert.Equal(t, string(want), selftestpage.Page(&test))
}
