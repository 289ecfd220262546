package gate

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const rateOnly = `
baseline "smoke" {
  floor "cycles_per_s" { min = 20000  because = "a tenth" }
}
`

// Implied ceilings are judged if the baseline does not name them, and without a baseline.
func TestImpliedCeilings(t *testing.T) {
	named, err := baselines(t, rateOnly)
	require.NoError(t, err)
	for metric, because := range map[string]string{
		result.Lost:       "an acknowledged task is never lost",
		result.Duplicated: "a task is completed once",
		result.Corrupted:  "a payload is claimed as it was enqueued",
	} {
		for _, scenario := range []string{"smoke", "unjudged"} {
			r := good()
			r.Scenario = scenario
			assert.Equal(t, result.Pass, Check(named, r).Verdict)
			set(metric, 2)(r)
			report := Check(named, r)
			assert.Equal(t, result.Incorrect, report.Verdict, "%s in %s", metric, scenario)
			assert.Equal(t, []string{metric + " 2 is above the ceiling 0: " + because}, report.Reasons)
			delete(r.Metrics, metric)
			report = Check(named, r)
			assert.Equal(t, result.Regressed, report.Verdict, "%s in %s", metric, scenario)
			assert.Equal(t, []string{metric + " is missing from the result (the limit is a ceiling of 0): " + because}, report.Reasons)
		}
	}
}

// A baseline's own limit replaces an implied ceiling, so no metric is judged twice.
func TestAnImpliedCeilingIsJudgedOnce(t *testing.T) {
	metrics := func(r Report) (all []string) {
		for _, f := range r.Findings {
			all = append(all, f.Metric)
		}
		return all
	}
	named, err := baselines(t, rateOnly)
	require.NoError(t, err)
	assert.Equal(t, []string{"cycles_per_s", "lost", "duplicated", "corrupted"}, metrics(Check(named, good())))
	named, err = baselines(t, `baseline "smoke" {
  ceiling "duplicated" { max = 0  because = "ours" }
}`)
	require.NoError(t, err)
	report := Check(named, good())
	assert.Equal(t, []string{"duplicated", "lost", "corrupted"}, metrics(report))
	assert.Equal(t, "ours", report.Findings[0].Because)
}

func TestABaselineCannotLoosenAnImpliedCeiling(t *testing.T) {
	s := golden.Cases(t, "testdata/implied.golden")
	s.Replace(filepath.Dir(t.TempDir()), "DIR")
	for _, metric := range []string{result.Lost, result.Duplicated, result.Corrupted} {
		_, err := baselines(t, "baseline \"smoke\" {\n  ceiling \""+metric+"\" {\n    max     = 1\n    because = \"x\"\n  }\n}\n")
		s.Error(t, metric, err)
	}
}

// A run whose load reads has a ceiling of 0 on wrongly answered reads; other runs do not.
func TestTheImpliedCeilingOfReads(t *testing.T) {
	const because = "a tenant reads its own tasks as they were enqueued, and no others"
	reading := map[string]func(*result.Result){
		"by its scenario": func(r *result.Result) {
			r.Manifest.Scenario.Workloads = []scenario.Workload{{Reads: scenario.Reads{List: 0.2}}}
		},
		"at a point": func(r *result.Result) { r.Manifest.Scenario.Sweeps = []scenario.Sweep{{Path: "workload.main.reads"}} },
		"at a point of two": func(r *result.Result) {
			r.Manifest.Scenario.Sweeps = []scenario.Sweep{{Path: "workload.main.reads, workload.main.batch"}}
		},
		"by its rounds":  func(r *result.Result) { r.Rounds[1].Ledger.Reads = 5 },
		"by its metrics": set(result.ReadMismatches, 0),
	}
	for name, does := range reading {
		r := good()
		does(r)
		delete(r.Metrics, result.ReadMismatches)
		if name == "by its metrics" {
			does(r)
		} else {
			report := Check(nil, r)
			assert.Equal(t, result.Regressed, report.Verdict, name)
			assert.Equal(t, []string{"read_mismatches is missing from the result (the limit is a ceiling of 0): " + because}, report.Reasons, name)
		}
		r.Metrics[result.ReadMismatches] = result.Metric{N: 3, Unit: "reads"}
		assert.Equal(t, result.Pass, Check(nil, r).Verdict, name)
		r.Rounds[2].Ledger.Misread = 1 // whatever the summary contains
		report := Check(nil, r)
		assert.Equal(t, result.Incorrect, report.Verdict, name)
		assert.Equal(t, []string{"read_mismatches 1 is above the ceiling 0: " + because}, report.Reasons, name)
	}
	for _, f := range Check(nil, good()).Findings {
		assert.NotEqual(t, result.ReadMismatches, f.Metric)
	}
	_, err := baselines(t, "baseline \"smoke\" {\n  ceiling \"read_mismatches\" {\n    max     = 1\n    because = \"x\"\n  }\n}\n")
	require.ErrorContains(t, err, "max is 1, but the ceiling on read_mismatches is 0")
}
