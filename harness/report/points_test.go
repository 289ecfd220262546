package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// sweptFixture is the fixture as a run of four points with two timed rounds and a profiled one
// each.
func sweptFixture(t *testing.T) (*result.Result, []result.RoundHistograms) {
	t.Helper()
	r, hists := fixture(t, 8, 4)
	s := &scenario.Scenario{
		Name:     "fixture",
		Topology: scenario.Topology{Kind: "sharded", Shards: 1, Durability: "none", Listen: "tcp"},
		Workloads: []scenario.Workload{{
			Name: "main", Driver: "stream", Workers: 8, Producers: 8, Batch: 1,
			Payload: scenario.Payload{Kind: "fixed", Min: 64, Max: 64}, Arrivals: scenario.Arrivals{Kind: scenario.Closed},
		}},
		Sweeps: []scenario.Sweep{
			{Path: "topology.shards", Values: []string{"1", "4"}}, {Path: "workload.main.workers", Values: []string{"8", "64"}},
		},
	}
	r.Manifest.Scenario = expanded(t, s)
	profiles := r.Profiles
	r.Profiles = nil
	for i := range r.Rounds {
		r.Rounds[i].Point = 1 + i%4
	}
	r.Metrics = result.SummariseLedger(r.Rounds)
	for number := 1; number <= 4; number++ {
		shards, workers := s.Sweeps[0].Values[(number-1)/2], s.Sweeps[1].Values[(number-1)%2]
		rounds := slices.DeleteFunc(slices.Clone(r.Rounds), func(round result.Round) bool { return round.Point != number })
		metrics, err := result.Summarise(rounds, hists, result.OfLoad)
		require.NoError(t, err)
		r.Points = append(r.Points, result.Point{
			Number: number, Name: "shards=" + shards + ", workers=" + workers, Metrics: metrics,
			Values: []result.Value{
				{Path: "topology.shards", Key: "shards", Text: shards}, {Path: "workload.main.workers", Key: "workers", Text: workers},
			},
		})
		own := profiles[0]
		own.Point, own.File = number, "profiles/point-1/mutex.pb.gz"
		r.Profiles = append(r.Profiles, own)
	}
	return r, hists
}

// The workloads of a sweep have a curve at each point, unless there are too many lines.
func TestWorkloadsOfASweepHaveACurveAtEachPoint(t *testing.T) {
	r, hists := sweptFixture(t)
	main := r.Manifest.Scenario.Workloads[0]
	several := func(names ...string) {
		r.Manifest.Scenario.Workloads = nil
		for i := range r.Rounds {
			r.Rounds[i].Workloads, hists[i].Workloads = nil, nil
		}
		for _, name := range names {
			main.Name = name
			r.Manifest.Scenario.Workloads = append(r.Manifest.Scenario.Workloads, main)
			for i := range r.Rounds {
				r.Rounds[i].Workloads = append(r.Rounds[i].Workloads, result.RoundWorkload{Name: name})
				hists[i].Workloads = append(hists[i].Workloads, result.WorkloadHistograms{Name: name, Histograms: hists[i].Histograms})
			}
		}
	}
	// To give the points different numbers of samples.
	require.NoError(t, hists[1].Cycle.RecordValues(int64(time.Millisecond), 777))
	several("noisy", "quiet")
	plot := rendered(t, r, hists)["fixture-workloads.svg"]
	own, err := result.Merge(hists[1].Histograms, hists[5].Histograms)
	require.NoError(t, err)
	assert.Contains(t, plot, "noisy, shards=1, workers=8, n = ")
	assert.Contains(t, plot, "quiet, shards=1, workers=64, n = "+render.Count(uint64(own.Cycle.TotalCount())), "of the two timed rounds of the second point")
	several("noisy", "quiet", "third")
	assert.NotContains(t, rendered(t, r, hists), "fixture-workloads.svg", "twelve lines are too many")
}

func TestPageOfASweep(t *testing.T) {
	r, hists := sweptFixture(t)
	files := rendered(t, r, hists)
	assert.Contains(t, files, "fixture-sweep.svg")
	assert.Contains(t, files, "fixture-latency.svg")
	assert.NotContains(t, files, "fixture-throughput.svg", "rounds of different points are not repetitions")
	page := files["fixture.md"]
	golden.Text(t, "testdata/golden/sweep.md", page)
	s := sheet(t)
	s.Equal(t, "sweep", labels(files["fixture-sweep.svg"]))
	s.Equal(t, "latency", labels(files["fixture-latency.svg"]))
	requireWholeTables(t, page)
	for range 3 {
		assert.Equal(t, files, rendered(t, r, hists))
	}
}

// requireWholeTables checks that all rows of each table have the same number of cells.
func requireWholeTables(t *testing.T, page string) {
	t.Helper()
	columns := 0
	for line := range strings.SplitSeq(page, "\n") {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if columns > 0 {
			require.Equal(t, columns, cells, line)
		}
		columns = cells
	}
}

func TestNoPointOfAnIncorrectSweep(t *testing.T) {
	r, hists := sweptFixture(t)
	r.Verdict = result.Incorrect
	files := rendered(t, r, hists)
	assert.Len(t, files, 1)
	for _, figure := range []string{"cycles_per_s", "## Points", "swept values, with its own rounds"} {
		assert.NotContains(t, files["fixture.md"], figure)
	}
}

// Targets are independent servers: those with a balanced ledger keep their figures.
func TestPageOfTargetsOfWhichOneIsIncorrect(t *testing.T) {
	r, hists := sweptFixture(t)
	// A round of the second point.
	r.Verdict, r.Rounds[1].Verdict = result.Incorrect, result.Incorrect
	r.Manifest.Scenario.Topology.Kind = scenario.ByProgram
	page := rendered(t, r, hists)["fixture.md"]
	head, _, _ := strings.Cut(page, "\n## ")
	s := sheet(t)
	s.Equal(t, "head", head)
	s.Equal(t, "points", sections(page)["Points"])
	requireWholeTables(t, page)
}

// No line joins the points of targets, because they have no order. Rates of very different sizes
// have a logarithmic axis.
func TestPlotOfTargets(t *testing.T) {
	r, hists := sweptFixture(t)
	joined := strings.Count(rendered(t, r, hists)["fixture-sweep.svg"], "<path")
	for i := range r.Points {
		r.Points[i].Values[0] = result.Value{Path: "target.name", Key: "name", Text: r.Points[i].Values[0].Text}
		r.Points[i].Values[1].Key, r.Points[i].Values[1].Text = "batch, in_flight", r.Points[i].Values[1].Text+", 96"
	}
	drawn := rendered(t, r, hists)["fixture-sweep.svg"]
	assert.Contains(t, drawn, ">batch=8, in_flight=96<")
	assert.Contains(t, drawn, ">0<", "a linear axis")
	assert.Less(t, strings.Count(drawn, "<path"), joined)
	alone := strings.Count(drawn, "<path")
	for i := range r.Points {
		r.Points[i].Values[0].Path, r.Points[i].Values[0].Key = "target.name, target.guarantee", "name, guarantee"
	}
	assert.Equal(t, alone, strings.Count(rendered(t, r, hists)["fixture-sweep.svg"], "<path"), "swept together with another setting")
	rate := r.Points[0].Metrics[result.CyclesPerS]
	rate.Median, rate.Low, rate.High = rate.Median/100, rate.Low/100, rate.High/100
	r.Points[0].Metrics[result.CyclesPerS] = rate
	drawn = rendered(t, r, hists)["fixture-sweep.svg"]
	assert.NotContains(t, drawn, ">0<")
	assert.Contains(t, drawn, ">5,000<")
}

// With too many points there is no plot of latencies. Points without a figure have a dash.
func TestPageOfManyPoints(t *testing.T) {
	r, hists := sweptFixture(t)
	values := r.Points[0].Values[:1]
	r.Points = r.Points[:1]
	r.Points[0].Values = values
	for i := range 12 {
		name := strings.Repeat("x", i+1)
		r.Points = append(r.Points, result.Point{Number: i + 2, Name: name, Values: []result.Value{{Path: values[0].Path, Key: "shards", Text: name}}})
	}
	files := rendered(t, r, hists)
	assert.Contains(t, files, "fixture-sweep.svg")
	assert.NotContains(t, files, "fixture-latency.svg")
	assert.Contains(t, files["fixture.md"], "| `xx` | – | – | – | – | – |")
	requireWholeTables(t, files["fixture.md"])
}

// The page of a run with an open load at a measured peak, a backlog and a series.
func TestPageOfTheOtherParts(t *testing.T) {
	r, hists := fixture(t, 3, 0)
	before := rendered(t, r, hists)["fixture.md"]
	r.Manifest.Scenario = expanded(t, &scenario.Scenario{
		Topology: scenario.Topology{Kind: "single", Shards: 1, Durability: "none"},
		Workloads: []scenario.Workload{{
			Name: "main", Payload: scenario.Payload{Kind: "fixed", Min: 64, Max: 64},
			Arrivals: scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{OfPeak: 0.5}}, InFlight: 777,
		}},
		Backlog:     &scenario.Backlog{Tasks: 123, Restart: "kill", Fill: time.Minute, Drain: time.Minute},
		SeriesEvery: 30 * time.Second,
	})
	r.Rounds[0].Calibration = true
	for i := 1; i < 3; i++ {
		round := &r.Rounds[i]
		round.WindowSeconds = 600
		round.Arrivals = &result.Arrivals{PerSecond: 75_000, PeakPerSecond: 150_000, Scheduled: 45_000_000, Finished: 44_999_000, Unfinished: 900, Unsent: 60, Dropped: 30, Refused: 10, Held: 5}
		round.Backlog = &result.Backlog{Tasks: 123, FillS: 2, Restart: "kill", FirstClaimS: 0.75, DrainS: 3, Cycles: 123, RSSMBFillMax: 300, RSSMBDrainMax: 200}
		for s := range 20 {
			round.Series = append(round.Series, result.Sample{AtS: float64(s+1) * 30, CyclesPerS: 75_000, ServerRSSMB: 150, DiskMB: 80})
		}
		h := hists[i].Histograms
		h.Slip, h.Service = result.NewHistogram(), result.NewHistogram()
		require.NoError(t, h.Slip.RecordValue(200_000))
		require.NoError(t, h.Service.RecordValue(300_000))
		hists[i].Histograms = h
		round.Derive(h)
	}
	metrics, err := result.Summarise(r.Rounds, hists, result.OfLoad, result.OfOpen, result.OfBacklog, result.OfRestart, result.OfSeries)
	require.NoError(t, err)
	r.Metrics = metrics
	files := rendered(t, r, hists)
	for _, plot := range []string{"fixture-series-rate.svg", "fixture-series-disk.svg", "fixture-series-memory.svg", "fixture-throughput.svg", "fixture-latency.svg"} {
		assert.Contains(t, files, plot)
	}
	page := files["fixture.md"]
	s := sheet(t)
	s.Equal(t, "page", added(before, page))
	s.Equal(t, "latency", labels(files["fixture-latency.svg"]))
	s.Equal(t, "throughput", labels(files["fixture-throughput.svg"]))
	requireWholeTables(t, page)
}

func TestPageOfAnIdleServer(t *testing.T) {
	r, hists := fixture(t, 1, 0)
	r.Manifest.Scenario.Workloads[0].Arrivals = scenario.Arrivals{Kind: scenario.None}
	r.Rounds[0].Cycles, r.Rounds[0].Metrics = 0, map[string]float64{result.ServerCPUCores: 0.0021, result.ServerRSSMBMax: 41}
	hists[0].Histograms = result.NewHistograms()
	metrics, err := result.Summarise(r.Rounds, hists)
	require.NoError(t, err)
	r.Metrics = metrics
	files := rendered(t, r, hists)
	require.Len(t, files, 1, "there is nothing to plot")
	of, s := sections(files["fixture.md"]), sheet(t)
	s.Equal(t, "summary", of["Summary"])
	s.Equal(t, "not measured", of["What this page does not measure"])
}

// Rendering removes plots of an earlier rendering that the page no longer has.
func TestPlotsOfAnotherKindAreRemoved(t *testing.T) {
	r, hists := sweptFixture(t)
	out := t.TempDir()
	_, err := report.Render(nil, stored(t, r, hists), out)
	require.NoError(t, err)
	r, hists = fixture(t, 2, 0)
	written, err := report.Render(nil, stored(t, r, hists), out)
	require.NoError(t, err)
	assert.Len(t, written, 3)
	assert.NoFileExists(t, out+"/fixture-sweep.svg")
}

// A sweep of the load has a plot of latency against load, in the order of the load; other sweeps do
// not.
func TestLatencyAgainstLoad(t *testing.T) {
	r, hists := sweptFixture(t)
	assert.NotContains(t, rendered(t, r, hists), "fixture-load.svg", "no load is offered")
	for i := range r.Points {
		offered := float64(1000 * (i + 1))
		r.Points[i].Metrics[result.OfferedPerS] = result.Metric{Median: offered, Low: offered, High: offered, N: 2, Unit: "1/s"}
	}
	plot := rendered(t, r, hists)["fixture-load.svg"]
	sheet(t).Equal(t, "plot", labels(plot))
	for i := range r.Points {
		m := r.Points[i].Metrics[result.OfferedPerS]
		m.Median = 1000 + float64(i)
		r.Points[i].Metrics[result.OfferedPerS] = m
	}
	assert.NotContains(t, rendered(t, r, hists), "fixture-load.svg", "the load is the same at all points")
}
