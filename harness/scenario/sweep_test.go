package scenario

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSweepsAreCrossed(t *testing.T) {
	all, err := Load("testdata/points.hcl")
	require.NoError(t, err)
	s := all[0]
	assert.Equal(t, []Sweep{
		{Path: "topology.shards", Values: []string{"1", "4"}},
		{Path: "workload.main.workers", Values: []string{"8", "64"}},
	}, s.Sweeps)
	require.Len(t, s.Points, 4)
	for i, want := range []struct {
		name            string
		shards, workers int
	}{
		{"shards=1, workers=8", 1, 8},
		{"shards=1, workers=64", 1, 64},
		{"shards=4, workers=8", 4, 8},
		{"shards=4, workers=64", 4, 64},
	} {
		p := s.Points[i]
		assert.Equal(t, want.name, p.Name)
		assert.Equal(t, want.shards, p.Topology.Shards, want.name)
		assert.Equal(t, want.workers, p.Workloads[0].Workers, want.name)
		assert.Equal(t, 5000, p.Workloads[0].InFlight, "a setting without a sweep has the value of the file")
		assert.Equal(t, []Value{{"topology.shards", fmt.Sprint(want.shards)}, {"workload.main.workers", fmt.Sprint(want.workers)}}, p.Values)
	}
	assert.Equal(t, s.Points[0].Topology, s.Topology)
	assert.Equal(t, s.Points[0].Workloads, s.Workloads)
	assert.Equal(t, &Backlog{Tasks: 1000, Reference: 100, Restart: "kill", Fill: 10 * time.Second, Drain: 20 * time.Second}, s.Backlog)
	assert.Equal(t, 500*time.Millisecond, s.SeriesEvery)
	// Each point has two timed rounds with a backlog, one profiled round and one round that finds
	// the peak.
	assert.Equal(t, 4*(2*(15+2*30)+15+15)*time.Second, s.Duration())
}

func TestSweptValuesOfAnyKind(t *testing.T) {
	all, err := Load("testdata/points.hcl")
	require.NoError(t, err)
	s := all[1]
	require.Len(t, s.Points, 3)
	var arrivals []Arrivals
	for _, p := range s.Points {
		arrivals = append(arrivals, p.Workloads[0].Arrivals)
		assert.Equal(t, 1, p.Topology.Procs)
		assert.Equal(t, 2, p.Workloads[0].Procs)
		assert.Equal(t, 1024, p.Workloads[0].Payload.Min)
	}
	assert.Equal(t, []Arrivals{{Kind: Closed}, {Kind: Open, Rate: Rate{PerSecond: 1500}}, {Kind: Open, Rate: Rate{OfPeak: 1.5}}}, arrivals)
	assert.Equal(t, 0, s.Points[0].Workloads[0].InFlight)
	assert.Equal(t, inFlightDefault, s.Points[1].Workloads[0].InFlight)
	// The paths of two sweeps end in procs, so both are displayed in full.
	assert.Equal(t, `topology.procs=1, workload.main.procs=2, arrivals=rate("1.5k/s"), payload=fixed("1KiB")`, s.Points[1].Name)
	assert.Equal(t, (3*7+1)*41*time.Second, s.Duration(), "only one of the points needs its peak")
}

func TestWithoutASweepThereIsOnePoint(t *testing.T) {
	all, err := Load("testdata/points.hcl")
	require.NoError(t, err)
	s := all[2]
	assert.Empty(t, s.Points)
	assert.Equal(t, []Point{{Topology: s.Topology, Workloads: s.Workloads}}, s.Plan())
	assert.Equal(t, Arrivals{Kind: None}, s.Workloads[0].Arrivals)
	assert.Zero(t, s.Workloads[0].Producers)
	assert.Zero(t, s.Workloads[0].Workers)
}

// The problems of one point are not counted again for each further point.
func TestProblemsOfPointsAreReportedOnce(t *testing.T) {
	src := `scenario "a" {
  topology "single" { durability = "none" }
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  phases { window = "1s" }
  sweep "workload.main.batch" { values = [1, 2, 3, 4, 5] }
` + strings.Repeat("  capture \"cpus\" {}\n", 99) + "}\n"
	_, err := parse("a.hcl", []byte(src), nil)
	require.ErrorContains(t, err, "99 errors in 1 file")
	assert.Equal(t, 99, strings.Count(err.Error(), "Error: "))
	_, err = parse("a.hcl", []byte(strings.Replace(src, "}\n", strings.Repeat("  capture \"cpus\" {}\n", 50)+"}\n", 1)), nil)
	require.Error(t, err)
}

func TestRates(t *testing.T) {
	for text, want := range map[string]float64{
		"1/s": 1, "800/s": 800, "50k/s": 50_000, "1.5k/s": 1500, "2M/s": 2e6, "100M/s": 1e8, "0.5/s": 0.5,
	} {
		got, ok := parseRate(text)
		assert.True(t, ok, text)
		assert.InDelta(t, want, got, 1e-9, text)
	}
	for _, text := range []string{"", "/s", "k/s", "50", "50k", "50 k/s", "50K/s", "-1/s", "1e3/s", "1..5/s", "0x10/s", "inf/s", "50k/m"} {
		_, ok := parseRate(text)
		assert.False(t, ok, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := float64(rapid.IntRange(1, 999_999).Draw(t, "n"))
		got, ok := parseRate(FormatRate(n))
		require.True(t, ok)
		require.InDelta(t, n, got, n*1e-9)
	})
	for _, a := range []Arrivals{{Kind: Closed}, {Kind: None}, {Kind: Open, Rate: Rate{PerSecond: 1500}}, {Kind: Open, Rate: Rate{OfPeak: 0.5}}} {
		assert.Contains(t, []string{"closed()", "none()", `rate("1.5k/s")`, "rate(0.5 * peak)"}, a.String())
	}
}
