package gate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const referenceBaseline = `
baseline "smoke" {
  floor "cycles_per_s" {
    min     = 20000
    because = "a tripwire"
  }
  floor "cycles_per_s" {
    relative_to = "cpu"
    min         = 0.5
    because     = "whatever the host"
  }
  ceiling "server_cpu_us_per_cycle" {
    relative_to = "echo"
    max         = 2
    because     = "whatever the host"
  }
}
`

// referred is a good run on a host that does so many operations of the CPU loop a second, and echoes in echoUs.
func referred(cpuPerS, echoUs float64) *result.Result {
	r := good()
	one := func(v float64) result.Metric { return result.Metric{Median: v, Low: v, High: v, N: 5} }
	r.References = []result.Reference{
		{Name: "echo", PerS: one(1), CPUUs: one(echoUs)},
		{Name: "cpu", PerS: one(cpuPerS), CPUUs: one(1)},
	}
	return r
}

func TestALimitIsARatioToAReference(t *testing.T) {
	b, err := baselines(t, referenceBaseline)
	require.NoError(t, err)
	report := Check(b, referred(360_000, 2.75)) // 180,000 cycles and 5.5 us: both limits are met exactly
	assert.Equal(t, result.Pass, report.Verdict, report.Reasons)
	require.GreaterOrEqual(t, len(report.Findings), 3)
	assert.InDelta(t, 180_000, report.Findings[1].Limit, 1e-6)
	assert.InDelta(t, 0, *report.Findings[1].Margin, 1e-9)
	assert.InDelta(t, 8, *report.Findings[0].Margin, 1e-9, "the tripwire is kept beside the relative floor")

	slower := Check(b, referred(400_000, 2.75))
	assert.Equal(t, result.Regressed, slower.Verdict)
	assert.Equal(t, []string{"cycles_per_s 180,000 is below the floor 200,000, which is 0.5 of the reference cpu (400,000 a second): whatever the host"}, slower.Reasons)
	assert.InDelta(t, -0.1, *slower.Findings[1].Margin, 1e-9)

	costlier := Check(b, referred(360_000, 2.5))
	assert.Equal(t, []string{"server_cpu_us_per_cycle 5.5 is above the ceiling 5, which is 2 of the reference echo (2.5 us of CPU time each): whatever the host"}, costlier.Reasons)
	limits := costlier.Limits()
	require.GreaterOrEqual(t, len(limits), 3)
	assert.Equal(t, "echo", limits[2].RelativeTo)
	assert.InDelta(t, -0.1, *limits[2].Margin, 1e-9)
	assert.False(t, limits[2].OK)
}

// A limit whose reference was not measured judges nothing: the run is refused, and does not pass.
func TestALimitWithoutItsReferenceIsRefused(t *testing.T) {
	b, err := baselines(t, referenceBaseline)
	require.NoError(t, err)
	for name, spoil := range map[string]func(*result.Result){
		"none":         func(r *result.Result) { r.References = nil },
		"another only": func(r *result.Result) { r.References = r.References[:1] },
		"zero":         func(r *result.Result) { r.References[1].PerS.Median = 0 },
		"no sample":    func(r *result.Result) { r.References[1].PerS.N = 0 },
		"no number":    func(r *result.Result) { r.References[1].PerS.Median = math.NaN() },
		"infinite":     func(r *result.Result) { r.References[1].PerS.Median = math.Inf(1) },
	} {
		r := referred(1, 100)
		spoil(r)
		report := Check(b, r)
		assert.Equal(t, result.Misconfigured, report.Verdict, name)
		assert.False(t, report.Findings[1].OK, name)
		assert.Contains(t, report.Findings[1].Sentence, "can't be judged", name)
		assert.Contains(t, report.Reasons, report.Findings[1].Sentence, name)
	}
}

func TestARelativeLimitIsOfOneReference(t *testing.T) {
	for want, text := range map[string]string{
		"neither a rate nor a CPU time per cycle": `ceiling "cycle_latency_ms_p99" { 
			relative_to = "fsync"
			max = 2
			because = "x" 
		}`,
		`did you mean "echo"?`: `floor "cycles_per_s" { 
			relative_to = "ecko"
			min = 2
			because = "x" 
		}`,
		"to a reference or to a point": `floor "cycles_per_s" { 
			relative_to = "echo"
			point = "a=1"
			relative_to_point = "a=2"
			min = 2
			because = "x" 
		}`,
		"two limits": `floor "cycles_per_s" { 
			relative_to = "echo"
			min = 2
			because = "x" 
		}
		floor "cycles_per_s" { 
			relative_to = "echo"
			min = 3
			because = "x" 
		}`,
	} {
		_, err := baselines(t, "baseline \"a\" {\n"+text+"\n}\n")
		assert.ErrorContains(t, err, want)
	}
}

func TestProposeSaysTheObservedRatio(t *testing.T) {
	b, err := baselines(t, referenceBaseline)
	require.NoError(t, err)
	smoke, _ := b.For("smoke")
	text, changes, err := Propose([]byte(referenceBaseline), "one.hcl", smoke, referred(200_000, 5))
	require.NoError(t, err)
	require.Len(t, changes, 3)
	assert.Equal(t, "floor cycles_per_s relative to cpu", changes[1].Limit)
	again, err := baselines(t, string(text))
	require.NoError(t, err)
	smoke, _ = again.For("smoke")
	assert.InDelta(t, 0.9, smoke.Limits[1].Observed, 1e-9)
	assert.InDelta(t, 1.1, smoke.Limits[2].Observed, 1e-9)
	text, _, err = Propose([]byte(referenceBaseline), "one.hcl", smoke, good())
	require.NoError(t, err)
	assert.Contains(t, string(text), "has no reference cpu")
}

// A limit relative to a reference that its scenario does not ask for is found when the baseline is written for the scenario.
func TestARelativeLimitNeedsItsScenariosReference(t *testing.T) {
	b, err := baselines(t, referenceBaseline)
	require.NoError(t, err)
	smoke, _ := b.For("smoke")
	s := &good().Manifest.Scenario
	s.References = []string{"cpu"}
	_, _, err = ProposeConfiguration([]byte(referenceBaseline), "one.hcl", smoke, s)
	require.ErrorContains(t, err, "the ceiling on server_cpu_us_per_cycle relative to echo needs a reference that the scenario "+s.Name+" does not ask for")
	assert.NotContains(t, err.Error(), "relative to cpu")
	explained := ExplainLimits(smoke, s)
	require.Len(t, explained.Problems, 1)
	assert.Contains(t, explained.Problems[0], "relative to echo needs a reference")
	assert.Equal(t, "at least 0.5 times the reference cpu of the same run: relative, so it does not depend on the host's speed", explained.Limits[1].Bound())
	assert.Equal(t, "cycles_per_s relative to cpu", explained.Limits[1].Name())
	s.References = []string{"cpu", "echo"}
	_, _, err = ProposeConfiguration([]byte(referenceBaseline), "one.hcl", smoke, s)
	require.NoError(t, err)
}

// A run that fails for another reason is refused all the same where a reference is missing.
func TestALimitWithoutItsReferenceIsRefusedOfAnInvalidRun(t *testing.T) {
	b, err := baselines(t, referenceBaseline)
	require.NoError(t, err)
	r := good()
	r.Verdict, r.Reasons = result.Inconclusive, []string{"the host was busy"}
	report := Check(b, r)
	assert.Equal(t, result.Worst(result.Misconfigured, result.Inconclusive), report.Verdict)
	assert.Contains(t, report.Reasons, "the host was busy")
}

// A scenario may carry a limit relative to a reference, beside one of its baseline that is a figure.
func TestCarriedLimitsAreRelativeToReferences(t *testing.T) {
	b, err := baselines(t, testBaseline)
	require.NoError(t, err)
	r := referred(400_000, 1)
	r.Manifest.Scenario.Limits = []scenario.Limit{{Metric: "cycles_per_s", Min: new(0.5), RelativeTo: "cpu", Because: "x", Where: "s.hcl:1:1"}}
	report := Check(b, r)
	assert.Equal(t, result.Regressed, report.Verdict)
	assert.Equal(t, []string{"cycles_per_s 180,000 is below the floor 200,000, which is 0.5 of the reference cpu (400,000 a second): x"}, report.Reasons)
	r.References = nil
	assert.Equal(t, result.Misconfigured, Check(b, r).Verdict)
}

const slowReferenceBaseline = `
baseline "smoke" {
  floor "cycles_per_s" {
    relative_to         = "cpu"
    reference_per_s_max = 400000
    min                 = 0.5
    because             = "a cycle waits for it"
  }
}
`

// A limit that is for hosts whose reference is slow is not judged where it is fast. It is judged at exactly the highest speed.
func TestALimitForSlowReferences(t *testing.T) {
	b, err := baselines(t, slowReferenceBaseline)
	require.NoError(t, err)
	slow := Check(b, referred(400_000, 1))
	assert.Equal(t, result.Regressed, slow.Verdict)
	assert.True(t, slow.Findings[0].Judged)

	fast := Check(b, referred(400_001, 1))
	assert.Equal(t, result.Pass, fast.Verdict, fast.Reasons)
	assert.False(t, fast.Findings[0].Judged)
	assert.False(t, fast.Findings[0].OK)
	assert.Equal(t, "cycles_per_s is not judged: the reference cpu makes 400,001 a second, and the floor is for 400,000 at most", fast.Findings[0].Sentence)

	limits, _ := b.For("smoke")
	assert.Contains(t, ExplainLimits(limits, nil).Limits[0].Bound(), "; not judged where the reference makes more than 400,000 a second")

	none := referred(400_001, 1)
	none.References = nil
	assert.Equal(t, result.Misconfigured, Check(b, none).Verdict, "a reference that was not measured is not a fast one")
}

func TestReferencePerSMaxNeedsAReference(t *testing.T) {
	_, err := baselines(t, `baseline "smoke" {
  floor "cycles_per_s" {
    min                 = 1
    reference_per_s_max = 6500
    because             = "x"
  }
}`)
	require.ErrorContains(t, err, "the limit is relative to no reference\n")
	require.ErrorContains(t, err, "add relative_to, or remove reference_per_s_max")
}
