package gate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

const pointsBaseline = `
baseline "scaling" {
  floor "cycles_per_s" { min = 100  because = "of each point" }
  floor "cycles_per_s" {
    point   = "shards=4"
    min     = 200
    because = "it should scale"
  }
  ceiling "storage_gets_per_cycle" { max = 0.05  because = "nothing is read back" }
  ceiling "dropped" {
    max      = 0
    observed = 0
    on       = "2 cores"
    because  = "nothing is dropped"
  }
  ceiling "lost" { max = 0  because = "nothing is lost" }
}
`

// scaling returns a run of three points that meets every limit of pointsBaseline.
func scaling() *result.Result {
	r := &result.Result{
		Version: result.Version, Run: "x", Scenario: "scaling", Verdict: result.Pass,
		Metrics: map[string]result.Metric{"lost": {N: 3, Unit: "tasks"}, "duplicated": {N: 3, Unit: "tasks"}, "corrupted": {N: 3, Unit: "tasks"}},
	}
	for i, c := range []struct {
		name  string
		cycle float64
	}{{"shards=1", 150}, {"shards=2", 180}, {"shards=4", 250}} {
		r.Points = append(r.Points, result.Point{Number: i + 1, Name: c.name, Metrics: map[string]result.Metric{
			"cycles_per_s":           {Median: c.cycle, Low: c.cycle, High: c.cycle, N: 3},
			"storage_gets_per_cycle": {N: 3},
			"dropped":                {N: 3},
			"lost":                   {N: 1},
		}})
		r.Rounds = append(r.Rounds, result.Round{Number: i + 1, Point: i + 1})
	}
	return r
}

func TestLimitsOfPoints(t *testing.T) {
	b, err := baselines(t, pointsBaseline)
	require.NoError(t, err)
	report := Check(b, scaling())
	assert.Equal(t, result.Pass, report.Verdict, report.Reasons)
	var judged []string
	for _, f := range report.Findings {
		judged = append(judged, f.Sentence)
	}
	assert.Equal(t, []string{
		"shards=1: cycles_per_s 150 is not below the floor 100",
		"shards=2: cycles_per_s 180 is not below the floor 100",
		"shards=4: cycles_per_s 250 is not below the floor 200",
		"shards=1: storage_gets_per_cycle 0 is not above the ceiling 0.05",
		"shards=2: storage_gets_per_cycle 0 is not above the ceiling 0.05",
		"shards=4: storage_gets_per_cycle 0 is not above the ceiling 0.05",
		"shards=1: dropped 0 is not above the ceiling 0",
		"shards=2: dropped 0 is not above the ceiling 0",
		"shards=4: dropped 0 is not above the ceiling 0",
		"lost 0 is not above the ceiling 0",
		"duplicated 0 is not above the ceiling 0",
		"corrupted 0 is not above the ceiling 0",
	}, judged)
	assert.Equal(t, "shards=4", report.Findings[2].Point)

	set := func(point int, metric string, v float64) func(*result.Result) {
		return func(r *result.Result) { r.Points[point].Metrics[metric] = result.Metric{Median: v, N: 3} }
	}
	s := golden.Cases(t, "testdata/points.golden")
	for _, c := range []struct {
		name   string
		change func(*result.Result)
		want   result.Verdict
	}{
		{"a floor of every point", set(0, "cycles_per_s", 90), result.Regressed},
		{"a floor of one point", set(2, "cycles_per_s", 190), result.Regressed},
		{"a ceiling", set(1, "dropped", 1), result.Regressed},
		{"a point without the metric", func(r *result.Result) { delete(r.Points[1].Metrics, "dropped") }, result.Regressed},
		{"a point is missing", func(r *result.Result) { r.Points = r.Points[:2] }, result.Regressed},
		{"no points", func(r *result.Result) { r.Points = nil }, result.Regressed},
		{"lost", func(r *result.Result) { r.Rounds[2].Ledger.Lost = 1 }, result.Incorrect},
	} {
		r := scaling()
		c.change(r)
		report := Check(b, r)
		assert.Equal(t, c.want, report.Verdict, c.name)
		s.Equal(t, c.name, strings.Join(report.Reasons, "\n"))
	}
}

// A floor on one point does not replace the ceiling on all points, but a ceiling on the point does.
func TestBothKindsOfLimitOfAPoint(t *testing.T) {
	b, err := baselines(t, `
baseline "scaling" {
  ceiling "storage_fsyncs_per_cycle" { max = 0.006  because = "they are shared" }
  floor "storage_fsyncs_per_cycle" { min = 0.002  point = "shards=1"  because = "they are promised" }
  ceiling "storage_fsyncs_per_cycle" { max = 6  point = "shards=4"  because = "they are not shared" }
}
`)
	require.NoError(t, err)
	r := scaling()
	for i := range r.Points {
		r.Points[i].Metrics["storage_fsyncs_per_cycle"] = result.Metric{Median: 5, Low: 5, High: 5, N: 3}
	}
	report := Check(b, r)
	assert.Equal(t, result.Regressed, report.Verdict)
	require.Len(t, report.Reasons, 2)
	assert.Contains(t, report.Reasons[0], "shards=1: storage_fsyncs_per_cycle 5 is above the ceiling 0.006")
	assert.Contains(t, report.Reasons[1], "shards=2: storage_fsyncs_per_cycle 5 is above the ceiling 0.006")
}

// Where reports only the points with broken limits.
func TestWhereOfPoints(t *testing.T) {
	b, err := baselines(t, pointsBaseline)
	require.NoError(t, err)
	r := scaling()
	for i := range r.Points {
		r.Profiles = append(r.Profiles, result.Profile{Point: i + 1, Kind: "cpu", Unit: "nanoseconds", Total: 1e9, Top: []result.ProfileEntry{
			{Function: "example.org/f", Flat: 5e8, Share: 0.5},
		}})
	}
	r.Points[1].Metrics["cycles_per_s"] = result.Metric{Median: 1, N: 3}
	assert.Equal(t, []string{"shards=2: cpu: 50 % of 1.00 s spent in example.org/f"}, Check(b, r).Where)
}

func TestLimitsOfAPointThatAreWrong(t *testing.T) {
	_, err := baselines(t, `
baseline "scaling" {
  floor "cycles_per_s" { min = 1  point = "shards=1"  because = "a" }
  floor "cycles_per_s" { min = 1  point = "shards=1"  because = "b" }
  ceiling "lost" { max = 0  point = "shards=1"  because = "c" }
  ceiling "storage_sets_per_cycle" { max = 0  because = "no server sets nothing" }
  ceiling "shed" { max = 0  because = "a former name" }
}
`)
	require.ErrorContains(t, err, `the name is now "dropped"`)
	require.ErrorContains(t, err, "shards=1: cycles_per_s has two limits")
	require.ErrorContains(t, err, "lost is a sum over all rounds, not of one point")
	require.ErrorContains(t, err, "max is 0; it must be above 0")
}

// Zero is a valid measurement for some metrics only.
func TestZeroOfAMetric(t *testing.T) {
	r := good()
	set("cycles_per_s", 0)(r)
	assert.Contains(t, Check(loaded(t), r).Reasons[0], "cycles_per_s is 0, which is not a measurement")
}

// Results of version 1 are still judged.
func TestCheckJudgesVersion1(t *testing.T) {
	r := good()
	r.Version = 1
	assert.Equal(t, result.Pass, Check(loaded(t), r).Verdict)
}
