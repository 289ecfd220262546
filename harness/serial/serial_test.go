package serial

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sound() Options {
	return Options{
		Waits: []string{result.WaitsParking}, ServerProcs: []int{1}, GeneratorProcs: []int{1}, Connections: []int{1}, InFlight: []int{16},
		Search: searchMin, Window: windowMin,
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	o := sound()
	require.NoError(t, o.Check())
	s := golden.Cases(t, "testdata/options.golden")
	for name, change := range map[string]func(*Options){
		"no server procs":       func(o *Options) { o.ServerProcs = nil },
		"0 server procs":        func(o *Options) { o.ServerProcs = []int{1, 0} },
		"-1 generator procs":    func(o *Options) { o.GeneratorProcs = []int{-1} },
		"257 connections":       func(o *Options) { o.Connections = []int{257} },
		"257 in flight":         func(o *Options) { o.InFlight = []int{257} },
		"no waits":              func(o *Options) { o.Waits = nil },
		"unknown waits":         func(o *Options) { o.Waits = []string{"polling"} },
		"a short search":        func(o *Options) { o.Search = time.Millisecond },
		"a long window":         func(o *Options) { o.Window = time.Minute },
		"too many combinations": func(o *Options) { o.Connections, o.InFlight = upTo(32), upTo(16) },
	} {
		o := sound()
		change(&o)
		refused := o.Check()
		s.Error(t, name, refused)
		_, folder, err := Measure(t.Context(), o)
		require.EqualError(t, err, refused.Error())
		assert.Empty(t, folder, "no folder is created")
	}
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

func TestPointsAreAllCombinations(t *testing.T) {
	o := sound()
	o.Waits, o.ServerProcs, o.Connections = []string{result.WaitsParking, result.WaitsSpinning}, []int{1, 2}, []int{1, 4}
	points := o.points()
	require.Len(t, points, 8)
	names := map[string]bool{}
	for _, p := range points {
		names[p.Name()] = true
	}
	assert.Len(t, names, 8)
	assert.Equal(t, []string{result.WaitsParking, result.WaitsSpinning}, []string{points[0].Waits, points[1].Waits}, "both kinds are adjacent")
}

func TestPointsThatCannotSpin(t *testing.T) {
	p := result.SerialPoint{Waits: result.WaitsSpinning, ServerProcs: 1}
	assert.Empty(t, cannotSpin(&p, 2))
	s := golden.Cases(t, "testdata/spin.golden")
	s.Equal(t, "one CPU", cannotSpin(&p, 1))
	p.ServerProcs = 2
	s.Equal(t, "two server procs", cannotSpin(&p, 4))
	p.Waits = result.WaitsParking
	assert.Empty(t, cannotSpin(&p, 1))
}

func programs(t *testing.T, server string, flags ...string) (o Options) {
	t.Helper()
	var err error
	o = sound()
	o.Out = t.TempDir()
	o.Server, err = buildtest.Program(server, "engine/cmd/queued", flags...)
	require.NoError(t, err)
	o.Generator, err = buildtest.Program("generator", "harness/cmd/generator")
	require.NoError(t, err)
	return o
}

// A short search on real processes reports everything that a long one does.
func TestSerialBudgetOfARealServer(t *testing.T) {
	o := programs(t, "queued-serialbudget", "-tags", BuildTag)
	o.Waits = []string{result.WaitsParking, result.WaitsSpinning}
	o.Build = result.Build{Commit: "abc", Dirty: true}
	var progress bytes.Buffer
	o.Progress = &progress
	s, folder, err := Measure(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, s.Points, 2)
	for i := range s.Points {
		p := &s.Points[i]
		if p.Skipped != "" {
			assert.Equal(t, result.WaitsSpinning, p.Waits)
			continue
		}
		b := p.Budget
		for name, v := range map[string]float64{"work": b.WorkNs, "low": b.LowNs, "high": b.HighNs, "base": b.BaseNs, "step": b.NsPerStep, "seconds": b.Seconds} {
			assert.Positive(t, v, "%s: %s", p.Name(), name)
		}
		assert.LessOrEqual(t, b.LowNs, b.HighNs)
		assert.GreaterOrEqual(t, b.Pairs, stepPairs)
		assert.Zero(t, p.Unloaded.WorkNs)
		assert.Zero(t, p.Unloaded.Efficiency)
		assert.InDelta(t, b.WorkNs, p.AtBudget.WorkNs, b.NsPerStep+1, "to a step")
		assert.Positive(t, p.AtBudget.Efficiency)
		assert.Greater(t, p.AtBudget.DecideNs, p.AtBudget.WorkNs/2, "the work is a part of the decision")
		for _, w := range []*result.SerialWindow{p.Unloaded, p.AtBudget} {
			for name, v := range map[string]float64{
				"rate": w.RequestsPerS, "server CPU": w.ServerCPUNs, "generator CPU": w.GeneratorCPUNs, "decide": w.DecideNs, "longest": w.LongestMs,
				"requests": float64(w.Requests), "longest of": float64(w.LongestOf), "profiled": float64(w.Profile.Requests),
			} {
				assert.Positive(t, v, "%s: %s", p.Name(), name)
			}
			assert.Len(t, w.Profile.Stages, len(stageAreas)+1)
		}
	}
	stored, err := result.ReadSerial(folder)
	require.NoError(t, err)
	want, err := json.Marshal(s.Points)
	require.NoError(t, err)
	got, err := json.Marshal(stored.Points)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(got))
	assert.Equal(t, "abc", stored.Manifest.Build.Commit)
	assert.Equal(t, "unix", stored.Manifest.Scenario.Topology.Listen)
	assert.Equal(t, 2, strings.Count(progress.String(), " of 2: "))
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	for _, file := range left {
		info, err := os.Stat(file)
		require.NoError(t, err)
		assert.False(t, info.IsDir(), "the servers' data is removed: %s", file)
	}
}

// A server of an ordinary build is refused with a clear error, and ends.
func TestOrdinaryServerIsRefused(t *testing.T) {
	s, folder, err := Measure(t.Context(), programs(t, "queued"))
	require.ErrorContains(t, err, "point 1, parking waits, server procs 1, generator procs 1, connections 1, in flight 16: "+
		"the server does not accept no-op requests: it was built without the tag serialbudget")
	assert.Empty(t, s.Points)
	assert.FileExists(t, filepath.Join(folder, result.SerialFile))
}
