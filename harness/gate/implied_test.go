package gate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

const rateOnly = `
baseline "smoke" {
  floor "cycles_per_s" { min = 20000  because = "a tenth" }
}
`

// Each ceiling that all scenarios have is judged where the baseline does not name it, and where there is no baseline.
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
			assert.Equal(t, []string{metric + " is missing from the result, where a ceiling of 0 is set: " + because}, report.Reasons)
		}
	}
}

// What a baseline says of an implied ceiling stands in its place: no metric is judged twice.
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
	for _, metric := range []string{result.Lost, result.Duplicated, result.Corrupted} {
		_, err := baselines(t, "baseline \"smoke\" {\n  ceiling \""+metric+"\" {\n    max     = 1\n    because = \"x\"\n  }\n}\n")
		require.ErrorContains(t, err, "max is 1, and nothing may loosen the ceiling on "+metric+", which is 0 for every scenario")
		require.ErrorContains(t, err, "line 3")
	}
}
