package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

func TestGuardText(t *testing.T) {
	t.Parallel()
	margin := func(m float64) *float64 { return &m }
	ok := func(metric string, m *float64) gate.Finding {
		return gate.Finding{Metric: metric, Judged: true, OK: true, Margin: m}
	}
	relative := ok(result.CyclesPerS, margin(0.17))
	relative.RelativeTo = "cpu"
	fsyncs := ok(result.StorageFsyncsPerCycle, margin(1.2))
	fsyncs.Kind = gate.Floor
	broken := gate.Finding{Metric: result.CyclesPerS, Point: "batch=64", Workload: "main", Judged: true, Margin: margin(-0.31)}
	text := report.GuardText([]report.Guarded{
		{
			Report: gate.Report{Scenario: "smoke", Verdict: result.Pass, Findings: []gate.Finding{relative, fsyncs, ok(result.Lost, nil), ok(result.Duplicated, nil)}},
			First:  &report.Guarded{Report: gate.Report{Verdict: result.Invalid, Reasons: []string{"round 1: the host slept", "round 2: too"}}},
		},
		{
			Report: gate.Report{
				Scenario: "smoke-batch", Verdict: result.Regressed,
				Findings: []gate.Finding{broken, {Metric: result.CPUUsPerCycle, Judged: true}, {Metric: result.CyclesPerS}, ok(result.Dropped, nil)},
				Reasons:  []string{"cycles_per_s 69 is below the floor 100: why\nnot"}, Where: []string{"cpu: 30 % of 2 s spent in f"},
			},
			Folder: "runs/2", Profiles: "runs/3", Alone: "prony guard batch.hcl",
		},
		{
			Report: gate.Report{Scenario: "smoke-open", Verdict: result.Regressed, Reasons: []string{"slow"}},
			Folder: "runs/4", NoProfiles: "there was no time left", Alone: "prony guard open.hcl",
		},
		{
			Report: gate.Report{
				Scenario: "smoke-sync", Verdict: result.Incorrect,
				Findings: []gate.Finding{{Metric: result.Lost, Judged: true}, ok(result.Duplicated, nil)}, Reasons: []string{"one is lost"},
			},
			Folder: "runs/5", Alone: "prony guard sync.hcl",
		},
	}, 131*time.Second)
	assert.Equal(t, `How far each figure is from its limit, in per cent of the limit:
  smoke        pass       cycles_per_s/cpu 17, storage_fsyncs_per_cycle (floor) 120, no task at fault
  smoke-batch  regressed  batch=64 main cycles_per_s -31 BROKEN, cpu_us_per_cycle BROKEN, cycles_per_s not judged, dropped kept
  smoke-open   regressed
  smoke-sync   incorrect  lost BROKEN
smoke was run twice, because the first run was invalid: round 1: the host slept; round 2: too

smoke-batch: regressed
  cycles_per_s 69 is below the floor 100: why
  not
  where to look:
    cpu: 30 % of 2 s spent in f
  run: runs/2
  run with profiles: runs/3
  again: prony guard batch.hcl

smoke-open: regressed
  slow
  where to look: there was no time left
  run: runs/4
  again: prony guard open.hcl

smoke-sync: incorrect
  one is lost
  run: runs/5
  again: prony guard sync.hcl

1 of 4 scenarios passed in 2m11s: incorrect
`, text)
}
