package gate

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

const testBaseline = `
baseline "smoke" {
  floor "cycles_per_s" {
    min      = 20000
    observed = 180000
    on       = "2 cores, shared"
    because  = "a tenth of what shared cores do: trips on a break, not on a neighbour"
  }
  ceiling "server_cpu_us_per_cycle" { max = 60  because = "a change of the code" }
  ceiling "cycle_latency_ms_p99"    { max = 250 because = "a stall" }
  ceiling "server_rss_mb_max"       { max = 512 because = "caches are bounded" }
  ceiling "lost"                    { max = 0   because = "nothing acknowledged is lost" }
  ceiling "duplicated"              { max = 0   because = "a task is completed once" }
  ceiling "corrupted"               { max = 0   because = "a payload stays as it was" }
}
`

func loaded(t *testing.T) *Baselines {
	t.Helper()
	b, err := baselines(t, testBaseline)
	require.NoError(t, err)
	return b
}

// good returns a result that meets every limit of testBaseline.
func good() *result.Result {
	metric := func(v float64, unit string) result.Metric {
		return result.Metric{Median: v, Low: v * 0.9, High: v * 1.1, N: 3, Unit: unit}
	}
	return &result.Result{
		Version: result.Version, Run: "20260102-smoke", Scenario: "smoke", Verdict: result.Pass,
		Rounds: []result.Round{{Number: 1}, {Number: 2}, {Number: 3}},
		Metrics: map[string]result.Metric{
			"cycles_per_s":            metric(180_000, "1/s"),
			"server_cpu_us_per_cycle": metric(5.5, "us"),
			"cycle_latency_ms_p99":    metric(1.25, "ms"),
			"server_rss_mb_max":       metric(90, "MB"),
			"lost":                    metric(0, "tasks"),
			"duplicated":              metric(0, "tasks"),
			"corrupted":               metric(0, "tasks"),
		},
	}
}

// set replaces the median of a metric and leaves the rest.
func set(metric string, v float64) func(*result.Result) {
	return func(r *result.Result) {
		m := r.Metrics[metric]
		m.Median, m.Low, m.High = v, v, v
		r.Metrics[metric] = m
	}
}

func TestCheckPasses(t *testing.T) {
	report := Check(loaded(t), good())
	assert.Equal(t, result.Pass, report.Verdict)
	assert.Equal(t, "smoke", report.Scenario)
	assert.Equal(t, "20260102-smoke", report.Run)
	assert.Empty(t, report.Reasons)
	assert.Empty(t, report.Where)
	require.Len(t, report.Findings, 7)
	for _, f := range report.Findings {
		assert.True(t, f.OK, f.Sentence)
		require.NotNil(t, f.Value)
	}
	first := report.Findings[0]
	assert.Equal(t, "cycles_per_s 180,000 is not below the floor 20,000", first.Sentence)
	assert.Equal(t, []any{"cycles_per_s", Floor, 20_000.0, 180_000.0, "2 cores, shared"},
		[]any{first.Metric, first.Kind, first.Limit, first.Observed, first.On})
}

// A value equal to its limit meets it.
func TestCheckLimitsAreInclusive(t *testing.T) {
	r := good()
	set("cycles_per_s", 20_000)(r)
	set("server_cpu_us_per_cycle", 60)(r)
	assert.Equal(t, result.Pass, Check(loaded(t), r).Verdict)
}

func TestCheckVerdicts(t *testing.T) {
	own := func(v result.Verdict) func(*result.Result) {
		return func(r *result.Result) { r.Verdict = v }
	}
	s := golden.Cases(t, "testdata/verdicts.golden")
	for _, c := range []struct {
		name   string
		change func(*result.Result)
		want   result.Verdict
	}{
		{"below a floor", set("cycles_per_s", 5912.4), result.Regressed},
		{"just below a floor", set("cycles_per_s", 19_999.6), result.Regressed},
		{"above a ceiling", set("cycle_latency_ms_p99", 300), result.Regressed},
		{"negative", set("cycle_latency_ms_p99", -3), result.Regressed},
		{"measured in no round", func(r *result.Result) { r.Metrics["cycle_latency_ms_p99"] = result.Metric{Median: 1} }, result.Regressed},
		{"tasks lost", set("lost", 3), result.Incorrect},
		{"tasks lost in one round only", func(r *result.Result) {
			r.Metrics["lost"] = result.Metric{High: 1, N: 3}
		}, result.Incorrect},
		{"tasks lost in a ledger only", func(r *result.Result) { r.Rounds[1].Ledger.Lost = 2 }, result.Incorrect},
		{"tasks duplicated in a ledger only", func(r *result.Result) { r.Rounds[1].Ledger.Duplicated = 2 }, result.Incorrect},
		{"tasks corrupted in a ledger only", func(r *result.Result) { r.Rounds[1].Ledger.Corrupted = 2 }, result.Incorrect},
		{"own verdict incorrect", own(result.Incorrect), result.Incorrect},
		{"own verdict invalid", own(result.Invalid), result.Invalid},
		{"own verdict inconclusive", own(result.Inconclusive), result.Inconclusive},
		{"own verdict misconfigured", own(result.Misconfigured), result.Misconfigured},
		{"own verdict with its reason", func(r *result.Result) {
			r.Verdict, r.Reasons = result.Invalid, []string{"round 2: the server ended"}
		}, result.Invalid},
		{"own verdict wins over a broken limit", func(r *result.Result) {
			r.Verdict = result.Invalid
			set("cycles_per_s", 1)(r)
		}, result.Invalid},
		{"tasks lost win over an own verdict", func(r *result.Result) {
			r.Verdict = result.Invalid
			set("lost", 1)(r)
		}, result.Incorrect},
		{"no own verdict", own(""), result.Misconfigured},
		{"unknown own verdict", own("fine"), result.Misconfigured},
		{"another version", func(r *result.Result) { r.Version++ }, result.Misconfigured},
		{"no version", func(r *result.Result) { r.Version = 0 }, result.Misconfigured},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := good()
			c.change(r)
			report := Check(loaded(t), r)
			assert.Equal(t, c.want, report.Verdict)
			s.Equal(t, c.name, strings.Join(report.Reasons, "\n"))
			_, err := json.Marshal(report)
			assert.NoError(t, err)
		})
	}
}

// Without a baseline, Check judges a result by the implied ceilings alone and adds a warning. It
// never improves the run's own verdict.
func TestCheckWithoutBaseline(t *testing.T) {
	for _, own := range []result.Verdict{result.Pass, result.Regressed, result.Invalid, result.Incorrect} {
		r := good()
		r.Scenario, r.Verdict = "unjudged", own
		report := Check(loaded(t), r)
		assert.Equal(t, own, report.Verdict)
		require.Len(t, report.Warnings, 1)
		assert.Contains(t, report.Warnings[0], `scenario "unjudged" has no baseline in `)
		assert.Contains(t, report.Warnings[0], ": only lost, duplicated and corrupted tasks were judged")
		require.Len(t, report.Findings, 3)
	}
	assert.Equal(t, []string{`the baseline of "smoke" does not name its configuration: add it with prony baseline propose --write`},
		Check(loaded(t), good()).Warnings)
	assert.Equal(t, result.Pass, Check(nil, good()).Verdict)
	assert.Equal(t, []string{`scenario "smoke" has no baseline: only lost, duplicated and corrupted tasks were judged`}, Check(nil, good()).Warnings)
	assert.Equal(t, result.Misconfigured, Check(loaded(t), nil).Verdict)
	empty := good()
	empty.Scenario, empty.Rounds, empty.Metrics = "unjudged", nil, nil
	assert.Equal(t, result.Misconfigured, Check(loaded(t), empty).Verdict, "a result without any judged limit must not pass")
}

// An unmeasured metric breaks its limit, for each metric of the baseline and each way to be
// missing.
func TestCheckFailsOnEachMetricThatIsNotThere(t *testing.T) {
	b := loaded(t)
	baseline, _ := b.For("smoke")
	for _, l := range baseline.Limits {
		for how, change := range map[string]func(*result.Result){
			"is missing from the result": func(r *result.Result) { delete(r.Metrics, l.Metric) },
			"is not a number":            set(l.Metric, math.NaN()),
			"is infinite":                set(l.Metric, math.Inf(1)),
			"is -1, which":               set(l.Metric, -1),
			"is 0, which":                set(l.Metric, 0),
		} {
			r := good()
			change(r)
			report := Check(b, r)
			if how == "is 0, which" && ofLedger(l.Metric) {
				assert.Equal(t, result.Pass, report.Verdict, "0 %s tasks is a measurement", l.Metric)
				continue
			}
			assert.Equal(t, result.Regressed, report.Verdict, "%s %s", l.Metric, how)
			require.Len(t, report.Reasons, 1)
			assert.Contains(t, report.Reasons[0], l.Metric+" "+how)
			broken := 0
			for _, f := range report.Findings {
				if !f.OK {
					broken++
					assert.Equal(t, l.Metric, f.Metric)
				}
			}
			assert.Equal(t, 1, broken)
			_, err := json.Marshal(report)
			assert.NoError(t, err, "the report must not contain NaN")
		}
	}
}

// If the ledger does not balance, only its counts are judged.
func TestCheckJudgesNoFigureOfAnIncorrectRun(t *testing.T) {
	r := good()
	r.Verdict, r.Reasons = result.Incorrect, []string{"2 tasks were lost"}
	set("lost", 2)(r)
	set("cycles_per_s", 1)(r)
	goldenReport(t, "testdata/incorrect.golden", Check(loaded(t), r))
}

func TestReportOfARegression(t *testing.T) {
	r := good()
	set("cycles_per_s", 5912.4)(r)
	set("server_cpu_us_per_cycle", 61.25)(r)
	delete(r.Metrics, "server_rss_mb_max")
	entry := func(function string, flat, total float64) result.ProfileEntry {
		return result.ProfileEntry{Function: function, Flat: flat, Cum: flat, Share: flat / total}
	}
	r.Profiles = []result.Profile{
		{Kind: "cpu", Unit: "nanoseconds", Total: 5.5e9, Top: []result.ProfileEntry{
			entry("internal/runtime/syscall.Syscall6", 2e9, 5.5e9),
			entry("runtime.futex", 1e9, 5.5e9),
			entry("google.golang.org/protobuf/proto.Marshal", 5e8, 5.5e9),
			entry(module+"engine/queue.(*State).Claim", 3e8, 5.5e9),
		}},
		{Kind: "allocs", Unit: "bytes", Total: 1e9, Top: []result.ProfileEntry{entry("bytes.Clone", 1e9, 1e9)}},
		{Kind: "mutex", Unit: "nanoseconds", Total: 43e6, Top: []result.ProfileEntry{entry("runtime.unlock", 40e6, 43e6)}},
		{Kind: "block", Unit: "nanoseconds", Total: 12.3e9, Top: []result.ProfileEntry{
			entry("runtime.selectgo", 1e9, 12.3e9),
			entry(module+"engine/shard.(*committer).run", 8.733e9, 12.3e9),
		}},
	}
	goldenReport(t, "testdata/regressed.golden", Check(loaded(t), r))
}

func goldenReport(t *testing.T, path string, report Report) {
	t.Helper()
	data, err := json.MarshalIndent(report, "", "  ")
	require.NoError(t, err)
	golden.Text(t, path, string(data)+"\n")
}

// Profiles without a relevant entry are skipped.
func TestWhereNeedsSomethingToSay(t *testing.T) {
	assert.Empty(t, where([]namedProfile{
		{Profile: result.Profile{Kind: "block", Unit: "nanoseconds"}},
		{Profile: result.Profile{Kind: "mutex", Unit: "nanoseconds", Total: 5}},
		{Profile: result.Profile{Kind: "cpu", Unit: "nanoseconds", Total: 1e9, Top: []result.ProfileEntry{{Function: "a.b", Flat: 1e6, Share: 0.001}}}},
		{Profile: result.Profile{Kind: "heap", Unit: "bytes", Total: 1, Top: []result.ProfileEntry{{Function: "a.b", Flat: 1, Share: 1}}}},
	}, nil))
}
