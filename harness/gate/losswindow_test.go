package gate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// A baseline can limit the window of loss. With sync the limit may be 0. A missing window of loss
// breaks its limit.
func TestTheWindowOfLossHasLimits(t *testing.T) {
	for name, c := range map[string]struct {
		max     string
		figure  *result.Metric
		verdict result.Verdict
	}{
		"kept":    {"1500", &result.Metric{Median: 1_024, Unit: "tasks", N: 3}, result.Pass},
		"broken":  {"1000", &result.Metric{Median: 1_024, Unit: "tasks", N: 3}, result.Regressed},
		"sync":    {"0", &result.Metric{Unit: "tasks", N: 3}, result.Pass},
		"no sync": {"0", &result.Metric{Median: 1, Unit: "tasks", N: 3}, result.Regressed},
		"missing": {"1500", nil, result.Regressed},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := baselines(t, "baseline \"smoke\" {\n  ceiling \"unsynced_tasks_max\" { max = "+c.max+" because = \"so much may be done again\" }\n}\n")
			require.NoError(t, err)
			r := good()
			if c.figure != nil {
				r.Metrics["unsynced_tasks_max"] = *c.figure
			}
			report := Check(b, r)
			assert.Equal(t, c.verdict, report.Verdict, "%+v", report.Findings)
		})
	}
}
