package terminal_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report/terminal"
	"github.com/pronybench/prony/harness/result"
)

func TestGuardText(t *testing.T) {
	t.Parallel()
	ok := func(metric string) gate.Finding { return gate.Finding{Metric: metric, Judged: true, OK: true} }
	ratio := func(r float64, kept bool) gate.Finding {
		return gate.Finding{Metric: result.CyclesPerS, Judged: true, OK: kept, OfBaseline: &result.BaselineRatio{Commit: "0123456789", Ratio: r}}
	}
	unclear := ratio(0.91, false)
	unclear.Inconclusive = true
	text := terminal.Guard("Speed was judged against baseline build 0123456 of 2026-11-28; xN is the ratio to it:", []terminal.Guarded{
		{
			Report:       gate.Report{Scenario: "smoke", Verdict: result.Pass, Findings: []gate.Finding{ratio(1.012, true), ok(result.ServerRSSMBMax), ok(result.Lost), ok(result.Duplicated)}},
			Disturbances: 12, Foreign: []result.ForeignProcess{{Name: "go", CPUPercent: 2}},
		},
		{
			Report: gate.Report{
				Scenario: "smoke-batch", Verdict: result.Regressed,
				Findings: []gate.Finding{ratio(0.811, false), {Metric: result.CPUUsPerCycle, Judged: true}, {Metric: result.CyclesPerS}, ok(result.Dropped)},
				Reasons:  []string{"cycles_per_s is 0.811 of baseline 0123456: why\nnot"}, Where: []string{"cpu: 30 % of 2 s spent in f"},
			},
			Loss: "smoke-batch: this build completes 0.811 of the cycles of baseline 0123456", Folder: "runs/2", Profiles: "runs/3", Alone: "prony guard batch.hcl",
		},
		{
			Report:  gate.Report{Scenario: "smoke-rest", Verdict: result.Inconclusive, Findings: []gate.Finding{unclear}, Reasons: []string{"slow"}},
			Foreign: []result.ForeignProcess{{Name: "go", CPUPercent: 41.2}, {Name: "chrome", CPUPercent: 7}},
			Folder:  "runs/4", NoProfiles: "there was no time left", Alone: "prony guard rest.hcl", Disturbances: 1,
		},
		{
			Report: gate.Report{
				Scenario: "smoke-sync", Verdict: result.Incorrect,
				Findings: []gate.Finding{{Metric: result.Lost, Judged: true}, ok(result.Duplicated)}, Reasons: []string{"one is lost"},
			},
			Folder: "runs/5", Alone: "prony guard sync.hcl",
		},
	}, 131*time.Second)
	assert.Equal(t, `Speed was judged against baseline build 0123456 of 2026-11-28; xN is the ratio to it:
  smoke        pass          cycles_per_s x1.01, 1 other limit kept, 12 slices disturbed, no task at fault
  smoke-batch  regressed     cycles_per_s x0.811 BROKEN, cpu_us_per_cycle BROKEN, 1 other limit kept, 1 not judged
  smoke-rest   inconclusive  cycles_per_s x0.91 UNDECIDED, 1 slice disturbed
  smoke-sync   incorrect     lost BROKEN

smoke-batch: regressed
  smoke-batch: this build completes 0.811 of the cycles of baseline 0123456
  cycles_per_s is 0.811 of baseline 0123456: why
  not
  where to look:
    cpu: 30 % of 2 s spent in f
  run: runs/2
  run with profiles: runs/3
  again: prony guard batch.hcl

smoke-rest: inconclusive
  slow
  other processes used these shares of all CPUs' time: go 41 %, chrome 7 %
  where to look: there was no time left
  run: runs/4
  again: prony guard rest.hcl

smoke-sync: incorrect
  one is lost
  run: runs/5
  again: prony guard sync.hcl

1 of 4 scenarios passed in 2m11s: incorrect
`, text)
}
