package gate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

const alternativesBaseline = `
baseline "smoke" {
  floor "cycles_per_s" {
    relative_to = "cpu"
    min         = 0.5
    because     = "one host"
  }
  floor "cycles_per_s" {
    relative_to = "echo"
    min         = 0.25
    because     = "another host"
  }
  ceiling "server_cpu_us_per_cycle" {
    relative_to = "cpu"
    max         = 5
    because     = "one host"
  }
  ceiling "client_cpu_us_per_cycle" {
    relative_to = "echo"
    max         = 100
    because     = "another metric"
  }
}
`

// alternated is a good run, of 180,000 cycles a second, on a host that does so many turns of the CPU loop and so many echoes a second.
func alternated(cpuPerS, echoPerS float64) *result.Result {
	r := referred(cpuPerS, 1)
	r.References[0].PerS.Median = echoPerS
	r.Metrics["client_cpu_us_per_cycle"] = result.Metric{Median: 6, Low: 6, High: 6, N: 5}
	return r
}

// Of two floors that are relative to references one is enough, whichever it is; a build that breaks both is regressed.
func TestOneRelativeLimitIsEnough(t *testing.T) {
	b, err := baselines(t, alternativesBaseline)
	require.NoError(t, err)
	run := func(cpuPerS, echoPerS float64) Report {
		r := alternated(cpuPerS, echoPerS)
		r.References[1].CPUUs.Median = 2
		return Check(b, r)
	}
	for name, c := range map[string]struct {
		cpu, echo float64
		judged    [2]bool
		verdict   result.Verdict
	}{
		"both kept":       {360_000, 720_000, [2]bool{true, true}, result.Pass},
		"slow echo":       {360_000, 800_000, [2]bool{true, false}, result.Pass},
		"slow CPU":        {400_000, 720_000, [2]bool{false, true}, result.Pass},
		"a slower build":  {400_000, 800_000, [2]bool{true, true}, result.Regressed},
		"nothing is kept": {4_000_000, 8_000_000, [2]bool{true, true}, result.Regressed},
	} {
		report := run(c.cpu, c.echo)
		assert.Equal(t, c.verdict, report.Verdict, name)
		for i, want := range c.judged {
			assert.Equal(t, want, report.Findings[i].Judged, "%s: %s", name, report.Findings[i].Sentence)
		}
	}
	assert.Equal(t, "cycles_per_s relative to cpu is not judged: cycles_per_s keeps the floor that is relative to echo, and one of the two is enough",
		run(400_000, 720_000).Findings[0].Sentence)
}

// A limit of another metric, a missing reference and an absolute limit excuse nothing.
func TestAnotherLimitIsNoAlternative(t *testing.T) {
	b, err := baselines(t, alternativesBaseline)
	require.NoError(t, err)
	report := Check(b, alternated(360_000, 720_000)) // the floors are kept, and 5.5 us are above 5 of the loop's 1 us
	assert.Equal(t, result.Regressed, report.Verdict)
	assert.Equal(t, []string{"server_cpu_us_per_cycle 5.5 is above the ceiling 5, which is 5 of the reference cpu (1 us of CPU time each): one host"}, report.Reasons)

	r := alternated(360_000, 720_000)
	r.References[1].CPUUs.Median = 2
	r.References[0].PerS.N = 0
	assert.Equal(t, result.Misconfigured, Check(b, r).Verdict)

	b, err = baselines(t, `baseline "smoke" {
  floor "cycles_per_s" {
    min     = 150000
    because = "whatever the host"
  }
  floor "cycles_per_s" {
    relative_to = "cpu"
    min         = 0.5
    because     = "one host"
  }
}`)
	require.NoError(t, err)
	for cpuPerS, verdict := range map[float64]result.Verdict{360_000: result.Pass, 400_000: result.Regressed} {
		assert.Equal(t, verdict, Check(b, referred(cpuPerS, 1)).Verdict)
	}
	r = referred(360_000, 1)
	r.Metrics["cycles_per_s"] = result.Metric{Median: 140_000, Low: 140_000, High: 140_000, N: 5}
	r.References[1].PerS.Median = 280_000
	assert.Equal(t, result.Regressed, Check(b, r).Verdict, "a figure is no alternative to a ratio, nor a ratio to a figure")
}

func TestExplainedAlternatives(t *testing.T) {
	b, err := baselines(t, alternativesBaseline)
	require.NoError(t, err)
	of, _ := b.For("smoke")
	limits := ExplainLimits(of, nil).Limits
	require.GreaterOrEqual(t, len(limits), 3)
	assert.Contains(t, limits[0].Bound(), "; enough if it is kept relative to echo")
	assert.Equal(t, []string{"cpu"}, limits[1].Alternatives)
	assert.NotContains(t, limits[2].Bound(), "enough")
}
